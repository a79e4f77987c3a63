// What the reduces of a shard bring, where neither end of a channel keeps any of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "kimesh/compress/compressor.h"
#include "kimesh/config/options_of_text.h"
#include "kimesh/util/digest.h"
#include "kimesh/util/random.h"
#include "kimesh/vectors/vectors.h"
#include "tests/settings.h"
#include "tests/shipped.h"
#include "tests/vectors/mesh.h"

namespace kimesh::arrivals_test {
namespace {

constexpr std::size_t kSize = 1'000;
constexpr Round kRound = 4;

// Starts the node with a gradient drawn for it.
void start(Vectors& node, NodeIndex n) {
  node.start();
  Random random(7, n, 0, Purpose::kTest);
  for (float& g : node.gradient()) g = static_cast<float>(random.normal());
  EXPECT_TRUE(node.prepare_gradient(kRound).ok());
}

// One server and three workers: a dense message and two sparse ones.
struct Server {
  explicit Server(Feedback feedback)
      : plan(plan_of("parameter_server", 4, {0}, {kSize})),
        mesh(plan, std::vector<VectorsOptions>(4, options(feedback))) {
    for (NodeIndex n = 0; n < 4; ++n) start(mesh.nodes[n], n);
    children = plan.node_channels[0][0].reduce_in;
    for (std::size_t i = 0; i < children.size(); ++i) {
      const ChannelIndex channel = children[i];
      const NodeIndex from = plan.link_of(channel).from;
      const auto terms = mesh.reduce_terms(0, from);
      auto made = mesh.nodes[from].advance({channel, kRound, terms, estimate(channel),
                                            i == 0 ? Setting{} : topk_setting(i * 100), false, true,
                                            feedback});
      EXPECT_TRUE(made.ok());
      sent.push_back(std::move(*made));
    }
  }

  static VectorsOptions options(Feedback feedback) {
    VectorsOptions of_node;
    of_node.optimizer = options_of_text<OptimizerOptions>("{kind: sgd, lr: 1}");
    of_node.data_weight = 0.25;
    of_node.feedback = feedback;
    return of_node;
  }
  static BufferId estimate(ChannelIndex channel) { return {BufferId::Kind::kEstimate, channel}; }

  Vectors& server() { return mesh.nodes[0]; }
  Result<std::uint64_t> bring(std::size_t child, bool digest = false, bool energy = false) {
    return server().apply({children[child], kRound, estimate(children[child]), sent[child].form,
                           true, digest, sent[child].payload.share(), energy});
  }
  StepDone step(bool agreement = false) {
    return server().step({0, kRound, mesh.reduce_terms(0, 0), true, agreement});
  }
  // What a child's message decodes to.
  [[nodiscard]] std::vector<float> brought(std::size_t child) const {
    std::vector<float> floats(kSize);
    EXPECT_TRUE(apply(sent[child].form, sent[child].payload.bytes(), floats).ok());
    return floats;
  }

  Plan plan;
  Mesh mesh;
  std::vector<ChannelIndex> children;
  std::vector<AdvanceDone> sent;
};

constexpr std::array kFeedbacks{Feedback::kEf14, Feedback::kNone};

// Seen to fail with messages that are added as they come.
TEST(Arrivals, HaveTheSameBitsInWhateverOrderTheyCome) {
  for (const Feedback feedback : kFeedbacks) {
    std::array<std::size_t, 3> order{0, 1, 2};
    do {
      Server all(feedback);
      std::vector<float> sum = all.brought(0);
      for (const std::size_t child : {1u, 2u}) {
        const std::vector<float> more = all.brought(child);
        for (std::size_t j = 0; j < kSize; ++j) sum[j] += more[j];
      }
      for (std::size_t j = 0; j < kSize; ++j)
        sum[j] = 0 - (0.25f * all.server().gradient()[j] + sum[j]);
      for (const std::size_t child : order) {
        const auto digest = all.bring(child, true);
        ASSERT_TRUE(digest.ok()) << digest.error().message;
        EXPECT_EQ(*digest, digest_floats(all.brought(child)));
      }
      (void)all.step();
      EXPECT_TRUE(same_bits(all.server().owned(0), sum)) << order[0] << order[1] << order[2];
    } while (std::ranges::next_permutation(order).found);
  }
}

// Seen to fail with messages that are kept behind the sum.
TEST(Arrivals, HoldOneSumAndTheBytesOfWhatCameTooEarly) {
  Server all(Feedback::kEf14);
  const std::size_t before = all.server().bytes_held();
  ASSERT_TRUE(all.bring(1).ok());
  ASSERT_TRUE(all.bring(2).ok());
  EXPECT_EQ(all.server().bytes_held(),
            before + all.sent[1].payload.size() + all.sent[2].payload.size());
  ASSERT_TRUE(all.bring(0).ok());
  EXPECT_EQ(all.server().bytes_held(), before);
}

// A sum that was read is begun anew. Seen to fail with a sum that goes on.
TEST(Arrivals, BeginAnewBehindEveryStep) {
  Server all(Feedback::kEf14);
  std::vector<float> once;
  for (int round = 0; round < 2; ++round) {
    for (const std::size_t child : {2u, 0u, 1u}) ASSERT_TRUE(all.bring(child).ok());
    (void)all.step();
    const auto now = all.server().owned(0);
    if (round == 0) once.assign(now.begin(), now.end());
  }
  for (std::size_t j = 0; j < kSize; ++j)
    EXPECT_FLOAT_EQ(all.server().owned(0)[j], 2 * once[j]) << j;
}

// Where a run goes on from a state, the messages of its rounds come anew. Seen to fail with those
// that were held before, and with a sum that has begun.
TEST(Arrivals, AreForgottenWhereAStateIsRestored) {
  std::vector<std::vector<float>> ends;
  for (const bool restored : {false, true}) {
    Server all(Feedback::kEf14);
    std::vector<std::byte> state;
    StateWriter writer(state);
    ASSERT_TRUE(all.server().save_changing(writer).ok());
    ASSERT_TRUE(all.server().save_rest(writer).ok());
    if (restored) {
      for (const std::size_t child : {0u, 2u}) ASSERT_TRUE(all.bring(child).ok());
      StateReader reader(state);
      ASSERT_TRUE(all.server().restore(reader).ok());
    }
    for (const std::size_t child : {0u, 1u, 2u}) ASSERT_TRUE(all.bring(child).ok());
    (void)all.step();
    ends.emplace_back(all.server().owned(0).begin(), all.server().owned(0).end());
  }
  EXPECT_TRUE(same_bits(ends[0], ends[1]));
}

// A peer that breaks the protocol may have sent nothing. Seen to fail without the check: the step
// was made of what had come.
TEST(Arrivals, OfWhichOneIsMissingAreNoSum) {
  Server all(Feedback::kEf14);
  ASSERT_TRUE(all.bring(0).ok());
  ASSERT_TRUE(all.bring(2).ok());
  const std::vector<float> before(all.server().owned(0).begin(), all.server().owned(0).end());
  EXPECT_EQ(all.step().digest, digest_floats(before));
  EXPECT_TRUE(same_bits(all.server().owned(0), before));
}

// A peer that is ahead of a sum that is not read yet. Seen to fail with a check that ends the
// process.
TEST(Arrivals, RefuseASecondMessageForOneSum) {
  Server all(Feedback::kEf14);
  ASSERT_TRUE(all.bring(0).ok());
  ASSERT_TRUE(all.bring(2).ok());
  for (const std::size_t child : {0u, 2u}) {
    const auto refused = all.bring(child);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::kMalformed);
  }
}

// Seen to fail without the rounds of what was brought.
TEST(Arrivals, OfAnotherRoundAreNoSum) {
  Server all(Feedback::kEf14);
  for (const std::size_t child : {0u, 1u}) ASSERT_TRUE(all.bring(child).ok());
  const ChannelIndex last = all.children[2];
  ASSERT_TRUE(all.server()
                  .apply({last, kRound - 1, Server::estimate(last), all.sent[2].form, true, false,
                          all.sent[2].payload.share()})
                  .ok());
  const std::vector<float> before(all.server().owned(0).begin(), all.server().owned(0).end());
  (void)all.step();
  EXPECT_TRUE(same_bits(all.server().owned(0), before));
}

// The error of a step ends the run, and the children's next messages may come before that. Seen to
// fail with a sum that stays.
TEST(Arrivals, MayGoOnBehindAStepThatFails) {
  Server all(Feedback::kEf14);
  for (const std::size_t child : {0u, 1u, 2u}) ASSERT_TRUE(all.bring(child).ok());
  all.server().gradient()[3] = std::numeric_limits<float>::quiet_NaN();
  (void)all.step();
  for (const std::size_t child : {2u, 0u}) EXPECT_TRUE(all.bring(child).ok());
}

// An inner node sends its own part and the sum of its children's. Seen to fail with a sum that
// stays, and with the sum added once for each child.
TEST(Arrivals, OfAnInnerNodeGoOnInItsMessage) {
  TopologyFile topology = load_topology(test::shipped_path("tree7")).value;
  topology.servers = {0};
  const auto made_plan = make_plan(topology, {.layers = {{"layer0", {kSize}, 0, kSize}}});
  ASSERT_TRUE(made_plan.ok());
  const Plan& plan = *made_plan;
  Mesh mesh(plan, std::vector<VectorsOptions>(7, Server::options(Feedback::kEf14)));
  std::map<NodeIndex, std::vector<float>> sums;
  for (NodeIndex n = 0; n < 7; ++n) {
    start(mesh.nodes[n], n);
    for (const float g : mesh.nodes[n].gradient()) sums[n].push_back(0.25f * g);
  }
  std::size_t inner = 0;
  for (int round = 0; round < 2; ++round) {
    std::map<NodeIndex, std::vector<float>> brought;
    for (const Hop& hop : hops_of(plan, 0, Phase::kReduce)) {
      const NodeIndex from = plan.link_of(hop.channel).from, to = plan.link_of(hop.channel).to;
      const auto terms = mesh.reduce_terms(0, from);
      auto made =
          mesh.nodes[from].advance({hop.channel, kRound, terms, Server::estimate(hop.channel),
                                    Setting{}, false, false, Feedback::kEf14});
      ASSERT_TRUE(made.ok()) << made.error().message;
      std::vector<float> sent(kSize), expected = sums[from];
      ASSERT_TRUE(apply(made->form, made->payload.bytes(), sent).ok());
      if (terms.size() > 2) ++inner;
      for (std::size_t j = 0; j < kSize && terms.size() > 1; ++j) expected[j] += brought[from][j];
      EXPECT_TRUE(same_bits(sent, expected)) << "node " << from;
      auto& sum = brought[to];
      if (sum.empty())
        sum = sent;
      else
        for (std::size_t j = 0; j < kSize; ++j) sum[j] += sent[j];
      ASSERT_TRUE(mesh.nodes[to]
                      .apply({hop.channel, kRound, Server::estimate(hop.channel), made->form, true,
                              false, made->payload.share()})
                      .ok());
    }
    (void)mesh.nodes[0].step({0, kRound, mesh.reduce_terms(0, 0), false});
  }
  EXPECT_EQ(inner, 4u) << "two inner nodes of two children, twice";
}

// Seen to fail without the check before anything is added.
TEST(Arrivals, AreUntouchedByAMalformedMessage) {
  Server all(Feedback::kEf14);
  for (const std::size_t child : {0u, 2u}) ASSERT_TRUE(all.bring(child).ok());
  const ChannelIndex bad = all.children[1];
  const auto refused = all.server().apply({bad, kRound, Server::estimate(bad), Form::kSparse, true,
                                           false, Payload(std::vector<std::byte>(9))});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kMalformed);
  ASSERT_TRUE(all.bring(1).ok());
  (void)all.step();
  Server other(Feedback::kEf14);
  for (const std::size_t child : {0u, 1u, 2u}) ASSERT_TRUE(other.bring(child).ok());
  (void)other.step();
  EXPECT_TRUE(same_bits(all.server().owned(0), other.server().owned(0)));
}

// The agreement is that of separate vectors, which ef21 keeps for the children. Seen to fail with
// the energies of sums in place of those of what was added.
TEST(Arrivals, TellHowFarTheyAgreeAsSeparateVectorsDo) {
  const auto agreement = [](Feedback feedback) {
    Server all(feedback);
    for (const std::size_t child : {2u, 0u, 1u}) EXPECT_TRUE(all.bring(child, false, true).ok());
    return all.step(true).agreement;
  };
  const Agreement apart = agreement(Feedback::kEf21), summed = agreement(Feedback::kEf14);
  EXPECT_GT(apart.weight, 0);
  EXPECT_NEAR(summed.weight, apart.weight, 1e-6 * apart.weight);
  EXPECT_NEAR(summed.sum, apart.sum, 1e-5 * apart.sum);
}

}  // namespace
}  // namespace kimesh::arrivals_test
