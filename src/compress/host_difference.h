// A difference in host memory: spans.
#pragma once

#include <span>

#include "src/compress/families.h"

namespace kimesh {

class HostDifference final : public Difference {
 public:
  // `estimate` has the target's size or, where none is kept, none. Neither is owned.
  HostDifference(std::span<const float> target, std::span<float> estimate)
      : target_(target), estimate_(estimate) {}

  std::size_t size() const override { return target_.size(); }
  bool has_estimate() const override { return estimate_.size() == target_.size(); }
  Result<Selected> survey(const AdvanceJob& job) override;
  Result<Selected> select_reaching(const AdvanceJob& job, float lower) override;
  Result<Selected> select_shares(const AdvanceJob& job,
                                 std::span<const std::uint32_t> shares) override;
  Result<Selected> select_globally(const AdvanceJob& job, std::uint32_t keep,
                                   std::span<const std::uint32_t> floors) override;
  Status select_piece(const AdvanceJob& job, const Piece& piece, std::uint32_t keep,
                      kernels::Entries& entries) override;
  Result<kernels::Added> add(std::span<const std::uint32_t> indices, std::span<const float> values,
                             bool whole) override;
  Result<Selected> quantise(const AdvanceJob& job, kernels::Blocks blocks, Rounding round,
                            std::span<std::byte> bytes, double& left) override;
  Result<Selected> assign(const AdvanceJob& job, std::span<std::byte> bytes) override;

  // For compressors that only a host has.
  [[nodiscard]] std::span<const float> target() const { return target_; }
  [[nodiscard]] std::span<float> estimate() const { return estimate_; }
  // Error if the energies tell of an element that is not finite.
  [[nodiscard]] Status check_finite(const kernels::Energies& energies) const;
  // What there was to send, by piece, although all of it may be sent: a policy may want less the
  // next time. Empty where that is not finite.
  [[nodiscard]] Curve curve(const AdvanceJob& job) const;

 private:
  // kernels::collect on a piece, with positions in the whole vector; where `curve` is not null, it
  // gets the piece's curve while its elements are in the cache. Where the piece is sampled what
  // reaches `lower` is known exactly: the larger a share of the energy that is, the better.
  kernels::Energies collect_piece(const AdvanceJob& job, const Piece& piece, float lower,
                                  kernels::Entries& entries, Curve* curve) const;
  // What a piece's `share` largest are among, and nothing but zeros smaller than all of them; nor
  // anything that `always` does not reach.
  kernels::Energies collect_share(const AdvanceJob& job, const Piece& piece, std::size_t share,
                                  float always, kernels::Entries& entries, Curve* curve) const;
  kernels::Energies collect_globally(const AdvanceJob& job, std::uint32_t keep,
                                     std::span<const std::uint32_t> floors, Curve* curve) const;
  std::span<const float> target_;
  std::span<float> estimate_;
};

// The job's, which lies on the host: of the compressors that no device has.
[[nodiscard]] const HostDifference& host_of(const AdvanceJob& job);

}  // namespace kimesh
