// kind: transformer. From each position, scores of the token that follows.
#include <torch/nn.h>

#include <cmath>

#include "kimesh/config/keys.h"
#include "kimesh/topology/layout.h"
#include "model_limits.h"
#include "models.h"

namespace kimesh {
namespace {

namespace nn = torch::nn;

struct CausalAttention : nn::Module {
  CausalAttention(std::int64_t embedding, std::int64_t heads_)
      : heads(heads_),
        in_proj(register_module("in_proj", nn::Linear(embedding, 3 * embedding))),
        out_proj(register_module("out_proj", nn::Linear(embedding, embedding))) {}

  torch::Tensor forward(const torch::Tensor& x) {
    const auto count = x.size(0), length = x.size(1), width = x.size(2);
    // 3 of [count][heads][length][width / heads]
    const auto parts =
        in_proj(x).view({count, length, 3, heads, width / heads}).permute({2, 0, 3, 1, 4}).unbind();
    const auto mixed = at::scaled_dot_product_attention(parts[0], parts[1], parts[2], std::nullopt,
                                                        /*dropout_p=*/0, /*is_causal=*/true);
    return out_proj(mixed.transpose(1, 2).reshape({count, length, width}));
  }

  std::int64_t heads;
  nn::Linear in_proj, out_proj;
};

nn::LayerNorm layer_norm(std::int64_t width) {
  return nn::LayerNorm(nn::LayerNormOptions({width}));
}

// Norms come before what they feed (pre-LayerNorm): deep stacks train without a warm-up then.
struct TransformerBlock : nn::Module {
  TransformerBlock(std::int64_t embedding, std::int64_t heads)
      : norm1(register_module("norm1", layer_norm(embedding))),
        attention(
            register_module("attention", std::make_shared<CausalAttention>(embedding, heads))),
        norm2(register_module("norm2", layer_norm(embedding))),
        linear1(register_module("linear1", nn::Linear(embedding, 4 * embedding))),
        linear2(register_module("linear2", nn::Linear(4 * embedding, embedding))) {}

  torch::Tensor forward(const torch::Tensor& x) {
    const auto mixed = x + attention->forward(norm1(x));
    return mixed + linear2(torch::gelu(linear1(norm2(mixed))));
  }

  nn::LayerNorm norm1;
  std::shared_ptr<CausalAttention> attention;
  nn::LayerNorm norm2;
  nn::Linear linear1, linear2;
};

struct TransformerKeys {
  std::int64_t layers = 2, heads = 4, embedding = 128;
  bool tied = false;
};

// Decoder only, as GPT-2 (Radford et al., 2019), with learnt positions.
struct TransformerNetwork : NeuralNetwork {
  TransformerNetwork(const TransformerKeys& keys, const SampleShape& shape)
      : tokens(register_module("tokens", nn::Embedding(shape.vocabulary, keys.embedding))),
        positions(register_module("positions", nn::Embedding(shape.length, keys.embedding))) {
    for (std::int64_t i = 0; i < keys.layers; ++i)
      blocks->push_back(std::make_shared<TransformerBlock>(keys.embedding, keys.heads));
    register_module("blocks", blocks);
    norm = register_module("norm", layer_norm(keys.embedding));
    if (!keys.tied)
      head = register_module(
          "head", nn::Linear(nn::LinearOptions(keys.embedding, shape.vocabulary).bias(false)));
  }

  torch::Tensor forward(const torch::Tensor& inputs) override {
    const auto x = tokens(inputs) + positions->weight.slice(0, 0, inputs.size(1));
    const auto out = norm(blocks->forward(x));
    return torch::linear(out, head.is_empty() ? tokens->weight : head->weight);
  }

  nn::Embedding tokens, positions;
  nn::Sequential blocks;
  nn::LayerNorm norm{nullptr};
  nn::Linear head{nullptr};
};

// What a block adds to its shortcut.
bool is_residual_projection(const std::string& name) {
  return name.starts_with("blocks.") &&
         (name.ends_with(".out_proj.weight") || name.ends_with(".linear2.weight"));
}

class Transformer final : public ModelKind {
 public:
  void describe(Keys& keys) override {
    keys.whole("layers", keys_.layers, limits::kStacks, "blocks of attention and two dense layers");
    keys.whole("heads", keys_.heads, limits::kHeads, "of attention; they share the embedding");
    keys.whole("embedding", keys_.embedding, limits::kWidths, "numbers that a token becomes");
    keys.flag("tied", keys_.tied, "the last layer uses the embedding's own weights");
    keys.check(keys_.embedding % keys_.heads == 0, "embedding",
               std::to_string(keys_.heads) + " heads cannot share an embedding of " +
                   std::to_string(keys_.embedding) + " numbers equally",
               "Write a number of heads that divides the embedding");
  }
  bool reads_tokens() const override { return true; }

  std::shared_ptr<NeuralNetwork> make_network(const SampleShape& shape) const override {
    return std::make_shared<TransformerNetwork>(keys_, shape);
  }
  // As GPT-2 (Radford et al., 2019, 2.3): what the blocks add is smaller the more blocks there are.
  std::optional<InitialDraw> initial_draw(const LayoutLayer& layer) const override {
    if (layer.name == "tokens.weight" || layer.name == "positions.weight")
      return InitialDraw::normal(0.02);
    if (!is_residual_projection(layer.name)) return std::nullopt;
    InitialDraw draw = InitialDraw::uniform(static_cast<double>(layer.row_size()));
    draw.scale /= std::sqrt(static_cast<double>(2 * keys_.layers));
    return draw;
  }

 private:
  TransformerKeys keys_;
};

}  // namespace

extern const Kind<ModelKind> kTransformer;
const Kind<ModelKind> kTransformer = {"transformer", "a decoder of attention, as GPT-2; for text",
                                      make_options<Transformer, ModelKind>};

}  // namespace kimesh
