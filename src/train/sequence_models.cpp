// Models of tokens: from each position, scores of the token that follows.
#include <torch/nn.h>

#include <utility>

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
  LstmNetwork(const ModelConfig& config, const SampleShape& shape)
      : embedding(register_module("embedding", nn::Embedding(shape.vocabulary, config.embedding))),
        lstm(register_module("lstm", nn::LSTM(nn::LSTMOptions(config.embedding, config.hidden_size)
                                                  .num_layers(config.layers)
                                                  .batch_first(true)))),
        head(register_module("head", nn::Linear(config.hidden_size, shape.vocabulary))) {}

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

struct CausalAttention : nn::Module {
  CausalAttention(std::int64_t embedding, std::int64_t heads_)
      : heads(heads_),
        in_proj(register_module("in_proj", nn::Linear(embedding, 3 * embedding))),
        out_proj(register_module("out_proj", nn::Linear(embedding, embedding))) {}

  torch::Tensor forward(const torch::Tensor& x) {
    const auto count = x.size(0), length = x.size(1), width = x.size(2);
    // [3][count][heads][length][width / heads]
    const auto parts =
        in_proj(x).view({count, length, 3, heads, width / heads}).permute({2, 0, 3, 1, 4});
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

// Decoder only, as GPT-2 (Radford et al., 2019), with learnt positions.
struct TransformerNetwork : NeuralNetwork {
  TransformerNetwork(const ModelConfig& config, const SampleShape& shape)
      : tokens(register_module("tokens", nn::Embedding(shape.vocabulary, config.embedding))),
        positions(register_module("positions", nn::Embedding(shape.length, config.embedding))) {
    for (std::int64_t i = 0; i < config.layers; ++i)
      blocks->push_back(std::make_shared<TransformerBlock>(config.embedding, config.heads));
    register_module("blocks", blocks);
    norm = register_module("norm", layer_norm(config.embedding));
    if (!config.tied)
      head = register_module(
          "head", nn::Linear(nn::LinearOptions(config.embedding, shape.vocabulary).bias(false)));
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

}  // namespace

std::shared_ptr<NeuralNetwork> make_sequence_network(const ModelConfig& config,
                                                     const SampleShape& shape) {
  if (config.kind == ModelKind::kLstm) return std::make_shared<LstmNetwork>(config, shape);
  return std::make_shared<TransformerNetwork>(config, shape);
}

}  // namespace kimesh
