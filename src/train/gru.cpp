// kind: gru. From each position, scores of the token that follows (Cho et al., 2014).
#include <torch/nn.h>

#include <utility>

#include "kimesh/config/keys.h"
#include "kimesh/topology/layout.h"
#include "model_limits.h"
#include "models.h"

namespace kimesh {
namespace {

namespace nn = torch::nn;

// Starts every sample with an empty memory.
struct GruNetwork : NeuralNetwork {
  GruNetwork(const nn::GRUOptions& options, const SampleShape& shape)
      : embedding(
            register_module("embedding", nn::Embedding(shape.vocabulary, options.input_size()))),
        gru(register_module("gru", nn::GRU(options))),
        head(register_module("head", nn::Linear(options.hidden_size(), shape.vocabulary))) {}

  torch::Tensor forward(const torch::Tensor& inputs) override {
    return head(std::get<0>(gru(embedding(inputs))));
  }

  nn::Embedding embedding;
  nn::GRU gru;
  nn::Linear head;
};

class Gru final : public ModelKind {
 public:
  void describe(Keys& keys) override {
    keys.whole("layers", layers_, limits::kStacks, "recurrent layers, one on another");
    keys.whole("hidden", hidden_, limits::kWidths, "width of each recurrent layer");
    keys.whole("embedding", embedding_, limits::kWidths, "numbers that a token becomes");
  }
  bool reads_tokens() const override { return true; }

  std::shared_ptr<NeuralNetwork> make_network(const SampleShape& shape) const override {
    return std::make_shared<GruNetwork>(
        nn::GRUOptions(embedding_, hidden_).num_layers(layers_).batch_first(true), shape);
  }
  // As torch draws them: weights and biases of the recurrence alike, by its width.
  std::optional<InitialDraw> initial_draw(const LayoutLayer& layer) const override {
    if (layer.name.starts_with("gru.")) return InitialDraw::uniform(static_cast<double>(hidden_));
    if (layer.name == "embedding.weight") return InitialDraw::normal(1);
    return std::nullopt;
  }

 private:
  std::int64_t layers_ = 2, hidden_ = 256, embedding_ = 128;
};

}  // namespace

extern const Kind<ModelKind> kGru;
const Kind<ModelKind> kGru = {"gru", "a recurrent network with gated units; for text",
                              make_options<Gru, ModelKind>};

}  // namespace kimesh
