// Trains a model whose gradients come from this program: logistic regression by hand, some of the
// samples at each node. All nodes run in this process, joined by sockets.
#include <kimesh/mesh/mesh.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <random>

using namespace kimesh;

constexpr std::size_t kFeatures = 20, kSamplesPerNode = 200;

// The part of one node: mean of log(1 + exp(-y <x, w>)) over its samples.
class Part : public Objective {
 public:
  explicit Part(NodeIndex node) {
    std::mt19937 random(node + 1);
    std::normal_distribution<float> normal;
    for (auto& [x, y] : samples_) {
      std::ranges::generate(x, [&] { return normal(random); });
      y = x[0] + 0.5f * x[1] > 0 ? 1.f : -1.f;
    }
  }
  const Layout& layout() const override { return layout_; }
  void initialise(std::span<float> w) override { std::ranges::fill(w, 0.f); }
  void bind(std::span<float> w, std::span<float> gradient) override {
    w_ = w, gradient_ = gradient;
  }

  Result<GradientNumbers> gradient(std::uint64_t) override {
    double loss = 0;
    std::ranges::fill(gradient_, 0.f);
    for (const auto& [x, y] : samples_) {
      double score = 0;
      for (std::size_t j = 0; j < kFeatures; ++j) score += x[j] * w_[j];
      loss += std::log1p(std::exp(-y * score));
      const double slope = -y / (1 + std::exp(y * score)) / kSamplesPerNode;
      for (std::size_t j = 0; j < kFeatures; ++j) gradient_[j] += static_cast<float>(slope * x[j]);
    }
    return GradientNumbers{loss / kSamplesPerNode, kSamplesPerNode};
  }

 private:
  struct Sample {
    std::array<float, kFeatures> x;
    float y;
  };
  Layout layout_ = Layout::vector(kFeatures);
  std::array<Sample, kSamplesPerNode> samples_;
  std::span<const float> w_;
  std::span<float> gradient_;
};

int main(int argc, char** argv) {
  if (argc != 3) return std::puts("usage: own_objective CONFIG TOPOLOGY"), 2;
  auto files = load_mesh_files(argv[1], argv[2]);
  for (const Problem& problem : files.problems) std::puts(to_string(problem).c_str());
  if (!files.ok()) return 2;
  const std::size_t nodes = files.value.topology.nodes.size();
  auto objective = make_mesh_objective(Layout::vector(kFeatures), shares_of_weights({}, nodes),
                                       [](NodeIndex node) { return std::make_unique<Part>(node); });
  const auto mesh = Mesh::make(std::move(files.value), std::move(objective));
  if (!mesh) return std::puts(mesh.error().message.c_str()), 2;
  MeshRunOptions options;
  options.callbacks.round = [](auto node, const RoundRecord& round, const auto&) {
    if (node == 0 && round.round % 20 == 0)
      std::printf("round %u: loss %.4f\n", round.round, round.loss);
  };
  const auto end = (*mesh)->run_here(options);
  if (!end) return std::puts(end.error().message.c_str()), 1;
  std::printf("w = %.2f, %.2f ...\n", end->run.model[0], end->run.model[1]);
  return end->run.outcome == Outcome::kDone ? 0 : 1;
}
