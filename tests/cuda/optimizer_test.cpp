#include "kimesh/optimizer/optimizer.h"

#include "kimesh/config/options_of_text.h"
#include "kimesh/kernels/vector_math.h"
#include "tests/cuda/cuda_fixture.h"

namespace kimesh::cuda_test::optimizer_test {
namespace {

class CudaOptimizer : public Cuda {};

TEST_F(CudaOptimizer, MomentumIsTheCpus) {
  const double momentum = 0.9;
  const auto config = options_of_text<OptimizerOptions>("{kind: sgd, lr: 0.1, momentum: 0.9}");
  for (const std::size_t size : kSizes) {
    for (const auto& [kind, name] : kKinds) {
      std::vector<float> gradient = draw(kind, size, kSeed), velocity = draw(kind, size, kSeed + 1);
      const kernels::MemoryBuffer g = put(gradient), v = put(velocity);
      device().momentum(static_cast<float>(momentum), g.floats(), v.floats());
      std::vector<float> parameters(size);
      prepare_gradient(config, kernels::host_memory(),
                       {kernels::ConstMemorySpan(parameters), kernels::MemorySpan(gradient),
                        kernels::MemorySpan(velocity)});
      EXPECT_EQ(bits(get(v)), bits(velocity)) << name << ", " << size;
    }
  }
}

TEST_F(CudaOptimizer, NesterovIsTheCpus) {
  const auto config =
      options_of_text<OptimizerOptions>("{kind: sgd, lr: 0.1, momentum: 0.9, nesterov: true}");
  for (const std::size_t size : kSizes) {
    for (const auto& [kind, name] : kKinds) {
      std::vector<float> gradient = draw(kind, size, kSeed), velocity = draw(kind, size, kSeed + 1);
      const kernels::MemoryBuffer g = put(gradient), v = put(velocity);
      device().nesterov(0.9f, g.floats(), v.floats());
      std::vector<float> parameters(size);
      prepare_gradient(config, kernels::host_memory(),
                       {kernels::ConstMemorySpan(parameters), kernels::MemorySpan(gradient),
                        kernels::MemorySpan(velocity)});
      EXPECT_EQ(bits(get(v)), bits(velocity)) << name << ", " << size;
      EXPECT_EQ(bits(get(g)), bits(gradient)) << name << ", " << size;
    }
  }
}

// The norm's last digits may differ, and with them the scale's.
TEST_F(CudaOptimizer, ClipScalesToTheNormAndLeavesShortAndBrokenVectorsAlone) {
  for (const std::size_t size : kSizes) {
    const std::vector<float> x = draw(Kind::kGaussian, size, kSeed);
    const double norm = std::sqrt(kernels::energy(x));
    const kernels::MemoryBuffer held = put(x);
    device().clip(norm + 1, held.floats());
    EXPECT_EQ(bits(get(held)), bits(x)) << size;
    if (size == 0) continue;
    device().clip(norm / 3, held.floats());
    const std::vector<float> clipped = get(held);
    for (std::size_t j = 0; j < size; ++j)
      ASSERT_NEAR(clipped[j], x[j] / 3, 1e-6 * std::abs(x[j])) << size << ", element " << j;
    std::vector<float> broken = x;
    broken[size / 2] = kNan;
    const kernels::MemoryBuffer nan = put(broken);
    device().clip(norm / 3, nan.floats());
    EXPECT_EQ(bits(get(nan)), bits(broken)) << size;
  }
}

TEST_F(CudaOptimizer, SgdStepsAreTheCpus) {
  const auto config = options_of_text<OptimizerOptions>("{kind: sgd, lr: 0.37}");
  for (const std::size_t size : kSizes) {
    for (const auto& [kind, name] : kKinds) {
      std::vector<float> x = draw(Kind::kGaussian, size, kSeed);
      const std::vector<float> direction = draw(kind, size, kSeed + 1);
      const kernels::MemoryBuffer held = put(x), d = put(direction);
      device().sgd(static_cast<float>(config.lr), d.floats(), held.floats());
      ShardOptimizer::create(config, kernels::host_memory(), size)
          ->step(0, kernels::MemorySpan(x), kernels::ConstMemorySpan(direction));
      EXPECT_EQ(bits(get(held)), bits(x)) << name << ", " << size;
    }
  }
}

// Seen to fail with the root taken of the quotient.
TEST_F(CudaOptimizer, AdamwStepsAreTheCpusForManySteps) {
  const auto config =
      options_of_text<OptimizerOptions>("{kind: adamw, lr: 0.01, weight_decay: 0.1}");
  for (const std::size_t size : kSizes) {
    for (const auto& [kind, name] : kKinds) {
      std::vector<float> x = draw(Kind::kGaussian, size, kSeed);
      const kernels::MemoryBuffer held = put(x), m = put(std::vector<float>(size)),
                                  v = put(std::vector<float>(size));
      auto optimizer = ShardOptimizer::create(config, kernels::host_memory(), size);
      for (std::uint32_t step = 1; step <= 3; ++step) {
        const std::vector<float> direction = draw(kind, size, kSeed + step);
        optimizer->step(step - 1, kernels::MemorySpan(x), kernels::ConstMemorySpan(direction));
        config.kind->step({config.learning_rate(step - 1), step}, device(), put(direction).floats(),
                          std::vector{m.floats(), v.floats()}, held.floats());
      }
      EXPECT_EQ(bits(get(held)), bits(x)) << name << ", " << size;
    }
  }
}

}  // namespace
}  // namespace kimesh::cuda_test::optimizer_test
