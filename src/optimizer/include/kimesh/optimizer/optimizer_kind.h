// The interface of optimizers. A kind of optimizer is one file in src/optimizer (name, keys, and
// what it does at the workers and at the owners of shards) and one line in its table.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "kimesh/config/kind_table.h"
#include "kimesh/kernels/memory.h"

namespace kimesh {

class OptimizerKind : public KindOptions {
 public:
  // The work of every worker on its own gradient g at its parameters w, after clipping and before
  // compression: g += decay · w, then, where momentum is not 0, the velocity v = momentum · v + g.
  // Then v is sent, with nesterov g + momentum · v.
  struct AtWorkers {
    double decay = 0;
    double momentum = 0;
    bool nesterov = false;  // requires momentum > 0
  };
  [[nodiscard]] virtual AtWorkers at_workers() const { return {}; }

  // The share of its last movement by which a worker that looks ahead does so
  // (VectorsOptions::looks_ahead): of a step that repeats itself, what the next one will repeat.
  [[nodiscard]] virtual double look_ahead() const { return 0; }

  // ρ of policy/round_time_search.h: H local steps of a round bring as much as H / (1 + ρ (H − 1))
  // rounds of one where data are alike. The cnn with sgd needs 1.5 times as many gradients with 8
  // steps as with one.
  [[nodiscard]] virtual double drift() const { return 0.1; }
  // With overlap and messages that leave nothing out, training needs so many times the rounds (a of
  // policy/round_time_search.h). The cnn with sgd needs 1.2 times as many.
  [[nodiscard]] virtual double overlap_cost() const { return 1.2; }

  // Whether the first steps have full length, however small the gradients are. Steps of momentum
  // alone grow over the first rounds.
  [[nodiscard]] virtual bool begins_at_full_length() const { return false; }

  // The step is parameters −= rate · direction, for which `lr: theory` is proven.
  [[nodiscard]] virtual bool is_descent() const { return false; }

  // Vectors that the optimizer keeps, each of the size that it steps, 0 at the start: of a shard at
  // its owner, of the whole model at a worker that sends movements.
  [[nodiscard]] virtual std::size_t state_vectors() const { return 0; }

  // Who keeps these vectors: the owners, which step against the mesh's gradient, or the workers,
  // whose steps are their movements.
  enum class StateAt : std::uint8_t { kOwner, kWorker };
  // What the config says of it; nothing: it is where what messages carry puts it.
  [[nodiscard]] virtual std::optional<StateAt> state_at() const { return std::nullopt; }

  // The decoupled decay, which acts at the owner also where workers send movements: a step shrinks
  // the parameters by rate times this share. It is no part of step() then.
  [[nodiscard]] virtual double owner_decay() const { return 0; }
  // What that decay leaves of a parameter in a step with this rate. It never turns a sign: beyond a
  // product of 1 nothing is left.
  [[nodiscard]] double kept_by_decay(double rate) const {
    return std::max(1 - rate * owner_decay(), 0.0);
  }

  struct Step {
    double rate = 0;          // the learning rate of the round
    std::uint64_t count = 1;  // number of this step of the shard, from 1
  };
  // The step against `direction`, the mesh's weighted gradient at an owner, elementwise with one
  // rounding per operation. Workers that send movements take it from 0 against their own gradient.
  // Shapes: parameters, direction and each state [size], all in `memory`.
  virtual void step(const Step& step, kernels::Memory& memory, kernels::ConstMemorySpan direction,
                    std::span<const kernels::MemorySpan> state,
                    kernels::MemorySpan parameters) const = 0;
};

[[nodiscard]] KindTable<OptimizerKind>& optimizer_kinds();

}  // namespace kimesh
