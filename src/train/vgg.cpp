// kind: vgg. Plain stacks of 3x3 convolutions (Simonyan and Zisserman 2014).
#include <torch/nn.h>

#include <algorithm>
#include <array>

#include "image_layers.h"
#include "kimesh/config/keys.h"
#include "model_limits.h"
#include "models.h"

namespace kimesh {
namespace {

namespace nn = torch::nn;

// Below it most convolutions would look at a single pixel and its padding.
constexpr std::int64_t kVggSideMin = 16;
constexpr std::array<std::int64_t, 4> kVggDepths = {11, 13, 16, 19};

// Convolutions of each of the five stages: columns A, B, D and E of Simonyan and Zisserman 2014.
std::vector<int> convolutions_of(std::int64_t depth) {
  if (depth == 11) return {1, 1, 2, 2, 2};
  if (depth == 13) return {2, 2, 2, 2, 2};
  if (depth == 16) return {2, 2, 3, 3, 3};
  return {2, 2, 4, 4, 4};
}

// With one dense layer on the mean over the image, as is usual for small images: the paper's three
// hold nine tenths of its parameters.
struct VggNetwork : NeuralNetwork {
  VggNetwork(std::int64_t depth, std::int64_t width, const SampleShape& shape) {
    std::int64_t in = shape.channels, out = width;
    std::int64_t side = std::min(shape.height, shape.width);
    for (const int convolutions : convolutions_of(depth)) {
      for (int i = 0; i < convolutions; ++i) {
        features->push_back(convolution(in, out, 3, 1, /*bias=*/true));
        features->push_back(group_norm(out));
        const bool halves = i + 1 == convolutions && side > 1;
        if (halves) features->push_back(nn::MaxPool2d(2));  // before the ReLU: see CnnNetwork
        features->push_back(nn::ReLU());
        in = out;
      }
      side /= 2;
      out = std::min(2 * out, 8 * width);
    }
    register_module("features", features);
    classifier = register_module("classifier", nn::Linear(in, shape.classes));
  }
  torch::Tensor forward(const torch::Tensor& inputs) override {
    return classifier(features->forward(channels_last(inputs)).mean({2, 3}));
  }
  nn::Sequential features;
  nn::Linear classifier{nullptr};
};

class Vgg final : public ModelKind {
 public:
  void describe(Keys& keys) override {
    keys.whole("depth", depth_, limits::kDepths, "layers: 11, 13, 16 or 19");
    keys.whole("width", width_, limits::kStageWidths,
               "channels of the first stage; each next one doubles them");
    keys.check(std::ranges::find(kVggDepths, depth_) != kVggDepths.end(), "depth",
               "there is no vgg of " + std::to_string(depth_) + " layers here",
               "Write one of: 11, 13, 16, 19");
  }
  std::int64_t smallest_side() const override { return kVggSideMin; }
  std::string remedy_for_small_images(std::int64_t) const override {
    return "Write kind: resnet or cnn";
  }

  std::shared_ptr<NeuralNetwork> make_network(const SampleShape& shape) const override {
    return std::make_shared<VggNetwork>(depth_, width_, shape);
  }

 private:
  std::int64_t depth_ = 11, width_ = 64;
};

}  // namespace

extern const Kind<ModelKind> kVgg;
const Kind<ModelKind> kVgg = {"vgg", "a plain stack of 3x3 convolutions; for images",
                              make_options<Vgg, ModelKind>};

}  // namespace kimesh
