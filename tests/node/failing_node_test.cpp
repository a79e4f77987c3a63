// One node of three throws, in each of its threads in turn: the run ends by its name, on all nodes,
// and each leaves its whole model. Seen to fail with the guard of each thread taken away: the
// process ends by std::terminate.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>

#include "kimesh/compress/codecs.h"
#include "kimesh/util/keep_for_ever.h"
#include "tests/node/live_mesh.h"

namespace kimesh::test::failing_node_test {
namespace {

using testing::HasSubstr;

constexpr NodeIndex kFailing = 1;
constexpr Round kRound = 5;  // in which it fails, or soon after

enum class Place {
  kNowhere,
  kGradient,
  kGradientMemory,
  kEvaluation,
  kMemoryOfState,
  kWordOnStates,
  kReport,
  kDecision,
};

[[noreturn]] void fail() {
  throw std::runtime_error("a trouble\nand its trace");
}

class FailingObjective final : public Objective {
 public:
  FailingObjective(std::unique_ptr<Objective> inner, Place place)
      : inner_(std::move(inner)), place_(place) {}
  const Layout& layout() const override { return inner_->layout(); }
  void initialise(std::span<float> w) override { inner_->initialise(w); }
  void bind(std::span<float> w, std::span<float> g) override { inner_->bind(w, g); }
  Result<GradientNumbers> gradient(std::uint64_t batch) override {
    if (batch == kRound && place_ == Place::kGradient) fail();
    if (batch == kRound && place_ == Place::kGradientMemory) throw std::bad_alloc();
    return inner_->gradient(batch);
  }
  Result<EvaluationNumbers> evaluate() override {
    if (place_ == Place::kEvaluation) fail();
    return EvaluationNumbers{1, 2, 3};
  }

 private:
  std::unique_ptr<Objective> inner_;
  const Place place_;
};

class FailingStates final : public HeldStates {
 public:
  explicit FailingStates(Place place) : place_(place) {}
  std::vector<std::byte> memory() override {
    if (place_ == Place::kMemoryOfState) fail();
    return {};
  }
  void keep(StateId id, std::vector<std::byte>) override { newest_ = id.round; }
  Result<std::unique_ptr<StateSource>> load(StateId) override {
    return Error{ErrorCode::kUserInput, "there is none"};
  }
  Result<std::optional<Round>> newest() override {
    const Round held = newest_;
    return held == kNoRound ? std::nullopt : std::optional(held);
  }
  void all_hold(Round) override {
    if (place_ == Place::kWordOnStates) fail();
  }

 private:
  const Place place_;
  std::atomic<Round> newest_{kNoRound};
};

MeshSpec spec() {
  MeshSpec spec;
  spec.nodes = 3;
  spec.core.policy = {policy_options("fixed", {{"ratio", "0.2"}}), make_codec("topk")};
  spec.core.stop_rounds = 1'000'000;
  return spec;
}

LiveRun run_with(Place place) {
  MeshSpec of = spec();
  of.core.checkpoints.every_rounds = kRound;
  of.core.evaluate_every = kRound;
  Mesh mesh(of);
  for (SimulatedNode& node : mesh.setup.nodes) node.core.has_test_set = true;
  for (NodeIndex i = 0; i < of.nodes; ++i) {
    auto& objective = mesh.setup.nodes[i].objective;
    objective = std::make_unique<FailingObjective>(std::move(objective),
                                                   i == kFailing ? place : Place::kNowhere);
  }
  FailingStates broken(place), first(Place::kNowhere), last(Place::kNowhere);
  LiveOptions options;
  options.on_setup = [&](NodeIndex i, LiveNodeSetup& setup, LiveNodeObserver& observer) {
    setup.states = i == kFailing ? &broken : i == 0 ? &first : &last;
    if (i != kFailing) return;
    if (place == Place::kReport)
      observer.report = [](TimePoint, const RoundReport& report) -> Status {
        if (report.round == kRound) fail();
        return ok_status();
      };
    if (place == Place::kDecision)
      observer.decision = [](TimePoint, const Decision& decision) -> Status {
        if (decision.round == kRound) fail();
        return ok_status();
      };
  };
  return run_live(mesh, options);
}

void expect_its_end_everywhere(const LiveRun& run, const std::string& sentence) {
  for (const auto& end : run.ends) {
    ASSERT_TRUE(end) << run.text();
    EXPECT_EQ(end->outcome, Outcome::kFailed) << run.text();
    EXPECT_EQ(end->reason, StopReason::kNone);
    EXPECT_EQ(end->text, sentence) << run.text();
    EXPECT_EQ(end->parameters.size(), spec().dimension) << "the whole model, as it was";
    EXPECT_GT(end->rounds, 1u);
    EXPECT_FALSE(end->hangs);
  }
}

TEST(FailingNode, EndsTheRunByItsNameWhateverThreadThrows) {
  const std::pair<Place, std::string> cases[] = {
      {Place::kGradient, "computing a gradient: a trouble"},
      {Place::kGradientMemory, "computing a gradient: no memory is left (std::bad_alloc)"},
      {Place::kEvaluation, "evaluating: a trouble"},
      {Place::kMemoryOfState, "copying its state for a checkpoint: a trouble"},
      {Place::kWordOnStates, "running the node: a trouble"},
      {Place::kReport, "writing its records: a trouble"},
      {Place::kDecision, "writing its records: a trouble"},
  };
  for (const auto& [place, sentence] : cases) {
    SCOPED_TRACE(sentence);
    expect_its_end_everywhere(run_with(place), "node n1: " + sentence);
  }
}

// A server that shows the run is no thread of the node.
TEST(FailingNode, EndsTheRunByWhatAThreadBesideItThrows) {
  Mesh mesh(spec());
  Thrown thrown;
  LiveOptions options;
  options.on_setup = [&](NodeIndex i, LiveNodeSetup& setup, LiveNodeObserver&) {
    if (i == kFailing) setup.thrown = &thrown;
  };
  options.on_round = [&](NodeIndex i, Round round) {
    if (i != kFailing || round != kRound) return;
    std::thread([&] { thrown.guard("answering over HTTP", fail); }).join();
  };
  expect_its_end_everywhere(run_live(mesh, options), "node n1: answering over HTTP: a trouble");
}

// All have the same model by then, and one cannot write it.
TEST(FailingNode, HasNoGoodEndWhereItsModelCannotBeSaved) {
  MeshSpec of = spec();
  of.core.stop_rounds = 10;
  Mesh mesh(of);
  LiveOptions options;
  options.on_model = [&](NodeIndex i) {
    if (i == kFailing) fail();
  };
  const LiveRun run = run_live(mesh, options);
  for (NodeIndex i = 0; i < of.nodes; ++i) {
    ASSERT_TRUE(run.ends[i]) << run.text();
    EXPECT_EQ(run.ends[i]->outcome, i == kFailing ? Outcome::kFailed : Outcome::kDone);
  }
  EXPECT_EQ(run.ends[kFailing]->text, "node n1: saving its model: a trouble");
}

// Its gradient ends once the test says so, long after the node has left. Seen to fail: a node that
// waits for its trainer as long as that takes.
TEST(FailingNode, LeavesWithoutATrainerThatHangs) {
  struct Hanging final : Objective {
    Hanging(std::unique_ptr<Objective> inner, std::atomic<bool>& hangs)
        : inner_(std::move(inner)), hangs_(hangs) {}
    const Layout& layout() const override { return inner_->layout(); }
    void initialise(std::span<float> w) override { inner_->initialise(w); }
    void bind(std::span<float> w, std::span<float> g) override { inner_->bind(w, g); }
    Result<GradientNumbers> gradient(std::uint64_t batch) override {
      std::unique_lock lock(mutex_);
      hangs_ = batch == kRound;
      if (batch == kRound) changed_.wait(lock, [&] { return may_end_; });
      has_ended_ = batch == kRound;
      changed_.notify_all();
      return inner_->gradient(batch);
    }
    void let_it_end() {
      std::unique_lock lock(mutex_);
      may_end_ = true;
      changed_.notify_all();
      changed_.wait(lock, [&] { return has_ended_; });
    }
    std::unique_ptr<Objective> inner_;
    std::atomic<bool>& hangs_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool may_end_ = false, has_ended_ = false;
  };
  // The thread uses them until it ends.
  const auto mesh = std::make_shared<Mesh>(spec());
  const auto hangs = std::make_shared<std::atomic<bool>>(false);
  keep_for_ever(mesh);
  keep_for_ever(hangs);
  auto& objective = mesh->setup.nodes[kFailing].objective;
  auto hanging = std::make_unique<Hanging>(std::move(objective), *hangs);
  Hanging& trainer = *hanging;
  objective = std::move(hanging);
  LiveOptions options;
  options.stops = {hangs.get(), nullptr, nullptr};  // node 0 is told to stop once node 1 hangs
  const LiveRun run = run_live(*mesh, options);
  for (NodeIndex i = 0; i < 3; ++i) {
    ASSERT_TRUE(run.ends[i]) << run.text();
    EXPECT_EQ(run.ends[i]->outcome, Outcome::kStopped) << run.text();
    EXPECT_EQ(run.ends[i]->parameters.size(), spec().dimension);
    EXPECT_EQ(run.ends[i]->hangs, i == kFailing);
  }
  EXPECT_THAT(run.text(), HasSubstr("n1 says: the gradient or evaluation under way has not ended "
                                    "for 10 s: the node leaves without it"));
  trainer.let_it_end();
}

}  // namespace
}  // namespace kimesh::test::failing_node_test
