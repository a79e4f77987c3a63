// What a mesh of another topology goes on with.
#include <algorithm>

#include "kimesh/util/check.h"
#include "store.h"

namespace kimesh {
namespace {

// Moves a mean towards `from`, of which it then has this share.
void add(float share, std::span<const float> from, std::vector<float>& mean) {
  if (mean.empty()) mean.resize(from.size());
  KIMESH_CHECK(mean.size() == from.size(), "nodes of one config");
  for (std::size_t i = 0; i < from.size(); ++i) mean[i] += share * (from[i] - mean[i]);
}

// A vector that the other topology has no use for is left out, and one that it had none of is 0.
void put(std::span<const float> from, std::span<float> to) {
  if (from.size() == to.size()) std::ranges::copy(from, to.begin());
}

void put_at(std::span<const float> from, std::size_t begin, std::vector<float>& to) {
  std::ranges::copy(from, to.begin() + static_cast<std::ptrdiff_t>(begin));
}

}  // namespace

void Vectors::Store::carry(double of_mean, CarriedVectors& to) const {
  KIMESH_CHECK(memory_.on_host(), "vectors on the host");
  const auto floats = [this](const kernels::MemoryBuffer& buffer) {
    return std::span<const float>(memory_.view(buffer.floats()));
  };
  const std::size_t d = plan_.layout.size();
  const auto share = static_cast<float>(of_mean);
  const bool is_first = to.parameters.empty();
  if (is_first) to.parameters.assign(floats(parameters_).begin(), floats(parameters_).end());
  add(share, floats(velocity_), to.velocity);
  if (options_.looks_ahead) {
    add(share, floats(step_), to.step);
    add(share, floats(gradient_), to.gradient);
  }
  to.movement_round = movement_round_;
  to.is_in_velocity = is_in_velocity_;
  to.is_sum = is_sum_;
  to.moments.resize(options_.optimizer.kind->state_vectors());
  for (ShardIndex s = 0; s < plan_.shards.size(); ++s)
    if (owns(s)) put_at(memory_.view(owned_of(s)), plan_.shards[s].begin, to.parameters);
  for (const auto& [shard, optimizer] : optimizers_) {
    to.optimizer_steps = optimizer.steps();
    for (std::size_t i = 0; i < to.moments.size(); ++i) {
      to.moments[i].resize(d);
      put_at(memory_.view(optimizer.vectors()[i]), plan_.shards[shard].begin, to.moments[i]);
    }
  }
  if (!worker_optimizer_) return;
  to.optimizer_steps = std::max(to.optimizer_steps, worker_optimizer_->steps());
  for (std::size_t i = 0; i < to.moments.size(); ++i)
    add(share, memory_.view(worker_optimizer_->vectors()[i]), to.moments[i]);
}

void Vectors::Store::start(const CarriedVectors& from) {
  if (!allocated_) return;
  KIMESH_CHECK(memory_.on_host(), "vectors on the host");
  put(from.parameters, point());
  start();
  const auto floats = [this](const kernels::MemoryBuffer& buffer) {
    return memory_.view(buffer.floats());
  };
  put(from.velocity, floats(velocity_));
  put(from.step, floats(step_));
  if (options_.looks_ahead) put(from.gradient, floats(gradient_));
  movement_round_ = from.movement_round;
  is_in_velocity_ = from.is_in_velocity && !velocity_.empty();
  is_sum_ = from.is_sum && options_.looks_ahead;
  const auto restore = [&](ShardOptimizer& optimizer, std::size_t begin) {
    const std::vector<kernels::MemorySpan> vectors = optimizer.vectors();
    if (from.moments.size() != vectors.size()) return;
    optimizer.set_steps(from.optimizer_steps);
    for (std::size_t i = 0; i < vectors.size(); ++i)
      put(std::span(from.moments[i]).subspan(begin, vectors[i].size), memory_.view(vectors[i]));
  };
  for (auto& [shard, optimizer] : optimizers_) restore(optimizer, plan_.shards[shard].begin);
  if (worker_optimizer_) restore(*worker_optimizer_, 0);
}

}  // namespace kimesh
