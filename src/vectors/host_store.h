// Vectors in the host's memory.
#pragma once

#include <map>
#include <unordered_map>

#include "kimesh/optimizer/optimizer.h"
#include "src/vectors/store.h"

namespace kimesh {

class Vectors::HostStore final : public Store {
 public:
  HostStore(const Plan& plan, NodeIndex self, const VectorsOptions& options);

  std::span<float> parameters() override { return parameters_.span(); }
  std::span<float> gradient() override { return gradient_.span(); }
  void start() override;
  Status bring_parameters() override { return ok_status(); }
  Status fold_gradient() override;
  Result<AdvanceResult> advance(const AdvanceChannel& action) override;
  Result<std::uint64_t> apply(const ApplyMessage& action,
                              std::span<const std::byte> payload) override;
  Result<std::uint64_t> step(const StepShard& action) override;
  bool has_estimate(ChannelIndex channel) const override { return estimates_.contains(channel); }
  std::span<const float> shard(ShardIndex shard) override { return shard_span(shard); }
  std::span<const float> estimate(ChannelIndex channel) override { return estimate_span(channel); }
  std::size_t bytes_held() const override;
  void corrupt_parameters(ShardIndex shard) override;
  void corrupt_estimate(ChannelIndex channel) override;

 private:
  [[nodiscard]] std::span<float> shard_span(ShardIndex shard);
  // Empty when none is kept.
  [[nodiscard]] std::span<float> estimate_span(ChannelIndex channel);
  // Where an action's estimate lies.
  [[nodiscard]] std::span<float> writable(BufferId buffer, ShardIndex shard);
  // The sum of the terms, added in order with one rounding each: in place where there is but one
  // buffer to read, else in `target_`.
  [[nodiscard]] std::span<const float> sum(std::span<const BufferId> terms, ShardIndex shard);
  void add_term(BufferId term, ShardIndex shard, bool first);
  // One message of an outgoing channel, by the feedback that the action names.
  [[nodiscard]] Result<Advanced> send(const AdvanceChannel& action, std::span<const float> wanted,
                                      std::span<float> estimate);

  AlignedBuffer parameters_, gradient_, velocity_;
  std::unordered_map<ChannelIndex, AlignedBuffer> estimates_;
  std::map<ShardIndex, ShardOptimizer> optimizers_;  // of the owned shards
  AlignedBuffer target_;
  CompressScratch scratch_;
};

}  // namespace kimesh
