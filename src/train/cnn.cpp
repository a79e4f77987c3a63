// kind: cnn. Blocks of 3x3 convolution, GroupNorm, 2x2 pool and ReLU, then two dense layers.
#include <torch/nn.h>

#include <bit>

#include "chain_network.h"
#include "image_layers.h"
#include "kimesh/config/keys.h"
#include "kimesh/util/check.h"
#include "model_limits.h"

namespace kimesh {
namespace {

namespace nn = torch::nn;

// Each pool comes before its ReLU: both orders have the same values and gradients, and this one
// leaves the ReLU a quarter of the work.
struct CnnNetwork : ChainNetwork {
  torch::Tensor forward(const torch::Tensor& images) override {
    return ChainNetwork::forward(channels_last(images));
  }
};

class Cnn final : public ModelKind {
 public:
  void describe(Keys& keys) override {
    keys.wholes("channels", channels_, limits::kChannels, limits::kBlocksMax,
                "channels of each block, which halves the image");
    keys.check(!channels_.empty(), "channels", "model.channels is empty",
               "Write at least one number");
    keys.whole("dense", dense_, limits::kWidths, "width of the dense layer before the last");
  }
  std::int64_t smallest_side() const override { return std::int64_t{1} << channels_.size(); }
  std::string remedy_for_small_images(std::int64_t side) const override {
    const auto halvings = std::bit_width(static_cast<std::uint64_t>(side)) - 1;
    return "Write at most " + std::to_string(halvings) +
           " channels, each of which halves the images";
  }

  std::shared_ptr<NeuralNetwork> make_network(const SampleShape& shape) const override {
    auto network = std::make_shared<CnnNetwork>();
    std::int64_t channels = shape.channels, height = shape.height, width = shape.width;
    for (const std::int64_t out : channels_) {
      network->layers->push_back(convolution(channels, out, 3, 1, /*bias=*/true));
      network->layers->push_back(group_norm(out));
      network->layers->push_back(nn::MaxPool2d(2));
      network->layers->push_back(nn::ReLU());
      channels = out;
      height /= 2;
      width /= 2;
    }
    KIMESH_CHECK(height > 0 && width > 0, "images of the smallest side");
    network->layers->push_back(nn::Flatten());
    network->layers->push_back(nn::Linear(channels * height * width, dense_));
    network->layers->push_back(nn::ReLU());
    network->layers->push_back(nn::Linear(dense_, shape.classes));
    return network;
  }

 private:
  std::vector<std::int64_t> channels_{32, 64};
  std::int64_t dense_ = 128;
};

}  // namespace

extern const Kind<ModelKind> kCnn;
const Kind<ModelKind> kCnn = {"cnn", "a few convolutions and two dense layers; for images",
                              make_options<Cnn, ModelKind>};

}  // namespace kimesh
