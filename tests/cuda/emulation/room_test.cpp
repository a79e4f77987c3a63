// Nodes whose vectors do not fit on a GPU.
#include <gtest/gtest.h>

#include <limits>

#include "kimesh/config/options_of_text.h"
#include "kimesh/vectors/vectors.h"
#include "tests/cuda/emulation/cuda_runtime.h"
#include "tests/vectors/mesh.h"

namespace kimesh::room_test {
namespace {

constexpr std::size_t kEndless = std::numeric_limits<std::size_t>::max();

VectorsOptions options(bool objective_on_device) {
  VectorsOptions options{
      options_of_text<OptimizerOptions>("{kind: sgd, lr: 0.1, momentum: 0.9, nesterov: true}"),
      0.25,
      true,
      Feedback::kEf14,
      Gather::kPerLink,
      true};
  EXPECT_TRUE(use_gpu(options).ok());
  options.objective_on_device = objective_on_device;
  return options;
}

// Seen to fail with vectors that are taken for allocated.
TEST(EmulatedRoom, IsMissedBeforeAnythingIsComputedWhicheverVectorLacksIt) {
  const Plan plan = plan_of("parameter_server", 3, {0}, {40, 7});
  for (const bool objective_on_device : {false, true})
    for (const NodeIndex self : {0u, 1u}) {
      std::size_t room = 0;
      for (;; ++room) {
        const VectorsOptions on_gpu = options(objective_on_device);
        emulation::limit_allocations(room);
        const Vectors vectors(plan, self, on_gpu);
        emulation::limit_allocations(kEndless);
        if (vectors.allocated()) break;
        EXPECT_NE(vectors.allocated().error().message.find("do not fit on"), std::string::npos)
            << vectors.allocated().error().message;
      }
      EXPECT_GE(room, 4u) << "w, g, y and a velocity at least";
    }
}

}  // namespace
}  // namespace kimesh::room_test
