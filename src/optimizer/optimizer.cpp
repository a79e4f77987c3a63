#include "kimesh/optimizer/optimizer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "kimesh/config/keys.h"
#include "kimesh/kernels/blocks.h"
#include "kimesh/util/check.h"
#include "limits.h"

namespace kimesh {

// The table of optimizers: a line each.
#define KIMESH_OPTIMIZERS(OPTIMIZER) \
  OPTIMIZER(kSgd)                    \
  OPTIMIZER(kAdamw)

#define DECLARE(kind) extern const Kind<OptimizerKind> kind;
#define ENTRY(kind) kind,
KIMESH_OPTIMIZERS(DECLARE)

KindTable<OptimizerKind>& optimizer_kinds() {
  static KindTable<OptimizerKind> table("optimizer", {KIMESH_OPTIMIZERS(ENTRY)});
  return table;
}

void OptimizerOptions::describe(Keys& keys) {
  keys.require("kind", "kind: sgd");
  keys.kind("kind", kind, optimizer_kinds(), "how steps are made of gradients");
  keys.require("lr", "lr: with the step size, such as lr: 0.1");
  keys.number_or_word("lr", {lr, limits::kRates, lr_is_theory, "theory"},
                      "learning rate; theory: the largest that is proven for a quadratic");
  keys.number("clip", clip, limits::kClipNorms,
              "largest L2 norm of a node's own gradient, over all layers");
  keys.section({"schedule", "how lr changes with the rounds"},
               [&](Keys& inner) { schedule.describe(inner); });
}

Result<ShardOptimizer> ShardOptimizer::create(const OptimizerOptions& options,
                                              kernels::Memory& memory, std::size_t size) {
  ShardOptimizer optimizer(options, memory, size);
  for (std::size_t i = 0; i < options.kind->state_vectors(); ++i) {
    auto allocated = memory.allocate(size);
    if (!allocated) return allocated.error();
    optimizer.state_.push_back(std::move(*allocated));
  }
  return optimizer;
}

std::size_t ShardOptimizer::bytes_held() const {
  return state_.size() * size_ * sizeof(float);
}

std::vector<kernels::MemorySpan> ShardOptimizer::vectors() const {
  std::vector<kernels::MemorySpan> vectors;
  for (const kernels::MemoryBuffer& vector : state_) vectors.push_back(vector.floats());
  return vectors;
}

Status ShardOptimizer::save(StateWriter& writer) const {
  writer.put(steps_);
  for (const kernels::MemoryBuffer& vector : state_) {
    const Status copied = kernels::save_floats(*memory_, vector.floats(), writer);
    if (!copied) return copied;
  }
  return ok_status();
}

void ShardOptimizer::restore(StateReader& reader) {
  reader.get(steps_);
  for (const kernels::MemoryBuffer& vector : state_)
    kernels::restore_floats(*memory_, reader, vector.floats());
}

void ShardOptimizer::step(Round round, kernels::MemorySpan parameters,
                          kernels::ConstMemorySpan direction) {
  KIMESH_CHECK(parameters.size == size_ && direction.size == size_, "spans of the shard's size");
  options_.kind->step({options_.learning_rate(round), ++steps_}, *memory_, direction, vectors(),
                      parameters);
}

void ShardOptimizer::step_from_zero(Round round, kernels::MemorySpan moved,
                                    kernels::ConstMemorySpan direction) {
  KIMESH_CHECK(moved.size == size_ && direction.size == size_, "spans of the vector's size");
  const OptimizerKind::Step step{options_.learning_rate(round), ++steps_};
  const std::vector<kernels::MemorySpan> whole_state = vectors();
  std::vector<kernels::MemorySpan> state(whole_state.size());
  kernels::for_each_block(*memory_, size_, [&](std::size_t begin, std::size_t size) {
    std::ranges::transform(whole_state, state.begin(),
                           [=](kernels::MemorySpan vector) { return vector.subspan(begin, size); });
    memory_->fill(moved.subspan(begin, size), 0);
    options_.kind->step(step, *memory_, direction.subspan(begin, size), state,
                        moved.subspan(begin, size));
  });
}

void step_by_movement(const OptimizerOptions& options, kernels::Memory& memory, Round round,
                      const Movement& movement, kernels::MemorySpan parameters) {
  if (options.kind->owner_decay() > 0) {
    const double kept = std::pow(options.kept_by_decay(round), movement.steps);
    memory.scale(static_cast<float>(kept), parameters, parameters);
  }
  memory.subtract(movement.of, parameters);
}

}  // namespace kimesh
