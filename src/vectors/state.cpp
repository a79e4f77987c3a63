// What a checkpoint holds of a node's vectors.
#include <algorithm>

#include "store.h"

namespace kimesh {

// What a reduce brought is taken up by the next message only where both ends keep estimates.
bool Vectors::Store::keeps_between_rounds(ChannelIndex estimate) const {
  const Channel& channel = plan_.channels[estimate];
  const bool came_in = channel.phase == Phase::kReduce && plan_.links[channel.link].to == self_;
  return !came_in || (options_.keeps_estimates && options_.feedback == Feedback::kEf21);
}

// The gradient, the point, the sum of local steps and targets are made anew in every round. Where
// nodes look ahead, the next point is ahead by the movement that was made last.
std::vector<kernels::MemorySpan> Vectors::Store::kept_vectors() const {
  std::vector<kernels::MemorySpan> kept{parameters_.floats(), velocity_.floats()};
  if (options_.looks_ahead) {
    kept.push_back(step_.floats());
    const bool is_in_gradient = !takes_local_steps() && !worker_optimizer_ && !is_in_velocity_;
    if (is_in_gradient) kept.push_back(gradient_.floats());
  }
  for (const auto& [shard, owned] : owned_) kept.push_back(owned.floats());
  std::vector<ChannelIndex> channels;
  for (const auto& [channel, estimate] : estimates_)
    if (keeps_between_rounds(channel)) channels.push_back(channel);
  std::ranges::sort(channels);
  for (const ChannelIndex channel : channels) kept.push_back(estimate_of(channel));
  std::erase_if(kept, [](kernels::MemorySpan floats) { return floats.empty(); });
  return kept;
}

std::size_t Vectors::Store::state_bytes() const {
  std::size_t bytes = worker_optimizer_ ? worker_optimizer_->bytes_held() : 0;
  for (const kernels::MemorySpan floats : kept_vectors()) bytes += floats.size * sizeof(float);
  for (const auto& [shard, optimizer] : optimizers_) bytes += optimizer.bytes_held();
  return bytes;
}

Status Vectors::Store::save(StateWriter& writer) {
  if (!allocated_) return allocated_;
  writer.put(movement_round_);
  writer.put(is_in_velocity_);
  for (const kernels::MemorySpan floats : kept_vectors())
    if (Status copied = kernels::save_floats(memory_, floats, writer); !copied) return copied;
  for (const auto& [shard, optimizer] : optimizers_)
    if (Status copied = optimizer.save(writer); !copied) return copied;
  return worker_optimizer_ ? worker_optimizer_->save(writer) : ok_status();
}

Status Vectors::Store::restore(StateReader& reader) {
  if (!allocated_) return allocated_;
  reader.get(movement_round_);
  reader.get(is_in_velocity_);
  for (const kernels::MemorySpan floats : kept_vectors())
    kernels::restore_floats(memory_, reader, floats);
  for (auto& [shard, optimizer] : optimizers_) optimizer.restore(reader);
  if (worker_optimizer_) worker_optimizer_->restore(reader);
  host_is_behind_ = true;
  if (Status done = memory_.finish(); !done) return done;
  if (Status done = gradient_memory_.finish(); !done) return done;
  return reader.finish();
}

}  // namespace kimesh
