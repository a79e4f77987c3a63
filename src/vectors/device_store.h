// Vectors in a GPU's memory. The objective computes on the host: once a round its gradient goes up
// and the parameters that changed come down.
#pragma once

#include <atomic>
#include <map>
#include <unordered_map>

#include "kernels/memory.h"
#include "kimesh/util/aligned_buffer.h"
#include "src/vectors/store.h"

namespace kimesh {

class Vectors::DeviceStore final : public Store {
 public:
  // Where the device has not the memory, everything but start returns that error.
  DeviceStore(const Plan& plan, NodeIndex self, const VectorsOptions& options);

  std::span<float> parameters() override { return host_parameters_.span(); }
  std::span<float> gradient() override { return host_gradient_.span(); }
  void start() override;
  Status bring_parameters() override;
  Status fold_gradient() override;
  Result<AdvanceResult> advance(const AdvanceChannel& action) override;
  Result<std::uint64_t> apply(const ApplyMessage& action,
                              std::span<const std::byte> payload) override;
  Result<std::uint64_t> step(const StepShard& action) override;
  bool has_estimate(ChannelIndex channel) const override { return estimates_.contains(channel); }
  std::span<const float> shard(ShardIndex shard) override;
  std::span<const float> estimate(ChannelIndex channel) override;
  std::size_t bytes_held() const override;
  void corrupt_parameters(ShardIndex shard) override;
  void corrupt_estimate(ChannelIndex channel) override;

 private:
  // What the optimizer keeps for an owned shard.
  struct OptimizerState {
    std::vector<kernels::MemoryBuffer> vectors;
    std::uint64_t steps = 0;
  };

  [[nodiscard]] kernels::MemoryBuffer allocate(std::size_t size);
  [[nodiscard]] kernels::MemorySpan shard_of(const kernels::MemoryBuffer& whole,
                                             ShardIndex shard) const;
  [[nodiscard]] kernels::MemorySpan estimate_of(ChannelIndex channel) const;
  [[nodiscard]] kernels::MemorySpan writable(BufferId buffer, ShardIndex shard) const;
  [[nodiscard]] kernels::MemorySpan sum(std::span<const BufferId> terms, ShardIndex shard);
  void add_term(BufferId term, ShardIndex shard, bool first);
  [[nodiscard]] Result<Advanced> send(const AdvanceChannel& action, kernels::MemorySpan target,
                                      kernels::MemorySpan estimate);
  void take_step(const StepShard& action, kernels::MemorySpan direction);
  // Waits for the device.
  [[nodiscard]] Result<std::uint64_t> finish(bool digest, kernels::MemorySpan of);
  void flip_lowest_bit(kernels::MemorySpan floats);

  kernels::Memory& device_;           // of actions
  kernels::Memory& gradient_device_;  // of gradient work, which may run beside them
  Status allocated_ = ok_status();
  AlignedBuffer host_parameters_, host_gradient_;
  std::atomic<bool> parameters_changed_{false};  // since they were brought
  kernels::MemoryBuffer parameters_, gradient_, velocity_, target_;
  std::unordered_map<ChannelIndex, kernels::MemoryBuffer> estimates_;
  std::map<ShardIndex, OptimizerState> optimizer_state_;
  CompressScratch scratch_;
  AlignedBuffer looked_at_;  // what estimate() shows
};

}  // namespace kimesh
