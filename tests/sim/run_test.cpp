// How runs go and end: rounds, time, replay, dead and frozen nodes, Ctrl-C.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "kimesh/compress/codecs.h"
#include "kimesh/util/digest.h"
#include "tests/quadratic_mesh/mesh.h"
#include "tests/shipped.h"

namespace kimesh::test::run_test {
namespace {

using testing::HasSubstr;

MeshSpec kimad_spec(const std::string& kind) {
  MeshSpec spec;
  spec.kind = kind;
  spec.dimension = 2000;
  spec.optimizer.lr = 0.1;
  spec.core.policy = {policy_options("kimad"), make_codec("topk"), std::chrono::milliseconds(60)};
  spec.core.stop_rounds = 200;
  spec.rate_bits_per_s = 1e6;
  return spec;
}

void step_rates(Mesh& mesh) {
  for (std::size_t l = 0; l < mesh.setup.links.size(); ++l) {
    const double base = 5e5 * static_cast<double>(1 + l % 3);
    mesh.setup.links[l].rate = RateTrace{{{0, base}, {2, base * 4}, {4, base / 2}, {6, base}}};
  }
}

TEST(Run, TrainsExactlyTheRoundsThatItWasAskedFor) {
  for (const Round rounds : {1u, 2u, 3u, 10u}) {
    MeshSpec spec;
    spec.core.stop_rounds = rounds;
    Mesh mesh(spec);
    mesh.run();
    ASSERT_TRUE(mesh.done()) << mesh.ends();
    for (const auto& reports : mesh.reports) {
      const auto trained = std::count_if(reports.begin(), reports.end(),
                                         [](const RoundReport& r) { return !r.confirmation; });
      EXPECT_EQ(trained, rounds);
    }
    EXPECT_EQ(mesh.simulator->end(0).reason, StopReason::kRounds);
  }
}

// Seen to fail: with a closing round whose gather keeps to its budgets.
TEST(Run, LeavesEqualModelsOnAllNodes) {
  for (const std::string& name : shipped_topologies()) {
    SCOPED_TRACE(name);
    MeshSpec spec = kimad_spec("");
    spec.file = shipped_path(name);
    spec.core.stop_rounds = 50;
    Mesh mesh(spec);
    mesh.run();
    ASSERT_TRUE(mesh.done()) << mesh.ends();
    for (ShardIndex s = 0; s < mesh.plan.shards.size(); ++s) {
      const std::uint64_t first = digest_floats(mesh.simulator->vectors(0).shard(s));
      for (NodeIndex i = 1; i < mesh.spec.nodes; ++i)
        EXPECT_EQ(digest_floats(mesh.simulator->vectors(i).shard(s)), first) << "node " << i;
    }
  }
}

TEST(Run, StopsAllNodesInTheSameRoundWhenTimeIsUp) {
  MeshSpec spec = kimad_spec("ring");
  spec.core.stop_rounds.reset();
  spec.core.stop_time = std::chrono::seconds(3);
  Mesh mesh(spec);
  mesh.run();
  ASSERT_TRUE(mesh.done()) << mesh.ends();
  for (NodeIndex i = 0; i < spec.nodes; ++i) {
    EXPECT_EQ(mesh.simulator->core(i).round(), mesh.simulator->core(0).round());
    EXPECT_EQ(mesh.simulator->end(i).reason, StopReason::kTime);
  }
  EXPECT_GE(mesh.simulator->seconds(), 3);
}

// Seen to fail: with the closing round left out of what is held back, and with gathers that are
// still being made when the node asks for the end.
TEST(Run, EndsInOrderBeforeANodeHasSentMoreThanItsTraffic) {
  for (const std::string kind : {"ring", "parameter_server"})
    for (const char* policy : {"none", "kimad"}) {
      constexpr std::uint64_t kTraffic = 400'000;
      MeshSpec spec = kimad_spec(kind);
      if (kind == "parameter_server") spec.servers = {2};
      spec.core.policy.policy = policy_options(policy);
      Mesh mesh(spec);
      mesh.setup.nodes[2].core.traffic_bytes = kTraffic;
      mesh.run();
      ASSERT_TRUE(mesh.done()) << mesh.ends();
      EXPECT_EQ(mesh.simulator->end(0).reason, StopReason::kTraffic);
      std::uint64_t sent = 0;
      for (LinkIndex link = 0; link < mesh.plan.links.size(); ++link)
        if (mesh.plan.links[link].from == 2) sent += mesh.simulator->totals(link).bytes;
      EXPECT_LE(sent, kTraffic);
      EXPECT_GE(sent, kTraffic / 2);  // and not long before
    }
}

// Seen to fail: with the policy asked instead of the log.
TEST(Run, IsRepeatedBitForBitByItsDecisionLogOnOtherLinks) {
  std::size_t run = 0;
  for (const std::string& name : shipped_topologies()) {
    SCOPED_TRACE(name);
    MeshSpec spec = kimad_spec("");
    spec.file = shipped_path(name);
    spec.core.stop_rounds = 100;
    // All four ways, each on some of the topologies.
    spec.core.feedback = run % 2 == 0 ? Feedback::kEf21 : Feedback::kEf14;
    spec.core.gather = run / 2 % 2 == 0 ? Gather::kPerLink : Gather::kShared;
    ++run;
    Mesh first(spec);
    step_rates(first);
    first.run();
    ASSERT_TRUE(first.done()) << first.ends();

    Mesh second(spec);  // constant links: without the log it would decide otherwise
    second.setup.replay = &first.decisions;
    second.run();
    ASSERT_TRUE(second.done()) << second.ends();
    EXPECT_EQ(digest_floats(second.simulator->owners_parameters()),
              digest_floats(first.simulator->owners_parameters()));

    Mesh third(spec);
    third.run();
    EXPECT_NE(digest_floats(third.simulator->owners_parameters()),
              digest_floats(first.simulator->owners_parameters()));
  }
}

// Seen to fail: with silence that nobody counts.
TEST(Run, NamesTheNodeThatDied) {
  for (const Fault::Kind kind : {Fault::Kind::kCrash, Fault::Kind::kFreeze}) {
    Mesh mesh(kimad_spec("ring"));
    mesh.setup.faults.push_back({kind, 1.0, 0, 2});
    mesh.setup.seconds_max = 100;
    mesh.run();
    for (NodeIndex i = 0; i < mesh.spec.nodes; ++i) {
      if (i == 2) continue;
      const SimulatedEnd& end = mesh.simulator->end(i);
      ASSERT_TRUE(end.finished) << mesh.ends();
      EXPECT_EQ(end.outcome, Outcome::kFailed);
      EXPECT_THAT(end.text, HasSubstr("node n2 has been silent for")) << "node " << i;
    }
  }
}

// Seen to fail (time was up): life by node alone.
TEST(Run, NamesALinkThatIsDeadWhileTheWayBackIsAlive) {
  Mesh mesh(kimad_spec("parameter_server"));
  const LinkIndex link = *mesh.plan.find_link(1, 0);
  mesh.setup.faults.push_back({Fault::Kind::kCut, 1.0, link, 0});
  mesh.setup.seconds_max = 100;
  mesh.run();
  for (NodeIndex i = 0; i < mesh.spec.nodes; ++i) {
    const SimulatedEnd& end = mesh.simulator->end(i);
    ASSERT_TRUE(end.finished) << mesh.ends();
    EXPECT_EQ(end.outcome, Outcome::kFailed);
    EXPECT_THAT(end.text, HasSubstr("link n1->n0 has been silent for")) << "node " << i;
  }
}

TEST(Run, SurvivesAFreezeShorterThanDeadAfter) {
  Mesh mesh(kimad_spec("parameter_server"));
  mesh.setup.faults.push_back({Fault::Kind::kFreeze, 1.0, 0, 2});
  mesh.setup.faults.push_back({Fault::Kind::kThaw, 9.0, 0, 2});
  mesh.run();
  EXPECT_TRUE(mesh.done()) << mesh.ends();
}

// Seen to fail: with a halt that is not passed on.
TEST(Run, StopsEverywhereAfterCtrlCAtOneNode) {
  Mesh mesh(kimad_spec("ring"));
  mesh.setup.faults.push_back({Fault::Kind::kStop, 1.0, 0, 1});
  mesh.run();
  for (NodeIndex i = 0; i < mesh.spec.nodes; ++i)
    EXPECT_EQ(mesh.simulator->end(i).outcome, Outcome::kStopped);
  EXPECT_LT(mesh.simulator->seconds(), 3) << "everywhere within two seconds";
}

// A node sleeps while a gather and the next reduce wait in its inbox, and the link is cut before it
// can say that it applied the first: its server is a round further when it hears of it. Seen to
// fail: with turn() sending for the node's round instead of the one that fell due.
TEST(Run, GoesOnWhenTheNewsOfAnApplicationIsLateByARound) {
  for (int step = 0; step < 200; ++step) {
    MeshSpec spec = kimad_spec("parameter_server");
    spec.core.stop_rounds = 12;
    Mesh mesh(spec);
    const double at = 0.1 + 0.002 * step;
    const LinkIndex link = *mesh.plan.find_link(1, 0);
    mesh.setup.faults = {{Fault::Kind::kFreeze, at, 0, 0},
                         {Fault::Kind::kCut, at + 0.04, link, 0},
                         {Fault::Kind::kThaw, at + 0.05, 0, 0},
                         {Fault::Kind::kRestore, at + 0.45, link, 0}};
    mesh.run();
    ASSERT_TRUE(mesh.done()) << "cut at " << at << " s\n" << mesh.ends();
  }
}

TEST(Run, CarriesOverEveryLinkWhatThePlanSays) {
  for (const std::string kind : {"ring", "parameter_server"}) {
    MeshSpec spec = kimad_spec(kind);
    spec.core.stop_rounds = 20;
    Mesh mesh(spec);
    mesh.run();
    ASSERT_TRUE(mesh.done()) << mesh.ends();
    for (LinkIndex l = 0; l < mesh.plan.links.size(); ++l) {
      std::uint64_t expected = 0;
      for (ShardIndex s = 0; s < mesh.plan.shards.size(); ++s)
        for (const Phase phase : {Phase::kReduce, Phase::kGather})
          for (const Hop& hop : hops_of(mesh.plan, s, phase))
            if (mesh.plan.channels[hop.channel].link == l)
              expected += s == 0 ? 21 : 20;  // and a confirmation
      EXPECT_EQ(mesh.simulator->totals(l).messages, expected) << "link " << l;
    }
  }
}

// A quadratic with a test set of its own: the loss is half the distance to a point that every node
// knows, scored on ten samples.
class ScoredQuadratic : public Objective {
 public:
  ScoredQuadratic(std::unique_ptr<Objective> quadratic, std::vector<double> minimiser)
      : quadratic_(std::move(quadratic)), minimiser_(std::move(minimiser)) {}
  const Layout& layout() const override { return quadratic_->layout(); }
  void initialise(std::span<float> parameters) override { quadratic_->initialise(parameters); }
  void bind(std::span<float> parameters, std::span<float> gradient) override {
    quadratic_->bind(parameters, gradient);
    parameters_ = parameters;
  }
  Result<GradientNumbers> gradient(std::uint64_t batch) override {
    return quadratic_->gradient(batch);
  }
  Result<EvaluationNumbers> evaluate() override {
    double squares = 0;
    for (std::size_t j = 0; j < minimiser_.size(); ++j)
      squares += (parameters_[j] - minimiser_[j]) * (parameters_[j] - minimiser_[j]);
    return EvaluationNumbers{0, 10, 10 * squares / 2};
  }

 private:
  std::unique_ptr<Objective> quadratic_;
  std::vector<double> minimiser_;
  std::span<float> parameters_;
};

MeshSpec scored_spec() {
  MeshSpec spec = kimad_spec("ring");
  spec.dimension = 200;
  spec.condition = 4;
  spec.core.stop_rounds = 5000;
  spec.core.stop_loss = 0.01;
  spec.core.evaluate_every = 5;
  return spec;
}

void score(Mesh& mesh) {
  for (SimulatedNode& node : mesh.setup.nodes) {
    node.core.has_test_set = true;
    node.objective =
        std::make_unique<ScoredQuadratic>(std::move(node.objective), mesh.problem.minimiser());
  }
}

TEST(Run, EndsAtALossThatTheEqualModelsHaveAndIsRepeatedByItsLog) {
  Mesh first(scored_spec());
  score(first);
  first.run();
  ASSERT_TRUE(first.done()) << first.ends();
  for (NodeIndex i = 0; i < first.spec.nodes; ++i)
    EXPECT_EQ(first.simulator->end(i).reason, StopReason::kLoss);
  const RoundReport& last = first.reports[0].back();
  EXPECT_TRUE(last.confirmation);
  EXPECT_EQ(last.verdict.accuracy_round, last.round);
  EXPECT_LE(last.verdict.test_loss, 0.01);
  EXPECT_LT(last.round, 4000u) << "long before the rounds are over";

  Mesh second(scored_spec());
  score(second);
  step_rates(second);
  second.setup.replay = &first.decisions;
  second.run();
  ASSERT_TRUE(second.done()) << second.ends();
  EXPECT_EQ(second.simulator->end(0).reason, StopReason::kLoss);
  EXPECT_EQ(second.reports[0].back().round, last.round);
  EXPECT_EQ(digest_floats(second.simulator->owners_parameters()),
            digest_floats(first.simulator->owners_parameters()));
}

}  // namespace
}  // namespace kimesh::test::run_test
