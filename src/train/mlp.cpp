// kind: mlp. Dense layers with ReLU between them.
#include <torch/nn.h>

#include "chain_network.h"
#include "kimesh/config/keys.h"
#include "model_limits.h"

namespace kimesh {
namespace {

class Mlp final : public ModelKind {
 public:
  void describe(Keys& keys) override {
    keys.wholes("hidden", hidden_, limits::kWidths, limits::kHiddenMax,
                "widths of the hidden layers");
  }

  std::shared_ptr<NeuralNetwork> make_network(const SampleShape& shape) const override {
    auto network = std::make_shared<ChainNetwork>();
    auto width = static_cast<std::int64_t>(shape.inputs());
    network->layers->push_back(torch::nn::Flatten());
    for (const std::int64_t hidden : hidden_) {
      network->layers->push_back(torch::nn::Linear(width, hidden));
      network->layers->push_back(torch::nn::ReLU());
      width = hidden;
    }
    network->layers->push_back(torch::nn::Linear(width, shape.classes));
    return network;
  }

 private:
  std::vector<std::int64_t> hidden_{256, 128};
};

}  // namespace

extern const Kind<ModelKind> kMlp;
const Kind<ModelKind> kMlp = {"mlp", "dense layers; for images and rows of numbers",
                              make_options<Mlp, ModelKind>};

}  // namespace kimesh
