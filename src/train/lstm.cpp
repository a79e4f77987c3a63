// kind: lstm. From each position, scores of the token that follows.
#include <torch/nn.h>

#include <utility>

#include "kimesh/config/keys.h"
#include "kimesh/topology/layout.h"
#include "model_limits.h"
#include "models.h"

namespace kimesh {
namespace {

namespace nn = torch::nn;

// Torch hands a recurrence in bfloat16 to oneDNN whatever the processor is, and oneDNN has one for
// AVX-512 only. Elsewhere it stays in float32.
bool recurs_in_bfloat16() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
#else
  return false;
#endif
}

// Starts every sample with an empty memory.
struct LstmNetwork : NeuralNetwork {
  LstmNetwork(const nn::LSTMOptions& options, const SampleShape& shape)
      : embedding(
            register_module("embedding", nn::Embedding(shape.vocabulary, options.input_size()))),
        lstm(register_module("lstm", nn::LSTM(options))),
        head(register_module("head", nn::Linear(options.hidden_size(), shape.vocabulary))) {}

  torch::Tensor forward(const torch::Tensor& inputs) override {
    return head(recur(embedding(inputs)));
  }

  torch::Tensor recur(const torch::Tensor& embedded) {
    if (recurs_in_bfloat16()) return std::get<0>(lstm(embedded));
    const c10::impl::ExcludeDispatchKeyGuard as_it_is(c10::DispatchKey::AutocastCPU);
    return std::get<0>(lstm(embedded));
  }

  nn::Embedding embedding;
  nn::LSTM lstm;
  nn::Linear head;
};

class Lstm final : public ModelKind {
 public:
  void describe(Keys& keys) override {
    keys.whole("layers", layers_, limits::kStacks, "recurrent layers, one on another");
    keys.whole("hidden", hidden_, limits::kWidths, "width of each recurrent layer");
    keys.whole("embedding", embedding_, limits::kWidths, "numbers that a token becomes");
  }
  bool reads_tokens() const override { return true; }

  std::shared_ptr<NeuralNetwork> make_network(const SampleShape& shape) const override {
    return std::make_shared<LstmNetwork>(
        nn::LSTMOptions(embedding_, hidden_).num_layers(layers_).batch_first(true), shape);
  }
  // As torch draws them: weights and biases of the recurrence alike, by its width.
  std::optional<InitialDraw> initial_draw(const LayoutLayer& layer) const override {
    if (layer.name.starts_with("lstm.")) return InitialDraw::uniform(static_cast<double>(hidden_));
    if (layer.name == "embedding.weight") return InitialDraw::normal(1);
    return std::nullopt;
  }

 private:
  std::int64_t layers_ = 2, hidden_ = 256, embedding_ = 128;
};

}  // namespace

extern const Kind<ModelKind> kLstm;
const Kind<ModelKind> kLstm = {"lstm", "a recurrent network with long short-term memory; for text",
                               make_options<Lstm, ModelKind>};

}  // namespace kimesh
