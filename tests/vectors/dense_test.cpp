// Vectors that keep no estimates, since every message is dense.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kimesh/config/options_of_text.h"
#include "kimesh/util/digest.h"
#include "kimesh/vectors/vectors.h"
#include "tests/vectors/mesh.h"

namespace kimesh::dense_vectors_test {
namespace {

const Setting kDense{};

Mesh started(const Plan& plan, std::size_t nodes) {
  VectorsOptions options;
  options.optimizer = options_of_text<OptimizerOptions>("{kind: sgd, lr: 1}");
  options.data_weight = 0.5;
  options.keeps_estimates = false;
  Mesh mesh(plan, std::vector<VectorsOptions>(nodes, options));
  for (Vectors& node : mesh.nodes) {
    std::ranges::fill(node.point(), 7.0f);
    node.start();
  }
  return mesh;
}

// A dense message to node a of a ring of two, without estimates.
Result<std::uint64_t> bring(Vectors& node, const Plan& plan, Payload payload,
                            Form form = Form::kDense) {
  const ChannelIndex channel = *plan.node_channels[0][1].reduce_out;
  return node.apply(
      {channel, 4, {BufferId::Kind::kEstimate, channel}, form, false, true, std::move(payload)});
}

// Seen to fail with the payload kept behind the sum, and with a payload that is read where no float
// may lie.
TEST(DenseVectors, AMessageIsReadWhereItLiesUntilASumHasIt) {
  const Plan plan = plan_of("ring", 2, {0, 1}, {5, 5});
  const std::vector<float> sent{1, 2, 3, 4, 5};
  for (const std::size_t begin : {0u, 2u, 4u}) {
    Mesh mesh = started(plan, 2);
    Vectors& node = mesh.nodes[0];
    const ChannelIndex channel = *plan.node_channels[0][1].reduce_out;
    const std::size_t before = node.bytes_held();
    std::vector<std::byte> bytes(begin);
    const auto floats = std::as_bytes(std::span(sent));
    bytes.insert(bytes.end(), floats.begin(), floats.end());
    const auto digest = bring(node, plan, Payload(std::move(bytes), begin));
    ASSERT_TRUE(digest.ok()) << digest.error().message;
    EXPECT_EQ(*digest, digest_floats(sent)) << begin;
    EXPECT_TRUE(same_bits(node.estimate(channel), sent)) << begin;
    EXPECT_EQ(node.bytes_held(), before + sent.size() * sizeof(float));
    const std::vector<float> point(node.shard(0).begin(), node.shard(0).end());
    (void)node.step({0, 4, mesh.reduce_terms(0, 0), false});
    for (std::size_t j = 0; j < sent.size(); ++j) EXPECT_EQ(node.shard(0)[j], point[j] - sent[j]);
    EXPECT_EQ(node.bytes_held(), before);
  }
}

// Seen to fail without the check in advance, and without that in step: both ended the process.
TEST(DenseVectors, ASumOfWhatHasNotComeIsAnError) {
  const Plan plan = plan_of("ring", 3, {0, 1, 2}, {5, 5, 5});
  Mesh mesh = started(plan, 3);
  const auto is_named = [](const Result<AdvanceDone>& made) {
    return !made.ok() && made.error().code == ErrorCode::kMalformed &&
           made.error().message.find("nothing, where all elements") != std::string::npos;
  };
  unsigned asked = 0;
  for (NodeIndex n = 0; n < 3; ++n) {
    const auto& out = plan.node_channels[0][n].reduce_out;
    const auto terms = mesh.reduce_terms(0, n);
    if (!out || terms.size() == 1) continue;
    const BufferId estimate{BufferId::Kind::kEstimate, *out};
    EXPECT_TRUE(is_named(mesh.nodes[n].advance({*out, 4, terms, estimate, kDense})));
    ++asked;
  }
  EXPECT_EQ(asked, 1u);
  (void)mesh.nodes[0].step({0, 4, mesh.reduce_terms(0, 0), true});
  const ChannelIndex channel = plan.node_channels[0][0].gather_out[0];
  const std::vector<BufferId> owned{{BufferId::Kind::kOwned, 0}};
  const BufferId none{BufferId::Kind::kEstimate, channel};
  EXPECT_TRUE(is_named(mesh.nodes[0].advance({channel, 4, owned, none, kDense})));
}

// Seen to fail without the check of the form, and without that of the floats.
TEST(DenseVectors, OnlyDenseMessagesOfFiniteNumbersAreTaken) {
  const Plan plan = plan_of("ring", 2, {0, 1}, {5, 5});
  Mesh mesh = started(plan, 2);
  const std::vector<float> nan{1, std::nanf(""), 1, 1, 1};
  const auto bytes_of = [](std::span<const float> floats) {
    const auto bytes = std::as_bytes(floats);
    return Payload(std::vector<std::byte>(bytes.begin(), bytes.end()));
  };
  const auto refused = [&](Payload payload, Form form = Form::kDense) {
    const auto digest = bring(mesh.nodes[0], plan, std::move(payload), form);
    return !digest.ok() && digest.error().code == ErrorCode::kMalformed &&
           digest.error().message.ends_with("(shard 0, reduce from b to a, round 4)");
  };
  EXPECT_TRUE(refused(bytes_of(nan)));
  EXPECT_TRUE(refused(bytes_of(std::span(nan).first(1))));
  EXPECT_TRUE(refused(Payload(std::vector<std::byte>(8)), Form::kSparse));  // element 0, a zero
  EXPECT_TRUE(mesh.nodes[0].estimate(*plan.node_channels[0][1].reduce_out).empty());
}

}  // namespace
}  // namespace kimesh::dense_vectors_test
