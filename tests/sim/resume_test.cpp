// Checkpoints: a mesh that is killed and goes on from its last one ends with the bits of a mesh
// that was never killed.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>

#include "kimesh/compress/codecs.h"
#include "kimesh/config/options_of_text.h"
#include "kimesh/util/random.h"
#include "tests/quadratic_mesh/mesh.h"

namespace kimesh::test {
namespace {

constexpr Round kRounds = 40, kEvery = 6;

// The states of one node, in memory. Keeps all of them.
class States final : public StateStore {
 public:
  [[nodiscard]] std::vector<std::byte> memory() override { return {}; }
  void keep(Round round, std::vector<std::byte> state) override {
    states[round] = std::move(state);
  }
  [[nodiscard]] Result<std::vector<std::byte>> load(Round round) override {
    const auto found = states.find(round);
    if (found == states.end())
      return Error{ErrorCode::kUserInput, "there is no checkpoint of this round"};
    return found->second;
  }
  [[nodiscard]] std::vector<Round> rounds() const {
    std::vector<Round> all;
    for (const auto& [round, state] : states) all.push_back(round);
    return all;
  }
  std::map<Round, std::vector<std::byte>> states;
};
using AllStates = std::vector<std::unique_ptr<States>>;

AllStates stores(std::size_t nodes) {
  AllStates all;
  for (std::size_t i = 0; i < nodes; ++i) all.push_back(std::make_unique<States>());
  return all;
}

void store_in(Mesh& mesh, const AllStates& states) {
  for (std::size_t i = 0; i < states.size(); ++i) mesh.setup.nodes[i].states = states[i].get();
}

void crash_all(Mesh& mesh, double seconds) {
  for (NodeIndex i = 0; i < mesh.spec.nodes; ++i) {
    Fault fault{Fault::Kind::kCrash, seconds};
    fault.node = i;
    mesh.setup.faults.push_back(fault);
  }
}

void resume(Mesh& mesh, const AllStates& states) {
  store_in(mesh, states);
  for (std::size_t i = 0; i < states.size(); ++i) {
    CheckpointOptions& options = mesh.setup.nodes[i].core.checkpoints;
    options.resumes = true;
    if (!states[i]->states.empty()) options.newest = states[i]->states.rbegin()->first;
  }
}

// Everything that a node holds when it has ended.
std::vector<float> all_of(const Mesh& mesh) {
  std::vector<float> all;
  for (NodeIndex i = 0; i < mesh.spec.nodes; ++i) {
    const Vectors& vectors = mesh.simulator->vectors(i);
    for (const float w : vectors.model()) all.push_back(w);
    for (ChannelIndex c = 0; c < mesh.plan.channels.size(); ++c)
      for (const float e : vectors.estimate(c)) all.push_back(e);
  }
  return all;
}

struct Case {
  std::string name;
  MeshSpec spec;
};

OptimizerOptions optimizer(const std::string& text) {
  return options_of_text<OptimizerOptions>(text);
}

constexpr const char* kSgd = "{kind: sgd, lr: 0.05, momentum: 0.9}";
constexpr const char* kNesterov = "{kind: sgd, lr: 0.05, momentum: 0.9, nesterov: true}";
constexpr const char* kDescent = "{kind: sgd, lr: 0.05}";
constexpr const char* kAdamw = "{kind: adamw, lr: 0.01, weight_decay: 0.01}";

MeshSpec spec_of(const std::string& kind, const char* steps) {
  MeshSpec spec;
  spec.kind = kind;
  spec.nodes = 5;
  if (kind == "parameter_server") spec.servers = {0, 1};
  spec.optimizer = optimizer(steps);
  spec.core.stop_rounds = kRounds;
  spec.core.digest_every = 4;
  spec.core.checkpoints.every_rounds = kEvery;
  return spec;
}

// fixed, with topk or dzq.
MeshSpec compressed(MeshSpec spec, Feedback feedback, Gather gather, const char* codec = "topk") {
  const bool counts = std::string(codec) == "topk";
  spec.core.policy = {counts ? policy_options("fixed", {{"ratio", "0.2"}})
                             : policy_options("fixed", {{"bits", "3"}}),
                      make_codec(codec), std::nullopt, static_cast<unsigned>(spec.nodes)};
  spec.core.feedback = feedback;
  spec.core.gather = gather;
  return spec;
}

MeshSpec ahead(MeshSpec spec, bool overlaps) {
  spec.core.look_ahead = Use::kAlways;
  if (overlaps) spec.core.overlap = Use::kAlways;
  return spec;
}

MeshSpec stepping(MeshSpec spec) {
  spec.local_steps = {1, 3, 2, 4, 2};
  return spec;
}

// Each with something that another has not: who keeps moments, velocity or movement, where the
// gradient is taken, what both ends of a channel hold.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* kind : {"ring", "parameter_server", "tree"}) {
    const auto add = [&](const std::string& name, const MeshSpec& spec) {
      all.push_back({std::string(kind) + ", " + name, spec});
    };
    add("none, momentum", spec_of(kind, kSgd));
    add("none, adamw", spec_of(kind, kAdamw));
    for (const Gather gather : {Gather::kShared, Gather::kPerLink}) {
      const std::string way = gather == Gather::kShared ? ", shared" : ", per link";
      const auto with = [&](const char* steps, Feedback feedback) {
        return compressed(spec_of(kind, steps), feedback, gather);
      };
      add("ef21" + way, with(kSgd, Feedback::kEf21));
      add("ef21, adamw" + way, with(kAdamw, Feedback::kEf21));
      add("ef14" + way, with(kNesterov, Feedback::kEf14));
      add("ef14, adamw" + way, with(kAdamw, Feedback::kEf14));
      for (const char* steps : {kNesterov, kDescent, kAdamw})
        for (const bool overlaps : {false, true}) {
          const std::string what = std::string(steps) + (overlaps ? ", overlap" : ", look-ahead");
          add("ef14, " + what + way, ahead(with(steps, Feedback::kEf14), overlaps));
          add("ef14, local steps, " + what + way,
              ahead(stepping(with(steps, Feedback::kEf14)), overlaps));
        }
      add("ef14, local steps" + way, stepping(with(kSgd, Feedback::kEf14)));
      add("no feedback" + way, with(kSgd, Feedback::kNone));
    }
  }
  return all;
}

// Seen to fail with each vector, count and figure of a state left out of it in turn.
TEST(Resume, EndsWithTheBitsOfARunThatWasNotInterrupted) {
  std::uint64_t seed = 0;
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name + ", seed " + std::to_string(++seed));
    MeshSpec spec = c.spec;
    spec.seed = seed;
    Mesh whole(spec);
    const AllStates of_whole = stores(spec.nodes);
    store_in(whole, of_whole);
    whole.run();
    ASSERT_TRUE(whole.done()) << whole.ends();
    for (const auto& of_node : of_whole)
      EXPECT_EQ(of_node->rounds(), (std::vector<Round>{5, 11, 17, 23, 29, 35}));

    // Somewhere between the first checkpoint and the end.
    Random random(seed, 0, 0, Purpose::kNoise);
    const AllStates states = stores(spec.nodes);
    Mesh killed(spec);
    store_in(killed, states);
    crash_all(killed, (0.25 + 0.7 * random.uniform()) * whole.simulator->seconds());
    killed.run();
    ASSERT_FALSE(killed.done());

    Mesh resumed(spec);
    resume(resumed, states);
    resumed.run();
    ASSERT_TRUE(resumed.done()) << resumed.ends();
    EXPECT_EQ(all_of(resumed), all_of(whole));
    EXPECT_EQ(resumed.reports[0].back().round, whole.reports[0].back().round);
    EXPECT_LT(resumed.reports[0].size(), whole.reports[0].size()) << "it began anew";
    EXPECT_EQ(resumed.reports[0].back().verdict, whole.reports[0].back().verdict);
  }
}

}  // namespace
}  // namespace kimesh::test
