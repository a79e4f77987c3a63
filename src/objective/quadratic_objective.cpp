// One node's part of a quadratic, in float32 as a model's gradient would be.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kimesh/objective/quadratic.h"
#include "kimesh/util/check.h"

namespace kimesh {
namespace {

std::vector<float> to_float(const std::vector<double>& values) {
  std::vector<float> result(values.size());
  std::ranges::transform(values, result.begin(), [](double v) { return static_cast<float>(v); });
  return result;
}

class QuadraticObjective final : public Objective {
 public:
  QuadraticObjective(const QuadraticProblem& problem, NodeIndex node)
      : layout_(Layout::vector(problem.dimension)),
        a_(to_float(problem.a[node])),
        b_(to_float(problem.b[node])) {}

  const Layout& layout() const override { return layout_; }

  void initialise(std::span<float> parameters) override {
    KIMESH_CHECK(parameters.size() == layout_.size(), "parameters have the layout's size");
    std::ranges::fill(parameters, 0.0f);
  }

  void bind(std::span<float> parameters, std::span<float> gradient) override {
    KIMESH_CHECK(parameters.size() == layout_.size() && gradient.size() == layout_.size(),
                 "parameters and gradient have the layout's size");
    parameters_ = parameters;
    gradient_ = gradient;
  }

  Result<GradientNumbers> gradient(std::uint64_t) override {
    KIMESH_CHECK(!parameters_.empty(), "bind() comes before gradient()");
    double loss = 0;
    for (std::size_t j = 0; j < a_.size(); ++j) {
      const float distance = parameters_[j] - b_[j];
      gradient_[j] = a_[j] * distance;
      loss += 0.5 * a_[j] * distance * distance;
    }
    const auto broken =
        std::ranges::find_if_not(gradient_, [](float g) { return std::isfinite(g); });
    if (broken != gradient_.end())
      return Error{ErrorCode::kNotFinite,
                   fmt::format("the gradient of the quadratic's vector is {} at element {}",
                               *broken, broken - gradient_.begin())};
    return GradientNumbers{loss, 1};
  }

 private:
  Layout layout_;
  std::vector<float> a_, b_;
  std::span<float> parameters_, gradient_;
};

}  // namespace

std::unique_ptr<Objective> make_quadratic_objective(const QuadraticProblem& problem,
                                                    NodeIndex node) {
  KIMESH_CHECK(node < problem.a.size(), "the problem has a part for the node");
  return std::make_unique<QuadraticObjective>(problem, node);
}

}  // namespace kimesh
