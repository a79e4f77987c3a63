// Something of one node hangs while its heartbeats go on: its trainer, its vector work, or all of
// it but its network. No other node waits for ever, and each ends with a sentence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kimesh/compress/codecs.h"
#include "kimesh/util/random.h"
#include "tests/quadratic_mesh/mesh.h"
#include "tests/sanitized.h"

namespace kimesh::test::hang_test {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kSeeds = seeds_of(120);

enum class Hangs { kTrainer, kVectorWork, kEngine };

template <typename... Events>
bool is_one_of(const Event& event) {
  return (std::holds_alternative<Events>(event) || ...);
}

// Whether a core whose node hangs gets no such event any more.
bool is_lost(const Event& event, Hangs what) {
  switch (what) {
    case Hangs::kTrainer:
      return is_one_of<GradientDone, Evaluated>(event);
    case Hangs::kVectorWork:
      return is_one_of<AdvanceDone, ApplyDone, StepDone, MovementTaken>(event);
    case Hangs::kEngine:
      return true;
  }
  return false;
}

MeshSpec spec_of(Random& random) {
  MeshSpec spec;
  const char* kinds[] = {"ring", "parameter_server", "tree", "graph"};
  spec.kind = kinds[random.below(4)];
  spec.nodes = 3 + random.below(3);
  spec.dimension = 120;
  spec.core.policy = {policy_options("fixed", {{"ratio", "0.2"}}), make_codec("topk")};
  if (random.below(2) == 0) spec.core.feedback = Feedback::kEf14;
  if (random.below(2) == 0) spec.core.gather = Gather::kShared;
  spec.core.stop_rounds = 1'000'000;
  spec.rate_bits_per_s = 1e6;
  return spec;
}

// Seen to fail: check_wait, check_vector_work or check_trainer left out.
TEST(Hang, OfOneNodeEndsTheRunOfAllOthersWithASentence) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Random random(seed, 0, 0, Purpose::kTest);
    Mesh mesh(spec_of(random));
    const auto victim =
        static_cast<NodeIndex>(random.below(static_cast<std::uint32_t>(mesh.spec.nodes)));
    const auto what = static_cast<Hangs>(random.below(3));
    const double begins = 1 + random.below(100) / 25.0;
    mesh.setup.tamper = [&](NodeIndex to, Event& event, std::vector<Event>&) {
      if (to == victim && mesh.simulator->seconds() > begins && is_lost(event, what))
        event = LinkUp{0};  // means nothing to a core
    };
    mesh.setup.seconds_max = 4000;
    mesh.run();
    for (NodeIndex i = 0; i < mesh.spec.nodes; ++i) {
      const SimulatedEnd& end = mesh.simulator->end(i);
      if (i == victim && what == Hangs::kEngine) continue;
      ASSERT_TRUE(end.finished) << "node " << i
                                << " waits for ever: " << mesh.simulator->core(i).waiting_for();
      EXPECT_EQ(end.outcome, Outcome::kFailed);
      const std::string by = "node " + mesh.plan.view.nodes[victim] + " has worked on ";
      EXPECT_THAT(end.text, HasSubstr(what == Hangs::kEngine ? "one of them hangs" : by));
    }
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace kimesh::test::hang_test
