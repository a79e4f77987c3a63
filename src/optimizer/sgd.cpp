// Stochastic gradient descent, as torch.optim.SGD.
#include "kimesh/config/keys.h"
#include "kimesh/optimizer/optimizer_kind.h"
#include "limits.h"

namespace kimesh {
namespace {

class Sgd final : public OptimizerKind {
 public:
  void describe(Keys& keys) override {
    keys.number("momentum", momentum_, limits::kForgettingFactors, "of the workers' velocity");
    keys.flag("nesterov", nesterov_,
              "workers send the gradient plus momentum times their velocity, a look ahead");
    keys.check(!nesterov_ || momentum_ > 0, "nesterov",
               "nesterov: true looks ahead by the momentum, which is 0",
               "Write a momentum, such as momentum: 0.9, or leave out nesterov");
    keys.number("weight_decay", decay_, limits::kWeightDecays,
                "coupled: the share of the parameters that workers add to their gradients");
  }

  bool is_descent() const override { return true; }
  double look_ahead() const override { return nesterov_ ? momentum_ : 0; }
  AtWorkers at_workers() const override { return {decay_, momentum_, nesterov_}; }

  void step(const Step& step, kernels::Memory& memory, kernels::ConstMemorySpan direction,
            std::span<const kernels::MemorySpan>, kernels::MemorySpan parameters) const override {
    memory.sgd(static_cast<float>(step.rate), direction, parameters);
  }

 private:
  double momentum_ = 0;
  bool nesterov_ = false;
  double decay_ = 0;
};

}  // namespace

extern const Kind<OptimizerKind> kSgd;
const Kind<OptimizerKind> kSgd = {"sgd", "stochastic gradient descent, momentum at the workers",
                                  make_options<Sgd, OptimizerKind>};

}  // namespace kimesh
