// Where a run starts, what of it stays, and how its gradient is computed.
#include "kimesh/train/weights.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/train/fixture.h"

namespace kimesh::weights_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Weights : public ::testing::Test {
 protected:
  void SetUp() override { set_up_training(1); }
};

std::vector<float> copy_of(std::span<const float> values) {
  return {values.begin(), values.end()};
}

// Elements first to last - 1 of `tensors` are those of layer `name`.
std::span<const float> values_of(const NamedValues& tensors, const std::string& name) {
  const auto layer = std::ranges::find(tensors.layout.layers, name, &LayoutLayer::name);
  EXPECT_NE(layer, tensors.layout.layers.end()) << name;
  return std::span(tensors.values).subspan(layer->offset, layer->size);
}

// What node 0 starts from.
NamedValues first_point(const RunConfig& config, const TrainingData& data) {
  const BoundTrainer trainer(config, data, 0);
  return {trainer.objective->layout(), copy_of(trainer.parameters.span())};
}

std::vector<float> gradient_of(const RunConfig& config, Round round = 3) {
  const TrainingData data = make_data(config, 1);
  BoundTrainer trainer(config, data, 0);
  trainer.loss(round);
  return copy_of(trainer.gradient.span());
}

// Seen to fail: the parts' losses not divided by their number.
TEST_F(Weights, AGradientInPartsIsThatOfTheWholeBatch) {
  for (RunConfig config : {mlp_config(), cnn_config()}) {
    const auto whole = gradient_of(config);
    for (const int parts : {2, 4, 32}) {
      config.data.accumulate = parts;
      EXPECT_LE(relative_distance(gradient_of(config), whole), 1e-6) << parts << " parts";
    }
  }
}

// bfloat16 keeps 8 bits; a pixel that becomes the largest of its pool takes a whole slope with it
// (measured: 0.008 without pools, 0.076 with them). Seen to fail: float32 in its place.
TEST_F(Weights, AGradientInBfloat16IsNearThatInFloat32) {
  for (RunConfig config : {mlp_config(), cnn_config()}) {
    const auto exact = gradient_of(config);
    config.model.compute = ComputeKind::kBfloat16;
    const auto rounded = gradient_of(config);
    EXPECT_LE(relative_distance(rounded, exact), 0.1);
    EXPECT_GE(relative_distance(rounded, exact), 1e-4);
    EXPECT_EQ(rounded, gradient_of(config)) << "the same bits every time";
  }
}

// Seen to fail: frozen layers left in the layout.
TEST_F(Weights, FrozenLayersAreInNoVectorAndAllElseIsAsEver) {
  RunConfig config = cnn_config();
  const TrainingData data = make_data(config, 1);
  const NamedValues whole = first_point(config, data);
  BoundTrainer free(config, data, 0);
  config.model.frozen = {"layers.0", "layers.5.weight"};
  BoundTrainer trainer(config, data, 0);
  EXPECT_EQ(trainer.objective->layout().size(), whole.layout.size() - (8 * 9 + 8) - 12);
  EXPECT_EQ(trainer.objective->layout().layers[0].name, "layers.1.weight");
  EXPECT_DOUBLE_EQ(trainer.loss(2), free.loss(2));
  const NamedValues gradient{trainer.objective->layout(), copy_of(trainer.gradient.span())};
  const NamedValues full{whole.layout, copy_of(free.gradient.span())};
  for (const LayoutLayer& layer : gradient.layout.layers)
    EXPECT_LE(relative_distance(values_of(gradient, layer.name), values_of(full, layer.name)), 1e-5)
        << layer.name;
  const NamedValues frozen = frozen_tensors(config, data);
  EXPECT_EQ(frozen.layout.layers.size(), 3u);
  for (const LayoutLayer& layer : frozen.layout.layers)
    EXPECT_THAT(values_of(frozen, layer.name),
                testing::ElementsAreArray(values_of(whole, layer.name)));
}

// Seen to fail: fresh layers taken from the file; frozen ones drawn.
TEST_F(Weights, ARunStartsFromThemExceptWhereItStartsAnew) {
  RunConfig config = cnn_config();
  TrainingData data = make_data(config, 1);
  const NamedValues drawn = first_point(config, data);
  NamedValues tensors = drawn;
  for (float& value : tensors.values) value += 1;
  tensors.layout.layers.push_back({"ema.decay", {1}, tensors.values.size(), 1});
  tensors.values.push_back(7);
  config.model.frozen = {"layers.0"};
  config.model.fresh = {"layers.11"};
  const auto unused = start_from(config, tensors, data);
  ASSERT_TRUE(unused.ok()) << unused.error().message;
  EXPECT_THAT(*unused, ElementsAre("ema.decay"));
  const NamedValues start = first_point(config, data);
  EXPECT_FLOAT_EQ(values_of(start, "layers.5.weight")[3], 2);
  for (const char* name : {"layers.11.weight", "layers.11.bias"})
    EXPECT_THAT(values_of(start, name), testing::ElementsAreArray(values_of(drawn, name)));
  const NamedValues frozen = frozen_tensors(config, data);
  EXPECT_FLOAT_EQ(values_of(frozen, "layers.0.bias")[1], values_of(drawn, "layers.0.bias")[1] + 1);
}

TEST_F(Weights, OfAnotherModelAreRefusedWithTheLayersName) {
  RunConfig config = mlp_config("[8]");
  TrainingData data = make_data(config, 1);
  NamedValues tensors = first_point(config, data);
  tensors.layout.layers[2].shape = {8, 10};
  const auto reshaped = start_from(config, tensors, data);
  ASSERT_FALSE(reshaped.ok());
  EXPECT_EQ(reshaped.error().code, ErrorCode::kUserInput);
  EXPECT_THAT(reshaped.error().message,
              HasSubstr("have shape [8, 10] in place of layer 'layers.3.weight' of shape [10, 8]"));
  tensors.layout.layers[2].name = "head.weight";
  const auto renamed = start_from(config, tensors, data);
  ASSERT_FALSE(renamed.ok());
  EXPECT_THAT(renamed.error().message, HasSubstr("have no layer 'layers.3.weight'"));
  EXPECT_EQ(data.start, nullptr);
  config.model.fresh = {"layers.3"};
  EXPECT_TRUE(start_from(config, tensors, data).ok());
}

}  // namespace
}  // namespace kimesh::weights_test
