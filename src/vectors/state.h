// The buffers behind Vectors, and how a BufferId finds its floats.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "kimesh/optimizer/optimizer.h"
#include "kimesh/vectors/vectors.h"

namespace kimesh {

class Vectors::State {
 public:
  State(const Plan& plan, NodeIndex self, VectorsOptions options);

  [[nodiscard]] std::span<float> shard_span(ShardIndex shard);
  // The estimate that a channel's buffer names; empty when none is kept.
  [[nodiscard]] std::span<float> estimate_span(ChannelIndex channel);
  // Where an action's estimate lies. Requires a buffer that is not read only.
  [[nodiscard]] std::span<float> writable(BufferId buffer, ShardIndex shard);
  // The sum of the terms, added in order with one rounding each: in place where there is but one
  // buffer to read, else in `target`.
  [[nodiscard]] std::span<const float> sum(std::span<const BufferId> terms, ShardIndex shard);
  // One message of an outgoing channel, by the feedback that the action names.
  [[nodiscard]] Result<Advanced> send(const AdvanceChannel& action, std::span<const float> wanted,
                                      std::span<float> estimate);
  // The layers' slices of a shard; valid until the next call.
  [[nodiscard]] std::span<const Piece> pieces_of(ShardIndex shard);
  // Names the layer of the first element of `values`, a shard's, that is NaN or infinite.
  [[nodiscard]] std::string describe_not_finite(std::span<const float> values,
                                                ShardIndex shard) const;

  const Plan& plan;
  const NodeIndex self;
  const VectorsOptions options;
  AlignedBuffer parameters, gradient, velocity;
  // Only this node's channels: a plan of 1,000 nodes has millions.
  std::unordered_map<ChannelIndex, AlignedBuffer> estimates;
  std::map<ShardIndex, ShardOptimizer> optimizers;  // of the owned shards
  AlignedBuffer target;
  CompressScratch scratch;
  std::optional<Error> step_error;

 private:
  void add_term(BufferId term, ShardIndex shard, bool first);

  std::vector<Piece> pieces_;
};

}  // namespace kimesh
