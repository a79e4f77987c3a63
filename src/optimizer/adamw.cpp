// AdamW (Loshchilov and Hutter, 2019, algorithm 2) with the schedule's factor in lr, in the order
// of operations of torch.optim.AdamW: scalars in float64, elements in float32. A decay of more than
// all there is leaves 0, where torch turns signs.
#include <cmath>

#include "kimesh/config/keys.h"
#include "kimesh/optimizer/optimizer_kind.h"
#include "limits.h"

namespace kimesh {
namespace {

class Adamw final : public OptimizerKind {
 public:
  void describe(Keys& keys) override {
    keys.number("beta1", beta1_, limits::kForgettingFactors, "of the mean of gradients");
    keys.number("beta2", beta2_, limits::kForgettingFactors, "of the mean of their squares");
    keys.number("epsilon", epsilon_, limits::kEpsilons, "added to the root of that mean");
    keys.number("weight_decay", decay_, limits::kWeightDecays,
                "decoupled: the owner shrinks parameters by lr times this share");
    keys.refuse({"momentum"}, "kind: adamw, whose momentum is beta1");
    // Messages say where they are: nodes need not agree on a key that only confirms it.
    if (!keys.wants_local()) return;
    keys.choice("moments", moments_, {{"owner", StateAt::kOwner}, {"worker", StateAt::kWorker}},
                "who keeps both means: the owner of a shard, of the mesh's gradient, or with "
                "feedback: ef14 every worker, of its own");
  }

  double look_ahead() const override { return beta1_; }
  // The transformer needs 1.5 times as many gradients with 2 local steps a round as with one, and
  // no more than that with 4.
  double drift() const override { return 0.5; }
  // The transformer needs 1.03 (messages a round late) to 1.15 times as many rounds (int8) with
  // gradients that are computed beside messages (docs/experiments.md).
  double overlap_cost() const override { return 1.1; }
  bool begins_at_full_length() const override { return true; }
  double owner_decay() const override { return decay_; }
  std::size_t state_vectors() const override { return 2; }  // means of gradients and squares
  std::optional<StateAt> state_at() const override { return moments_; }

  void step(const Step& step, kernels::Memory& memory, kernels::ConstMemorySpan direction,
            std::span<const kernels::MemorySpan> state,
            kernels::MemorySpan parameters) const override {
    memory.adamw(factors(step), direction, state[0], state[1], parameters);
  }

 private:
  [[nodiscard]] kernels::AdamwFactors factors(const Step& step) const {
    const auto count = static_cast<double>(step.count);
    const double correction1 = 1 - std::pow(beta1_, count);
    const double correction2 = 1 - std::pow(beta2_, count);
    kernels::AdamwFactors factors;
    factors.shrink = static_cast<float>(kept_by_decay(step.rate));
    factors.new_share1 = static_cast<float>(1 - beta1_);
    factors.new_share2 = static_cast<float>(1 - beta2_);
    factors.old_share2 = static_cast<float>(beta2_);
    factors.size_of_step = static_cast<float>(step.rate / correction1);
    factors.root2 = static_cast<float>(std::sqrt(correction2));
    factors.epsilon = static_cast<float>(epsilon_);
    return factors;
  }

  double beta1_ = 0.9, beta2_ = 0.999, epsilon_ = 1e-8;
  double decay_ = 0;
  std::optional<StateAt> moments_;
};

}  // namespace

extern const Kind<OptimizerKind> kAdamw;
const Kind<OptimizerKind> kAdamw = {"adamw", "Adam with decoupled weight decay",
                                    make_options<Adamw, OptimizerKind>};

}  // namespace kimesh
