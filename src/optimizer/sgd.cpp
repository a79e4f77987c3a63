// Stochastic gradient descent, as torch.optim.SGD.
#include "kimesh/config/keys.h"
#include "kimesh/optimizer/optimizer_kind.h"
#include "src/optimizer/limits.h"

namespace kimesh {
namespace {

class Sgd final : public OptimizerKind {
 public:
  void describe(Keys& keys) override {
    keys.number("momentum", momentum_, limits::kForgettingFactors, "of the workers' velocity");
    keys.number("weight_decay", decay_, limits::kWeightDecays,
                "coupled: the share of the parameters that workers add to their gradients");
  }

  AtWorkers at_workers() const override { return {decay_, momentum_}; }

  void step(const Step& step, std::span<const float> direction, std::span<const std::span<float>>,
            std::span<float> parameters) const override {
    const auto rate = static_cast<float>(step.rate);
    for (std::size_t j = 0; j < parameters.size(); ++j) parameters[j] -= rate * direction[j];
  }

  void step(const Step& step, kernels::Memory& memory, kernels::MemorySpan direction,
            std::span<const kernels::MemorySpan>, kernels::MemorySpan parameters) const override {
    memory.sgd(static_cast<float>(step.rate), direction, parameters);
  }

 private:
  double momentum_ = 0;
  double decay_ = 0;
};

}  // namespace

extern const Kind<OptimizerKind> kSgd;
const Kind<OptimizerKind> kSgd = {"sgd", "stochastic gradient descent, momentum at the workers",
                                  make_options<Sgd, OptimizerKind>};

}  // namespace kimesh
