#include "kimesh/objective/mesh_objective.h"

#include <numeric>
#include <utility>

namespace kimesh {
namespace {

class PlainMesh : public MeshObjective {
 public:
  PlainMesh(Layout layout, std::vector<double> weights,
            std::function<std::unique_ptr<Objective>(NodeIndex)> make_part)
      : layout_(std::move(layout)),
        weights_(std::move(weights)),
        make_part_(std::move(make_part)) {}

  [[nodiscard]] const Layout& layout() const override { return layout_; }
  [[nodiscard]] const std::vector<double>& weights() const override { return weights_; }
  [[nodiscard]] Result<std::unique_ptr<Objective>> part(NodeIndex node) const override {
    return make_part_(node);
  }

 private:
  const Layout layout_;
  const std::vector<double> weights_;
  const std::function<std::unique_ptr<Objective>(NodeIndex)> make_part_;
};

}  // namespace

const NamedValues& MeshObjective::frozen() const {
  static const NamedValues kNone;
  return kNone;
}

std::optional<double> MeshObjective::gradient_norm_squared(std::span<const float>) const {
  return std::nullopt;
}

std::unique_ptr<MeshObjective> make_mesh_objective(
    Layout layout, std::vector<double> weights,
    std::function<std::unique_ptr<Objective>(NodeIndex)> make_part) {
  return std::make_unique<PlainMesh>(std::move(layout), std::move(weights), std::move(make_part));
}

std::vector<double> shares_of_weights(std::span<const double> declared, std::size_t nodes) {
  std::vector<double> weights(declared.begin(), declared.end());
  if (weights.empty()) weights.assign(nodes, 1.0);
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight /= sum;
  return weights;
}

}  // namespace kimesh
