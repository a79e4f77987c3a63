// The trainer's work of nodes that take several steps between messages.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <variant>

#include "kimesh/executor/executor.h"
#include "kimesh/executor/node_state.h"
#include "tests/vectors/mesh.h"

namespace kimesh::perform_test {
namespace {

// A gradient of ones, whose loss is the number of its batch.
class Ones final : public Objective {
 public:
  const Layout& layout() const override { return layout_; }
  void initialise(std::span<float> parameters) override { std::ranges::fill(parameters, 0.0f); }
  void bind(std::span<float>, std::span<float> gradient) override { gradient_ = gradient; }
  Result<GradientNumbers> gradient(std::uint64_t batch) override {
    ++computed;
    if (batch == fails_at) return Error{ErrorCode::kNotFinite, "the gradient of layer 'a' is NaN"};
    std::ranges::fill(gradient_, 1.0f);
    return GradientNumbers{static_cast<double>(batch), 1};
  }
  int computed = 0;
  std::uint64_t fails_at = 1000;

 private:
  Layout layout_ = Layout::vector(8);
  std::span<float> gradient_;
};

struct Node {
  Node() {
    objective.initialise(vectors.point());
    objective.bind(vectors.point(), vectors.gradient());
    vectors.start();
  }
  Event step(
      Round round, const std::function<bool()>& gives_up = [] { return false; }) {
    const ComputeGradient work{round, GradientPoint::kParameters, 1, round};
    return perform(TrainerWork(work), vectors, objective, "b", gives_up);
  }

  Plan plan = plan_of("ring", 2, {0, 1}, {8});
  Ones objective;
  Vectors vectors{
      plan, 1,
      VectorsOptions{{}, 0.5, true, Feedback::kEf14, Gather::kPerLink, false, LocalSteps{5, 5}}};
};

TEST(Perform, ReportsTheMeanLossOfAllLocalSteps) {
  Node node;
  const Event end = node.step(2);
  const auto* done = std::get_if<GradientDone>(&end);
  ASSERT_NE(done, nullptr);
  EXPECT_EQ(done->round, 2u);
  EXPECT_EQ(done->loss, (10 + 11 + 12 + 13 + 14) / 5.0);
}

// Seen to fail with a trainer that asks only before the first step.
TEST(Perform, TakesNoFurtherLocalStepOnceItIsGivenUp) {
  Node node;
  (void)node.step(0, [&] { return node.objective.computed == 3; });
  EXPECT_EQ(node.objective.computed, 3);
}

TEST(Perform, NamesNodeAndRoundWhereALocalStepFails) {
  Node node;
  node.objective.fails_at = 7 * 5 + 3;
  const Event end = node.step(7);
  const auto* failed = std::get_if<WorkFailed>(&end);
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(failed->reason, "node b, round 7: the gradient of layer 'a' is NaN");
  EXPECT_EQ(node.objective.computed, 4);
}

// The core's part of a state grows a little from one checkpoint to the next. Seen to fail where
// memory had no room for that: it was allocated anew, and copied, at every few checkpoints.
TEST(NodeState, IsWrittenToTheSameMemoryWhereTheCoresPartGrows) {
  const Node node;
  std::vector<std::byte> core(5'000, std::byte{7}), state;
  ASSERT_TRUE(write_state(core, node.vectors, state).ok());
  const std::byte* const memory = state.data();
  while (core.size() < 9'000) {
    core.resize(core.size() + 500, std::byte{8});
    ASSERT_TRUE(write_state(core, node.vectors, state).ok());
    EXPECT_EQ(state.data(), memory) << core.size();
  }
  core.resize(100'000, std::byte{9});
  ASSERT_TRUE(write_state(core, node.vectors, state).ok());
  StateReader reader(state);
  Node other;
  const auto read = read_state(reader, other.vectors);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, core);
}

}  // namespace
}  // namespace kimesh::perform_test
