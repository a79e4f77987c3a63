// Quadratics of several layers, whose gradients are of unlike size.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kimesh/objective/mesh_objective.h"

namespace kimesh::test {

struct QuadraticLayer {
  std::size_t size = 0;
  double curvature = 1;
};

// Node i's part: f_i(x) = 1/2 Σ_j c_j (x_j − b_ij)² with the curvature c_j of the element's layer
// and some b_ij.
class LayeredQuadratic final : public Objective {
 public:
  LayeredQuadratic(std::span<const QuadraticLayer> layers, Layout layout, NodeIndex node)
      : layout_(std::move(layout)) {
    for (const QuadraticLayer& layer : layers)
      curvatures_.insert(curvatures_.end(), layer.size, static_cast<float>(layer.curvature));
    for (std::size_t j = 0; j < curvatures_.size(); ++j)
      minima_.push_back(static_cast<float>(std::sin(0.7 * static_cast<double>(j) + node)));
  }
  [[nodiscard]] static Layout layout_of(std::span<const QuadraticLayer> layers) {
    Layout layout;
    for (const QuadraticLayer& layer : layers)
      layout.layers.push_back({"layer" + std::to_string(layout.layers.size()),
                               {static_cast<std::int64_t>(layer.size)},
                               layout.size(),
                               layer.size});
    return layout;
  }

  const Layout& layout() const override { return layout_; }
  void initialise(std::span<float> parameters) override { std::ranges::fill(parameters, 0.0f); }
  void bind(std::span<float> parameters, std::span<float> gradient) override {
    parameters_ = parameters;
    gradient_ = gradient;
  }
  Result<GradientNumbers> gradient(std::uint64_t /*batch*/) override {
    double loss = 0;
    for (std::size_t j = 0; j < curvatures_.size(); ++j) {
      const float distance = parameters_[j] - minima_[j];
      gradient_[j] = curvatures_[j] * distance;
      loss += 0.5 * gradient_[j] * distance;
    }
    return GradientNumbers{loss, 1};
  }

 private:
  Layout layout_;
  std::vector<float> curvatures_, minima_;
  std::span<float> parameters_, gradient_;
};

[[nodiscard]] inline std::unique_ptr<MeshObjective> layered_mesh(std::vector<QuadraticLayer> layers,
                                                                 std::size_t nodes) {
  const Layout layout = LayeredQuadratic::layout_of(layers);
  return make_mesh_objective(layout, shares_of_weights({}, nodes),
                             [layers = std::move(layers), layout](NodeIndex node) {
                               return std::make_unique<LayeredQuadratic>(layers, layout, node);
                             });
}

}  // namespace kimesh::test
