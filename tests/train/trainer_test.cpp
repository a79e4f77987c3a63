#include "kimesh/train/trainer.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <limits>
#include <thread>

#include "kimesh/util/digest.h"
#include "kimesh/util/random.h"
#include "tests/sanitized.h"
#include "tests/train/fixture.h"

namespace kimesh::trainer_test {
namespace {

using ::testing::HasSubstr;

class Trainer : public ::testing::Test {
 protected:
  void SetUp() override { set_up_training(1); }
};

std::vector<std::string> names(const Layout& layout) {
  std::vector<std::string> result;
  for (const auto& layer : layout.layers) result.push_back(layer.name);
  return result;
}

TEST_F(Trainer, LayoutOfTheMlpHasTorchsNamesAndOrder) {
  const RunConfig config = mlp_config("[256, 128]");
  const Layout layout = model_layout(config, make_data(config, 2));
  EXPECT_THAT(names(layout),
              ::testing::ElementsAre("layers.1.weight", "layers.1.bias", "layers.3.weight",
                                     "layers.3.bias", "layers.5.weight", "layers.5.bias"));
  EXPECT_THAT(layout.layers[2].shape, ::testing::ElementsAre(128, 256));
  EXPECT_EQ(layout.layers[2].offset, 64u * 256 + 256);
  EXPECT_EQ(layout.size(), 64u * 256 + 256 + 256 * 128 + 128 + 128 * 10 + 10);
}

TEST_F(Trainer, LayoutOfTheCnnHasTorchsNamesAndOrder) {
  const RunConfig config = cnn_config();
  const Layout layout = model_layout(config, make_data(config, 2));
  EXPECT_THAT(names(layout),
              ::testing::ElementsAre("layers.0.weight", "layers.0.bias", "layers.1.weight",
                                     "layers.1.bias", "layers.4.weight", "layers.4.bias",
                                     "layers.5.weight", "layers.5.bias", "layers.9.weight",
                                     "layers.9.bias", "layers.11.weight", "layers.11.bias"));
  EXPECT_THAT(layout.layers[4].shape, ::testing::ElementsAre(12, 8, 3, 3));
}

// A changed first point makes every recorded run unrepeatable.
// Seen to fail: drawing bias and weight from one stream.
TEST_F(Trainer, FirstPointOfTheMlpIsTheGoldenOne) {
  const RunConfig config = mlp_config("[256, 128]");
  const TrainingData data = make_data(config, 2);
  BoundTrainer a(config, data, 0), b(config, data, 1);
  EXPECT_EQ(digest_name(digest_bytes(std::as_bytes(a.parameters.span()))), "7a8cdcbb88fa780b");
  EXPECT_EQ(digest_floats(a.parameters.span()), digest_floats(b.parameters.span()));
}

// Seen to fail: fan_in taken from the first dimension; norms drawn as linear layers are.
TEST_F(Trainer, FirstPointOfTheCnnHasTorchsDistributions) {
  const RunConfig config = cnn_config();
  const TrainingData data = make_data(config, 1);
  BoundTrainer trainer(config, data, 0);
  const Layout& layout = trainer.objective->layout();
  const auto largest = [&](std::size_t layer) {
    float value = 0;
    for (std::size_t i = 0; i < layout.layers[layer].size; ++i)
      value = std::max(value, std::abs(trainer.parameters.span()[layout.layers[layer].offset + i]));
    return value;
  };
  const float bound = 1 / std::sqrt(8.0f * 3 * 3);  // second convolution
  EXPECT_LE(largest(4), bound);
  EXPECT_GT(largest(4), 0.99f * bound);
  EXPECT_LE(largest(5), bound);
  EXPECT_GT(largest(5), 0.5f * bound);
  for (std::size_t i = 0; i < layout.layers[6].size; ++i) {
    EXPECT_EQ(trainer.parameters.span()[layout.layers[6].offset + i], 1.0f);
    EXPECT_EQ(trainer.parameters.span()[layout.layers[7].offset + i], 0.0f);
  }
}

// Slope of the loss along `direction` of one layer, by central differences.
double slope_along(BoundTrainer& trainer, const LayoutLayer& layer,
                   std::span<const double> direction) {
  constexpr double kStep = 1e-2;
  const auto values = trainer.parameters.span().subspan(layer.offset, layer.size);
  const std::vector<float> start(values.begin(), values.end());
  const auto loss_at = [&](double step) {
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(start[i] + step * direction[i]);
    return trainer.loss(0);
  };
  const double slope = (loss_at(kStep) - loss_at(-kStep)) / (2 * kStep);
  std::ranges::copy(start, values.begin());
  return slope;
}

// A cnn is left to the reference's test: where background pixels tie in a pool it has no
// derivative. Seen to fail: a loss that sums over the batch while the gradient is of the mean.
TEST_F(Trainer, GradientAgreesWithFiniteDifferencesOfTheLoss) {
  constexpr std::uint64_t kSeed = 11;
  const RunConfig config = mlp_config("[8]");
  const TrainingData data = make_data(config, 1);
  BoundTrainer trainer(config, data, 0);
  EXPECT_NEAR(trainer.loss(0), std::log(10.0), 0.3);
  const std::vector<float> gradient(trainer.gradient.span().begin(), trainer.gradient.span().end());
  Random random(kSeed, 0, 0, Purpose::kTest);
  for (const auto& layer : trainer.objective->layout().layers) {
    std::vector<double> direction(layer.size);
    double squares = 0, slope = 0;
    for (double& d : direction) {
      d = random.normal();
      squares += d * d;
    }
    for (std::size_t i = 0; i < layer.size; ++i) {
      direction[i] /= std::sqrt(squares);
      slope += direction[i] * gradient[layer.offset + i];
    }
    EXPECT_NEAR(slope, slope_along(trainer, layer, direction), 0.02 * std::abs(slope) + 2e-4)
        << layer.name << ", seed " << kSeed;
  }
}

// Seen to fail: without zeroing the gradient vector before the backward pass.
TEST_F(Trainer, GradientOverwritesWhatTheVectorHeld) {
  const RunConfig config = mlp_config();
  const TrainingData data = make_data(config, 1);
  BoundTrainer trainer(config, data, 0);
  trainer.loss(0);
  const auto digest = digest_floats(trainer.gradient.span());
  std::ranges::fill(trainer.gradient.span(), std::numeric_limits<float>::quiet_NaN());
  trainer.loss(0);
  EXPECT_EQ(digest_floats(trainer.gradient.span()), digest);
}

TEST_F(Trainer, OnlyReadsTheParameters) {
  const RunConfig config = mlp_config();
  const TrainingData data = make_data(config, 1);
  BoundTrainer trainer(config, data, 0);
  const auto digest = digest_floats(trainer.parameters.span());
  trainer.loss(0);
  (void)trainer.objective->evaluate();
  EXPECT_EQ(digest_floats(trainer.parameters.span()), digest);
}

// Objectives of one node on two threads and with two copies of the data, as live and simulated runs
// have. Seen to fail: a batch drawn from a counter of the object's calls.
TEST_F(Trainer, TwoObjectivesOfOneConfigComputeTheSameBits) {
  for (const RunConfig& config : {mlp_config(), cnn_config()}) {
    const TrainingData data = make_data(config, 3), again = make_data(config, 3);
    BoundTrainer first(config, data, 1);
    first.loss(7);
    first.loss(3);
    std::thread([&] {
      BoundTrainer second(config, again, 1);
      second.loss(3);
      EXPECT_EQ(digest_floats(first.gradient.span()), digest_floats(second.gradient.span()));
    }).join();
    BoundTrainer other(config, data, 2);
    other.loss(3);
    EXPECT_NE(digest_floats(first.gradient.span()), digest_floats(other.gradient.span()));
  }
}

// Seen to fail: without the search through the parameters, which then blames the first layer.
TEST_F(Trainer, NamesTheLayerWhoseParametersAreNotFinite) {
  const RunConfig config = mlp_config();
  const TrainingData data = make_data(config, 1);
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    BoundTrainer trainer(config, data, 0);
    trainer.parameters.span()[trainer.objective->layout().layers[2].offset + 5] = bad;
    const auto numbers = trainer.objective->gradient(4);
    ASSERT_FALSE(numbers.ok());
    EXPECT_EQ(numbers.error().code, ErrorCode::kNotFinite);
    EXPECT_THAT(numbers.error().message, HasSubstr("layers.3.weight"));
  }
}

// Finite parameters, yet the scores overflow.
TEST_F(Trainer, NamesALayerWhenTheGradientOverflows) {
  const RunConfig config = mlp_config();
  const TrainingData data = make_data(config, 1);
  BoundTrainer trainer(config, data, 0);
  for (float& value : trainer.parameters.span()) value *= 1e30f;
  const auto numbers = trainer.objective->gradient(0);
  ASSERT_FALSE(numbers.ok());
  EXPECT_EQ(numbers.error().code, ErrorCode::kNotFinite);
  EXPECT_THAT(numbers.error().message, HasSubstr("gradient of layer 'layers."));
}

// Seen to fail: every node scoring the whole test set.
TEST_F(Trainer, EvaluationsOfAllNodesAddUpToTheWholeTestSet) {
  const RunConfig config = mlp_config();
  const TrainingData whole = make_data(config, 1), shared = make_data(config, 5);
  const auto all = BoundTrainer(config, whole, 0).objective->evaluate().value();
  EvaluationNumbers sum;
  for (NodeIndex node = 0; node < 5; ++node) {
    BoundTrainer trainer(config, shared, node);
    const auto part = trainer.objective->evaluate().value();
    sum.samples += part.samples;
    sum.correct += part.correct;
    sum.loss_sum += part.loss_sum;
  }
  EXPECT_EQ(all.samples, whole.source->test().samples());
  EXPECT_EQ(sum.samples, all.samples);
  EXPECT_EQ(sum.correct, all.correct);
  EXPECT_NEAR(sum.loss_sum, all.loss_sum, 1e-4 * all.loss_sum);
}

TEST_F(Trainer, EnvironmentNamesWhatEqualBitsDependOn) {
  EXPECT_THAT(training_environment(), ::testing::MatchesRegex("LibTorch 2\\..*, 1 thread, .+"));
  set_up_training(2);
  EXPECT_THAT(training_environment(), HasSubstr(", 2 threads, "));
}

#ifdef __GLIBC__
// A trainer has a thread of its own, whose freed memory glibc gives back to the system by default.
// Under a sanitizer memory is the sanitizer's.
// Seen to fail: keep_freed_memory left out.
TEST_F(Trainer, StepsUseTheMemoryOfThoseBefore) {
  if (test::kSanitized) GTEST_SKIP() << "the sanitizer has an allocator of its own";
  constexpr long kFewPages = 100;  // 400 kB; 16 MB is the largest gradient
  constexpr int kWarmUp = 20, kSteps = 10;
  RunConfig config = mlp_config("[2048, 2048, 2048, 2048, 2048]");
  const TrainingData data = make_data(config, 1);
  std::vector<long> faults;  // by step
  std::thread([&] {
    BoundTrainer trainer(config, data, 0);
    const auto faults_of_thread = [] {
      rusage usage{};
      getrusage(RUSAGE_THREAD, &usage);
      return usage.ru_minflt;
    };
    int batch = 0;
    for (; batch < kWarmUp; ++batch) ASSERT_TRUE(trainer.objective->gradient(batch).ok());
    for (; batch < kWarmUp + kSteps; ++batch) {
      const long before = faults_of_thread();
      ASSERT_TRUE(trainer.objective->gradient(batch).ok());
      faults.push_back(faults_of_thread() - before);
    }
  }).join();
  // A single step may find that its memory is in pieces, and take more.
  std::ranges::sort(faults);
  ASSERT_EQ(faults.size(), kSteps);
  EXPECT_LT(faults[kSteps / 2], kFewPages) << "pages a step";
}
#endif

// Seen to fail: shares that ignore the sizes of the parts.
TEST(TrainingData, WeightsAreTheDeclaredOnesElseTheSharesOfTheData) {
  RunConfig config = mlp_config();
  EXPECT_THAT(make_data(config, 2, {3, 1}).weights, ::testing::ElementsAre(0.75, 0.25));
  config.data.split = split_kinds().make("dirichlet");
  const TrainingData data = make_data(config, 3);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_DOUBLE_EQ(data.weights[i], static_cast<double>(data.parts[i].size()) /
                                          static_cast<double>(data.source->train().samples()));
}

// Seen to fail: check_model left out, which crashes in the model instead.
TEST(TrainingData, RefusesACnnThatPoolsItsImagesToNothing) {
  RunConfig config;
  config.model = model_options("kind: cnn, channels: [8, 8, 8]");
  EXPECT_TRUE(prepare_training_data(config, 1, {}).ok());
  config.model = model_options("kind: cnn, channels: [8, 8, 8, 8]");
  const auto data = prepare_training_data(config, 1, {});
  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.error().code, ErrorCode::kUserInput);
  EXPECT_THAT(data.error().message, HasSubstr("Write at most 3 channels"));
}

TEST(TrainingData, RefusesMoreNodesThanSamples) {
  const std::size_t samples = make_data(mlp_config(), 1).source->train().samples();
  EXPECT_TRUE(prepare_training_data(mlp_config(), samples, {}).ok());
  const auto data = prepare_training_data(mlp_config(), samples + 1, {});
  ASSERT_FALSE(data.ok());
  EXPECT_EQ(data.error().code, ErrorCode::kUserInput);
  EXPECT_THAT(data.error().message, HasSubstr("use fewer nodes"));
}

}  // namespace
}  // namespace kimesh::trainer_test
