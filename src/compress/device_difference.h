// A difference in a GPU's memory. What a pass selects comes back in one copy, what a message adds
// goes there in one; where both are the same, nothing goes.
#pragma once

#include <optional>

#include "kernels/memory.h"
#include "src/compress/families.h"

namespace kimesh {

class DeviceDifference final : public Difference {
 public:
  // `estimate` has the target's size or, where none is kept, none. Nothing is owned.
  DeviceDifference(kernels::Memory& device, kernels::MemorySpan target,
                   kernels::MemorySpan estimate)
      : device_(device), target_(target), estimate_(estimate) {}

  std::size_t size() const override { return target_.size; }
  bool has_estimate() const override { return estimate_.size == target_.size; }
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

 private:
  // Of all pieces, before the estimate changes; empty where nobody asked.
  [[nodiscard]] Result<Curve> curve(const AdvanceJob& job);
  // What a step of the device found.
  [[nodiscard]] Result<Selected> selected(const AdvanceJob& job, Result<kernels::Stepped> stepped,
                                          Result<Curve> curve);
  [[nodiscard]] Status check_finite(const kernels::Energies& energies);

  kernels::Memory& device_;
  kernels::MemorySpan target_, estimate_;
  std::optional<kernels::Added> added_;  // by the last pass
};

}  // namespace kimesh
