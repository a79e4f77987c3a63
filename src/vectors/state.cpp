// What a checkpoint holds of a node's vectors.
#include <algorithm>
#include <utility>

#include "store.h"

namespace kimesh {

// What a reduce brought is taken up by the next message only where both ends keep estimates.
bool Vectors::Store::keeps_between_rounds(ChannelIndex estimate) const {
  const Channel& channel = plan_.channels[estimate];
  const bool came_in = channel.phase == Phase::kReduce && plan_.links[channel.link].to == self_;
  return !came_in || options_.keeps_estimates;
}

namespace {

std::vector<kernels::MemorySpan> without_empty(std::vector<kernels::MemorySpan> vectors) {
  std::erase_if(vectors, [](kernels::MemorySpan floats) { return floats.empty(); });
  return vectors;
}

}  // namespace

// The gradient, the point, the sum of local steps and targets are made anew in every round. Where
// nodes look ahead, the next point is ahead by the movement that was made last, which is the
// gradient where it has no other place.
std::vector<kernels::MemorySpan> Vectors::Store::kept_gradient() const {
  const bool is_movement =
      options_.looks_ahead && !is_sum_ && !worker_optimizer_ && !is_in_velocity_;
  return without_empty({is_movement ? gradient_.floats() : kernels::MemorySpan{}});
}

std::vector<kernels::MemorySpan> Vectors::Store::kept_movement() const {
  return without_empty(
      {velocity_.floats(), options_.looks_ahead ? step_.floats() : kernels::MemorySpan{}});
}

std::vector<kernels::MemorySpan> Vectors::Store::kept_channels() const {
  std::vector<kernels::MemorySpan> kept{parameters_.floats()};
  for (const auto& [shard, owned] : owned_) kept.push_back(owned.floats());
  std::vector<ChannelIndex> channels;
  for (const auto& [channel, estimate] : estimates_)
    if (keeps_between_rounds(channel)) channels.push_back(channel);
  std::ranges::sort(channels);
  for (const ChannelIndex channel : channels) kept.push_back(estimate_of(channel));
  return without_empty(std::move(kept));
}

std::size_t Vectors::Store::state_bytes() const {
  std::size_t bytes = worker_optimizer_ ? worker_optimizer_->bytes_held() : 0;
  for (const auto& kept : {kept_gradient(), kept_movement(), kept_channels()})
    for (const kernels::MemorySpan floats : kept) bytes += floats.size * sizeof(float);
  for (const auto& [shard, optimizer] : optimizers_) bytes += optimizer.bytes_held();
  return bytes;
}

Status Vectors::Store::save_vectors(const std::vector<kernels::MemorySpan>& vectors,
                                    StateWriter& writer) const {
  for (const kernels::MemorySpan floats : vectors)
    if (Status copied = kernels::save_floats(memory_, floats, writer); !copied) return copied;
  return ok_status();
}

Status Vectors::Store::save_movement(StateWriter& writer) const {
  if (Status copied = save_vectors(kept_movement(), writer); !copied) return copied;
  return worker_optimizer_ ? worker_optimizer_->save(writer) : ok_status();
}

Status Vectors::Store::save_changing(StateWriter& writer) const {
  if (!allocated_) return allocated_;
  writer.put(movement_round_);
  writer.put(is_in_velocity_);
  writer.put(is_sum_);
  if (Status copied = save_vectors(kept_gradient(), writer); !copied) return copied;
  return moves_with_gradient() ? save_movement(writer) : ok_status();
}

Status Vectors::Store::save_rest(StateWriter& writer) const {
  if (!moves_with_gradient())
    if (Status copied = save_movement(writer); !copied) return copied;
  if (Status copied = save_vectors(kept_channels(), writer); !copied) return copied;
  for (const auto& [shard, optimizer] : optimizers_)
    if (Status copied = optimizer.save(writer); !copied) return copied;
  return ok_status();
}

void Vectors::Store::restore_vectors(const std::vector<kernels::MemorySpan>& vectors,
                                     StateReader& reader) const {
  for (const kernels::MemorySpan floats : vectors) kernels::restore_floats(memory_, reader, floats);
}

// In the order of both parts, which is the same wherever the movement belongs.
Status Vectors::Store::restore(StateReader& reader) {
  if (!allocated_) return allocated_;
  for (auto& [shard, arrivals] : arrivals_) arrivals.clear();
  reader.get(movement_round_);
  reader.get(is_in_velocity_);
  reader.get(is_sum_);
  restore_vectors(kept_gradient(), reader);
  restore_vectors(kept_movement(), reader);
  if (worker_optimizer_) worker_optimizer_->restore(reader);
  restore_vectors(kept_channels(), reader);
  for (auto& [shard, optimizer] : optimizers_) optimizer.restore(reader);
  host_is_behind_ = true;
  if (Status done = memory_.finish(); !done) return done;
  if (Status done = gradient_memory_.finish(); !done) return done;
  return reader.finish();
}

}  // namespace kimesh
