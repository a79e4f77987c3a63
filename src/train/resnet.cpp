// kind: resnet. Residual networks of two convolutions a block (He et al. 2015).
#include <torch/nn.h>

#include <algorithm>

#include "image_layers.h"
#include "kimesh/config/keys.h"
#include "kimesh/topology/layout.h"
#include "model_limits.h"
#include "models.h"

namespace kimesh {
namespace {

namespace nn = torch::nn;

// Images up to this side keep their size in the first convolution; larger ones are quartered there,
// as on ImageNet.
constexpr std::int64_t kSmallImage = 64;
// Below it most convolutions would look at a single pixel and its padding.
constexpr std::int64_t kResnetSideMin = 8;

// Names as torchvision's, whose "bn" is any norm: its files can be read.
struct ResidualBlock : nn::Module {
  ResidualBlock(std::int64_t in, std::int64_t out, std::int64_t stride)
      : conv1(register_module("conv1", convolution(in, out, 3, stride))),
        bn1(register_module("bn1", group_norm(out))),
        conv2(register_module("conv2", convolution(out, out, 3))),
        bn2(register_module("bn2", group_norm(out))) {
    if (in == out && stride == 1) return;
    downsample = register_module("downsample",
                                 nn::Sequential(convolution(in, out, 1, stride), group_norm(out)));
  }
  torch::Tensor forward(const torch::Tensor& inputs) {
    const auto shortcut = downsample.is_empty() ? inputs : downsample->forward(inputs);
    const auto half = torch::relu(bn1(conv1(inputs)));
    return torch::relu(bn2(conv2(half)) + shortcut);
  }
  nn::Conv2d conv1;
  nn::GroupNorm bn1;
  nn::Conv2d conv2;
  nn::GroupNorm bn2;
  nn::Sequential downsample{nullptr};
};

// Blocks of each stage: table 1 of He et al. 2015 for 18 and 34, else three stages of n each.
std::vector<int> blocks_of(std::int64_t depth) {
  if (depth == 18) return {2, 2, 2, 2};
  if (depth == 34) return {3, 4, 6, 3};
  const auto n = static_cast<int>((depth - 2) / 6);
  return {n, n, n};
}

struct ResidualNetwork : NeuralNetwork {
  ResidualNetwork(std::int64_t depth, std::int64_t width, const SampleShape& shape)
      : quarters(std::max(shape.height, shape.width) > kSmallImage),
        conv1(register_module(
            "conv1", convolution(shape.channels, width, quarters ? 7 : 3, quarters ? 2 : 1))),
        bn1(register_module("bn1", group_norm(width))) {
    std::int64_t in = width, out = width;
    for (const int blocks : blocks_of(depth)) {
      nn::Sequential stage;
      for (int block = 0; block < blocks; ++block) {
        const bool halves = block == 0 && !stages.empty();
        stage->push_back(std::make_shared<ResidualBlock>(in, out, halves ? 2 : 1));
        in = out;
      }
      stages.push_back(register_module("layer" + std::to_string(stages.size() + 1), stage));
      out *= 2;
    }
    fc = register_module("fc", nn::Linear(in, shape.classes));
  }

  torch::Tensor forward(const torch::Tensor& inputs) override {
    auto x = bn1(conv1(channels_last(inputs)));
    if (quarters) x = torch::max_pool2d(x, 3, 2, 1);  // before the ReLU: see CnnNetwork
    x = torch::relu(x);
    for (auto& stage : stages) x = stage->forward(x);
    return fc(x.mean({2, 3}));
  }

  bool quarters;
  nn::Conv2d conv1;
  nn::GroupNorm bn1;
  std::vector<nn::Sequential> stages;
  nn::Linear fc{nullptr};
};

bool has_blocks(std::int64_t depth) {
  if (depth == 50 || depth == 152) return false;  // 6n + 2, but everybody means the bottlenecks
  return depth == 18 || depth == 34 || (depth - 2) % 6 == 0;
}

class Resnet final : public ModelKind {
 public:
  void describe(Keys& keys) override {
    keys.whole("depth", depth_, limits::kDepths,
               "layers: 18 or 34 (four stages), or 6n + 2 (three stages)");
    keys.whole("width", width_, limits::kStageWidths,
               "channels of the first stage; each next one doubles them");
    keys.check(has_blocks(depth_), "depth",
               "there is no resnet of " + std::to_string(depth_) + " layers here",
               "Write 18, 34, or 6n + 2 other than 50 and 152, such as 20, 32 or 56");
  }
  std::int64_t smallest_side() const override { return kResnetSideMin; }
  std::string remedy_for_small_images(std::int64_t) const override {
    return "Write kind: cnn or mlp";
  }

  std::shared_ptr<NeuralNetwork> make_network(const SampleShape& shape) const override {
    return std::make_shared<ResidualNetwork>(depth_, width_, shape);
  }
  // The second norm of a block begins at 0, so that every block begins as its shortcut (Goyal et
  // al., 2017, 5.1).
  std::optional<InitialDraw> initial_draw(const LayoutLayer& layer) const override {
    if (layer.name.ends_with(".bn2.weight")) return InitialDraw::constant(0);
    return std::nullopt;
  }

 private:
  std::int64_t depth_ = 18, width_ = 64;
};

}  // namespace

extern const Kind<ModelKind> kResnet;
const Kind<ModelKind> kResnet = {"resnet", "a residual network of 3x3 convolutions; for images",
                                 make_options<Resnet, ModelKind>};

}  // namespace kimesh
