// Checkpoints: a mesh that is killed and goes on from its last one ends with the bits of a mesh
// that was never killed.
#include <gtest/gtest.h>

#include <algorithm>

#include "kimesh/compress/codecs.h"
#include "kimesh/config/options_of_text.h"
#include "kimesh/util/random.h"
#include "tests/sim/states.h"

namespace kimesh::test::resume_test {
namespace {

constexpr Round kRounds = 40, kEvery = 6;

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

// Links and gradients of which some are far ahead of others, so that messages of the next round
// come while this one is not over, and others wait for their channels.
void make_uneven(Mesh& mesh, std::uint64_t seed) {
  if (seed % 3 == 0) return;
  Random random(seed, 1, 0, Purpose::kNoise);
  mesh.setup.costs.gradient = std::chrono::microseconds(20);
  for (LinkSpec& link : mesh.setup.links) {
    link.rate = RateTrace{{{0.0, 1e5 * (1 + 99 * random.uniform())}}};
    link.delay = from_seconds(0.01 * random.uniform());
  }
}

struct Case {
  std::string name;
  MeshSpec spec;
};

OptimizerOptions optimizer(const std::string& text) {
  return options_of_text<OptimizerOptions>(text);
}

constexpr const char* kSgd = "{kind: sgd, lr: 0.05, momentum: 0.9}";
constexpr const char* kNesterov =
    "{kind: sgd, lr: 0.05, momentum: 0.9, nesterov: true, schedule: {warmup: 100}}";
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

MeshSpec with_exact_owners(MeshSpec spec) {
  spec.core.one_point = false;
  return spec;
}

MeshSpec ahead(MeshSpec spec, bool overlaps) {
  spec.core.look_ahead = Use::kAlways;
  if (overlaps) spec.core.overlap = Use::kAlways;
  return spec;
}

// Another ratio before, at and behind checkpoints. Seen to fail: rounds counted from a checkpoint.
MeshSpec by_round(MeshSpec spec) {
  spec.core.policy.policy = policy_options(
      "ratio_by_round", {{"ratio_from_round", "0: 0.3, 9: 0.05, 12: 0.5, 20: 0.1, 36: 0.8"}});
  return spec;
}

// The mesh chooses where gradients are taken, and how many local steps a round has.
void choose_all(MeshSpec& spec) {
  spec.core.feedback = Feedback::kEf14;
  spec.core.look_ahead = spec.core.overlap = Use::kChosen;
  spec.core.local_steps_vary = spec.core.chooses_multiples = true;
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
    MeshSpec cut = spec_of(kind, kSgd);
    cut.shard_elements_max = 5;
    add("none, several shards a server", cut);
    for (const Gather gather : {Gather::kShared, Gather::kPerLink}) {
      const std::string way = gather == Gather::kShared ? ", shared" : ", per link";
      const auto with = [&](const char* steps, Feedback feedback) {
        return compressed(spec_of(kind, steps), feedback, gather);
      };
      add("ef21" + way, with(kSgd, Feedback::kEf21));
      add("ef21, adamw" + way, with(kAdamw, Feedback::kEf21));
      add("ef21, ratios by round" + way, by_round(with(kSgd, Feedback::kEf21)));
      add("ef14, ratios by round" + way, by_round(with(kSgd, Feedback::kEf14)));
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
    add("ef21, owners at their shards",
        with_exact_owners(compressed(spec_of(kind, kSgd), Feedback::kEf21, Gather::kPerLink)));
  }
  return all;
}

// Seen to fail with each of these left out of a state: velocity, step, x, both estimates, the round
// of the movement and where it lies, the optimizer's count, the trained rounds; and without the
// drain of gradients and of early messages.
TEST(Resume, EndsWithTheBitsOfARunThatWasNotInterrupted) {
  std::uint64_t seed = 0;
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name + ", seed " + std::to_string(++seed));
    MeshSpec spec = c.spec;
    spec.seed = seed;
    Mesh whole(spec);
    const AllStates of_whole = stores(spec.nodes);
    store_in(whole, of_whole);
    make_uneven(whole, seed);
    whole.run();
    ASSERT_TRUE(whole.done()) << whole.ends();
    for (const auto& of_node : of_whole)
      EXPECT_EQ(of_node->rounds(), (std::vector<Round>{5, 11, 17, 23, 29, 35}));

    // Somewhere between the first checkpoint and the end.
    Random random(seed, 0, 0, Purpose::kNoise);
    const AllStates states = stores(spec.nodes);
    Mesh killed(spec);
    store_in(killed, states);
    make_uneven(killed, seed);
    crash_all(killed, (0.25 + 0.7 * random.uniform()) * whole.simulator->seconds());
    killed.run();
    ASSERT_FALSE(killed.done());

    Mesh resumed(spec);
    resume(resumed, states);
    make_uneven(resumed, seed);
    resumed.run();
    ASSERT_TRUE(resumed.done()) << resumed.ends();
    EXPECT_EQ(all_of(resumed), all_of(whole));
    EXPECT_EQ(resumed.reports[0].back().round, whole.reports[0].back().round);
    EXPECT_LT(resumed.reports[0].size(), whole.reports[0].size()) << "it began anew";
    EXPECT_EQ(resumed.reports[0].back().verdict, whole.reports[0].back().verdict);
  }
}

// Runs it until all nodes are killed at `share` of the time that a whole run takes.
AllStates killed_states(const MeshSpec& spec, double share,
                        RecordedDecisions* decisions = nullptr) {
  Mesh whole(spec);
  whole.run();
  EXPECT_TRUE(whole.done()) << whole.ends();
  AllStates states = stores(spec.nodes);
  Mesh killed(spec);
  store_in(killed, states);
  crash_all(killed, share * whole.simulator->seconds());
  killed.run();
  if (decisions != nullptr) *decisions = killed.decisions;
  return states;
}

std::vector<float> whole_run(const MeshSpec& spec) {
  Mesh whole(spec);
  whole.run();
  EXPECT_TRUE(whole.done()) << whole.ends();
  return all_of(whole);
}

MeshSpec small_ring() {
  return compressed(spec_of("ring", kSgd), Feedback::kEf21, Gather::kPerLink);
}

// One node was killed before the disk had its last checkpoint.
TEST(Resume, GoesOnFromTheNewestCheckpointThatAllNodesHold) {
  const MeshSpec spec = small_ring();
  const AllStates states = killed_states(spec, 0.9);
  ASSERT_GE(states[2]->states.size(), 2u);
  states[2]->states.erase(std::prev(states[2]->states.end()));
  const Round newest = newest_of_all(states);
  Mesh resumed(spec);
  resume(resumed, states);
  resumed.run();
  ASSERT_TRUE(resumed.done()) << resumed.ends();
  EXPECT_EQ(resumed.reports[0].front().round, newest + 1);
  EXPECT_EQ(all_of(resumed), whole_run(spec));
}

TEST(Resume, BeginsAnewWhereNoNodeHoldsACheckpoint) {
  const MeshSpec spec = small_ring();
  Mesh resumed(spec);
  const AllStates none = stores(spec.nodes);
  resume(resumed, none);
  resumed.run();
  ASSERT_TRUE(resumed.done()) << resumed.ends();
  EXPECT_EQ(all_of(resumed), whole_run(spec));
}

TEST(Resume, EndsWithASentenceWhereOneNodeHoldsNone) {
  const MeshSpec spec = small_ring();
  const AllStates states = killed_states(spec, 0.9);
  states[3]->states.clear();
  Mesh resumed(spec);
  resume(resumed, states);
  resumed.run();
  for (NodeIndex i = 0; i < spec.nodes; ++i) {
    EXPECT_EQ(resumed.simulator->end(i).outcome, Outcome::kFailed);
    EXPECT_NE(resumed.simulator->end(i).text.find("holds the checkpoint of round"),
              std::string::npos)
        << resumed.simulator->end(i).text;
  }
}

// Whichever node it is: the owner of shard 0 gets a gradient in place of a word, or the other way
// round.
TEST(Resume, EndsWithASentenceWhereOneNodeBeginsAnew) {
  for (const char* kind : {"ring", "parameter_server", "tree"})
    for (NodeIndex fresh = 0; fresh < 5; ++fresh)
      for (const bool only : {false, true}) {  // the others begin anew, in place of this one
        SCOPED_TRACE(std::string(kind) + ", node " + std::to_string(fresh));
        const MeshSpec spec = compressed(spec_of(kind, kSgd), Feedback::kEf14, Gather::kShared);
        const AllStates states = killed_states(spec, 0.6);
        Mesh resumed(spec);
        resume(resumed, states);
        for (NodeIndex i = 0; i < spec.nodes; ++i)
          if ((i == fresh) != only) resumed.setup.nodes[i].core.checkpoints.resumes = false;
        resumed.run();
        for (NodeIndex i = 0; i < spec.nodes; ++i) {
          EXPECT_TRUE(resumed.simulator->end(i).finished) << resumed.ends();
          EXPECT_NE(resumed.simulator->end(i).text.find("begin all nodes anew, or none"),
                    std::string::npos)
              << resumed.ends();
        }
      }
}

TEST(Resume, MakesACheckpointWhenAUserAsksForOne) {
  MeshSpec spec = small_ring();
  spec.core.checkpoints.every_rounds.reset();
  const AllStates states = stores(spec.nodes);
  Mesh mesh(spec);
  store_in(mesh, states);
  Fault wish{Fault::Kind::kSave, 0.3};
  wish.node = 3;
  mesh.setup.faults.push_back(wish);
  mesh.run();
  ASSERT_TRUE(mesh.done()) << mesh.ends();
  for (const auto& of_node : states) EXPECT_EQ(of_node->rounds().size(), 1u);
}

// What all nodes hold is told with the next checkpoint, so that older ones may go.
TEST(Resume, NodesLearnWhichCheckpointAllHold) {
  Mesh mesh(small_ring());
  const AllStates states = stores(mesh.spec.nodes);
  store_in(mesh, states);
  mesh.run();
  ASSERT_TRUE(mesh.done()) << mesh.ends();
  for (const RoundReport& report : mesh.reports[4]) {
    const bool tells = report.checkpoint && report.round > kEvery;
    EXPECT_EQ(report.verdict.checkpoint_held, tells ? report.round - kEvery : kNoRound);
  }
}

// Where time decides, the log of both parts makes the same bits in a mesh that is not interrupted.
TEST(Resume, IsReplayedFromTheDecisionsOfBothParts) {
  for (const char* policy : {"kimad", "kimad_plus", "gravac", "auto"}) {
    SCOPED_TRACE(policy);
    MeshSpec spec = spec_of("ring", kNesterov);
    spec.rate_bits_per_s = 2e6;
    spec.dimension = 2000;
    const bool chooses = std::string(policy) == "auto";
    spec.core.policy = {policy_options(policy), make_codec("topk"),
                        chooses ? std::nullopt : std::optional<Duration>(from_seconds(0.03)), 5};
    spec.core.feedback = Feedback::kEf14;
    spec.core.gather = Gather::kShared;
    spec.core.checkpoints = {std::nullopt, from_seconds(0.15), false, std::nullopt};
    spec.core.stop_rounds = 2 * kRounds;
    if (chooses) {
      choose_all(spec);
      spec.heterogeneity = 0;
      spec.gradients.assign(spec.nodes, std::chrono::milliseconds(3));
      spec.gradients[2] = std::chrono::milliseconds(10);
    }
    RecordedDecisions decisions;
    const AllStates states = killed_states(spec, 0.6, &decisions);
    ASSERT_GE(states[0]->states.size(), 2u);
    Mesh resumed(spec);
    resume(resumed, states);
    const Round held = newest_of_all(states);
    decisions.forget_from(held + 1);
    resumed.decisions = decisions;
    resumed.run();
    ASSERT_TRUE(resumed.done()) << resumed.ends();
    EXPECT_EQ(resumed.reports[0].front().round, held + 1);
    EXPECT_EQ(resumed.reports[0].front().verdict.mean_multiple > 1, chooses);

    Mesh replayed(spec);
    replayed.setup.replay = &resumed.decisions;
    replayed.run();
    ASSERT_TRUE(replayed.done()) << replayed.ends();
    EXPECT_EQ(all_of(replayed), all_of(resumed));
  }
}

// A state that no node can have saved, behind digests that hold: the run ends in one way or
// another, and no check of ours ends the process.
TEST(Resume, SurvivesEveryStateThatIsDamaged) {
  for (const char* policy : {"kimad", "gravac", "auto"}) {
    MeshSpec spec = spec_of("parameter_server", kAdamw);
    spec.nodes = 2;
    spec.servers = {0};
    spec.dimension = 8;
    spec.core.stop_rounds = 9;
    spec.core.policy = {policy_options(policy), make_codec("topk"), std::nullopt, 2};
    if (std::string(policy) == "kimad") spec.core.policy.round_time = from_seconds(0.03);
    spec.core.gather = Gather::kShared;
    if (std::string(policy) == "auto") choose_all(spec);
    const AllStates states = killed_states(spec, 0.9);
    const Round held = newest_of_all(states);
    const std::vector<std::byte> sound = states[1]->states[held];
    Random random(1, 0, 0, Purpose::kNoise);
    for (std::size_t at = 0; at < sound.size(); at += 1 + sound.size() / 400) {
      SCOPED_TRACE(std::string(policy) + ", byte " + std::to_string(at));
      const bool is_cut = at % 5 == 0;
      const AllStates damaged = stores(spec.nodes);
      damaged[0]->states[held] = states[0]->states[held];
      std::vector<std::byte>& state = damaged[1]->states[held];
      state = sound;
      state[at] ^= static_cast<std::byte>(1 + static_cast<unsigned>(254 * random.uniform()));
      if (is_cut) state.resize(at);
      Mesh resumed(spec);
      resumed.setup.seconds_max = 100;
      resume(resumed, damaged);
      resumed.run();
      EXPECT_FALSE(is_cut && resumed.done());
    }
  }
}

}  // namespace
}  // namespace kimesh::test::resume_test
