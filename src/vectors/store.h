// Where a node's float vectors lie, and a core's actions carried out on them there. Vectors checks
// actions and names what failed; stores do the work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kimesh/vectors/vectors.h"

namespace kimesh {

// Methods promise what those of Vectors do. Threads: as there.
class Vectors::Store {
 public:
  // `plan` outlives this.
  Store(const Plan& plan, NodeIndex self, const VectorsOptions& options)
      : plan_(plan), self_(self), options_(options) {}
  virtual ~Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  [[nodiscard]] virtual std::span<float> parameters() = 0;
  [[nodiscard]] virtual std::span<float> gradient() = 0;
  virtual void start() = 0;
  [[nodiscard]] virtual Status bring_parameters() = 0;
  [[nodiscard]] virtual Status fold_gradient() = 0;
  // Errors: NotFinite, with the layer, or Io.
  [[nodiscard]] virtual Result<AdvanceResult> advance(const AdvanceChannel& action) = 0;
  // Errors: Malformed or Io.
  [[nodiscard]] virtual Result<std::uint64_t> apply(const ApplyMessage& action,
                                                    std::span<const std::byte> payload) = 0;
  // Errors: NotFinite, with the layer; x[s] is untouched then. Io.
  [[nodiscard]] virtual Result<std::uint64_t> step(const StepShard& action) = 0;

  [[nodiscard]] virtual bool has_estimate(ChannelIndex channel) const = 0;
  // For those who look from outside.
  [[nodiscard]] virtual std::span<const float> shard(ShardIndex shard) = 0;
  [[nodiscard]] virtual std::span<const float> estimate(ChannelIndex channel) = 0;
  [[nodiscard]] virtual std::size_t bytes_held() const = 0;
  virtual void corrupt_parameters(ShardIndex shard) = 0;
  virtual void corrupt_estimate(ChannelIndex channel) = 0;

  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] NodeIndex self() const { return self_; }

 protected:
  [[nodiscard]] const VectorsOptions& options() const { return options_; }
  [[nodiscard]] static AdvanceResult with_digest(Advanced made, std::uint64_t digest);
  // Of the largest shard.
  [[nodiscard]] std::size_t largest_shard() const;
  // Channels for which this node holds an estimate.
  [[nodiscard]] std::vector<ChannelIndex> kept_estimates() const;
  [[nodiscard]] std::size_t elements_of(ChannelIndex channel) const;
  // The layers' slices of a shard; valid until the next call.
  [[nodiscard]] std::span<const Piece> pieces_of(ShardIndex shard);
  // NotFinite: names the layer of a shard's element. Without one a difference was too large for
  // float32, although both sides are finite.
  [[nodiscard]] Error not_finite(std::optional<std::size_t> element, ShardIndex shard) const;
  // Requires a buffer of the action's shard that may change.
  void check_writable(BufferId buffer, ShardIndex shard) const;

 private:
  const Plan& plan_;
  const NodeIndex self_;
  const VectorsOptions options_;
  std::vector<Piece> pieces_;
};

}  // namespace kimesh
