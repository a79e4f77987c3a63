// kind: gru: its size, and that it computes what torch's own and the equations of Cho et al. do.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/train/networks.h"

namespace kimesh::gru_test {
namespace {

constexpr std::int64_t kEmbedding = 16, kHidden = 24, kLength = 6, kVocabulary = 11;

ModelOptions gru(const std::string& keys = "") {
  return model_options("kind: gru, embedding: 16, hidden: 24" + keys);
}

torch::Tensor some_tokens() {
  return torch::arange(3 * kLength).mul(7).remainder(kVocabulary).view({3, kLength});
}

TEST(Gru, HasAsManyParametersAsItsPartsAddUpTo) {
  const std::size_t v = kVocabulary, e = kEmbedding, h = kHidden;
  const Layout layout = layout_of(*make_network(*gru().kind, tokens(kLength, kVocabulary)));
  EXPECT_EQ(layout.size(), v * e + 3 * h * (e + h + 2) + 3 * h * (h + h + 2) + (h + 1) * v);
  EXPECT_EQ(layout.layers[1].name, "gru.weight_ih_l0");
}

// Torch's modules with the network's values.
TEST(Gru, ComputesTheSameNumbersAsTorchsOwn) {
  const auto network = drawn_network(gru(), tokens(kLength, kVocabulary));
  torch::nn::GRU own(torch::nn::GRUOptions(kEmbedding, kHidden).num_layers(2).batch_first(true));
  const auto values = network->named_parameters();
  const torch::NoGradGuard no_gradient;
  for (const auto& item : own->named_parameters()) item.value().copy_(values["gru." + item.key()]);
  const auto embedded = torch::embedding(values["embedding.weight"], some_tokens());
  const auto expected =
      torch::linear(std::get<0>(own(embedded)), values["head.weight"], values["head.bias"]);
  EXPECT_TRUE(torch::equal(network->forward(some_tokens()), expected));
}

// h' = (1 − z) n + z h with r, z = σ(W x + b + U h + c), n = tanh(W x + b + r (U h + c)).
TEST(Gru, FollowsItsEquations) {
  const auto network = drawn_network(gru(", layers: 1"), tokens(kLength, kVocabulary));
  const auto values = network->named_parameters();
  const torch::NoGradGuard no_gradient;
  const auto embedded = torch::embedding(values["embedding.weight"], some_tokens());
  auto h = torch::zeros({3, kHidden});
  for (std::int64_t t = 0; t < kLength; ++t) {
    const auto x =
        torch::linear(embedded.select(1, t), values["gru.weight_ih_l0"], values["gru.bias_ih_l0"])
            .chunk(3, 1);
    const auto u =
        torch::linear(h, values["gru.weight_hh_l0"], values["gru.bias_hh_l0"]).chunk(3, 1);
    const auto r = torch::sigmoid(x[0] + u[0]), z = torch::sigmoid(x[1] + u[1]);
    h = (1 - z) * torch::tanh(x[2] + r * u[2]) + z * h;
    const auto scores = torch::linear(h, values["head.weight"], values["head.bias"]);
    EXPECT_LE((network->forward(some_tokens()).select(1, t) - scores).abs().max().item<float>(),
              1e-5f)
        << "token " << t;
  }
}

TEST(Gru, BeginsAsTorchDraws) {
  const auto values = drawn_network(gru(), tokens(8, 50))->named_parameters();
  for (const char* name : {"gru.weight_ih_l0", "gru.weight_hh_l1", "gru.bias_ih_l1"})
    EXPECT_NEAR(values[name].abs().max().item<float>(), 1 / std::sqrt(24.0), 0.01) << name;
  EXPECT_NEAR(values["embedding.weight"].std().item<float>(), 1, 0.1);
}

TEST(Gru, LowersItsLossWithinAFewDozenSteps) {
  at::set_num_threads(1);
  ModelOptions model = gru();
  for (const ComputeKind compute : {ComputeKind::kFloat32, ComputeKind::kBfloat16}) {
    model.compute = compute;
    const auto [first, last] = train(model, tokens(10, 11), 80);
    EXPECT_NEAR(first, std::log(11.0), 0.6);
    EXPECT_LT(last, 0.4 * first) << "seed " << kSeed;
  }
}

}  // namespace
}  // namespace kimesh::gru_test
