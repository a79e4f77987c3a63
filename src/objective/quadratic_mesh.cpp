#include <utility>

#include "kimesh/objective/quadratic.h"

namespace kimesh {
namespace {

class QuadraticMesh : public MeshObjective {
 public:
  explicit QuadraticMesh(QuadraticProblem problem)
      : problem_(std::move(problem)), layout_(Layout::vector(problem_.dimension)) {}

  [[nodiscard]] const Layout& layout() const override { return layout_; }
  [[nodiscard]] const std::vector<double>& weights() const override { return problem_.weights; }
  [[nodiscard]] Result<std::unique_ptr<Objective>> part(NodeIndex node) const override {
    return make_quadratic_objective(problem_, node);
  }
  [[nodiscard]] std::string environment() const override { return "quadratics, no LibTorch"; }
  [[nodiscard]] std::optional<Smoothness> smoothness() const override {
    return Smoothness{problem_.smoothness(), problem_.smoothness_of_parts()};
  }
  [[nodiscard]] std::optional<double> gradient_norm_squared(
      std::span<const float> parameters) const override {
    return problem_.gradient_norm_squared(parameters);
  }

 private:
  const QuadraticProblem problem_;
  const Layout layout_;
};

}  // namespace

Result<std::unique_ptr<MeshObjective>> make_quadratic_mesh(const QuadraticOptions& config,
                                                           std::size_t nodes,
                                                           std::span<const double> declared_weights,
                                                           std::uint64_t seed) {
  const std::vector<double> weights = shares_of_weights(declared_weights, nodes);
  if (config.path.empty())
    return std::unique_ptr<MeshObjective>(
        std::make_unique<QuadraticMesh>(make_quadratic(config, nodes, weights, seed)));
  auto loaded = load_quadratic(config.path, nodes, weights);
  if (!loaded) return loaded.error();
  return std::unique_ptr<MeshObjective>(std::make_unique<QuadraticMesh>(std::move(*loaded)));
}

}  // namespace kimesh
