// What messages are made of: target − estimate of one channel, in one memory, and the passes over
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "kimesh/codec/codec.h"
#include "kimesh/kernels/memory.h"

namespace kimesh {

// What a pass found besides the entries that it left in the job's scratch.
struct Selected {
  kernels::Energies energies;  // of the whole vector
  Curve curve;                 // where it was asked for
};

// Passes fill job.scratch.entries, ascending, with elements of the difference; as a rule they read
// target and estimate once. Errors: NotFinite, with the index; the estimate is untouched then. Io
// where a device failed.
class Difference {
 public:
  // `estimate` has the target's size or, where none is kept, none. Nothing is owned.
  Difference(kernels::Memory& memory, kernels::ConstMemorySpan target, kernels::MemorySpan estimate)
      : memory_(memory), target_(target), estimate_(estimate) {}

  [[nodiscard]] std::size_t size() const { return target_.size; }
  [[nodiscard]] bool has_estimate() const { return estimate_.size == target_.size; }

  // No entries: what there would be to send.
  [[nodiscard]] Result<Selected> survey(const AdvanceJob& job);
  // All that reach `lower` > 0.
  [[nodiscard]] Result<Selected> select_reaching(const AdvanceJob& job, float lower);
  // The shares[l] largest of piece l, in the order of kernels::collect_topk. Shapes: shares
  // [pieces].
  [[nodiscard]] Result<Selected> select_shares(const AdvanceJob& job,
                                               std::span<const std::uint32_t> shares);
  // The floors[l] largest of piece l, and then the largest of the rest until `keep` are selected.
  // Shapes: floors [pieces].
  [[nodiscard]] Result<Selected> select_globally(const AdvanceJob& job, std::uint32_t keep,
                                                 std::span<const std::uint32_t> floors);
  // Fills `entries` with the `keep` largest of one piece.
  [[nodiscard]] Status select_piece(const AdvanceJob& job, const Piece& piece, std::uint32_t keep,
                                    kernels::Entries& entries);
  // The pieces' curves. Empty where a difference is not finite.
  [[nodiscard]] Result<Curve> measure(const AdvanceJob& job);

  // estimate[index] += value, as kernels::add_entries; nothing more where a pass of this job did
  // that on the way. `whole`: each value is the whole difference there, which spares a look at the
  // target.
  [[nodiscard]] Result<kernels::Added> add(std::span<const std::uint32_t> indices,
                                           std::span<const float> values, bool whole);
  // Fills `bytes` as kernels::quantise and adds what they decode to. `left`: energy of what is
  // left.
  [[nodiscard]] Result<Selected> quantise(const AdvanceJob& job, kernels::Blocks blocks,
                                          Rounding rounding, std::span<std::byte> bytes,
                                          double& left);
  // Fills `bytes` with the target and makes it the estimate, where there is one.
  [[nodiscard]] Result<Selected> assign(const AdvanceJob& job, std::span<std::byte> bytes);

  // The floats themselves, for compressors without CompressorTraits::on_devices, which nobody asks
  // for what lies elsewhere than on the host.
  [[nodiscard]] std::span<const float> target_on_host() const { return memory_.view(target_); }
  [[nodiscard]] std::span<const float> estimate_on_host() const { return memory_.view(estimate_); }
  // Error if the energies tell of an element that is not finite.
  [[nodiscard]] Status check_finite(const kernels::Energies& energies) const;

 private:
  // What one pass selects: all that reaches `lower`, where that is > 0; else the largest.
  struct Selection {
    std::span<const std::uint32_t> shares{};
    std::uint32_t in_all = 0;
    float lower = 0;
  };
  [[nodiscard]] Result<Selected> select(const AdvanceJob& job, const Selection& selection);

  kernels::Memory& memory_;
  kernels::ConstMemorySpan target_;
  kernels::MemorySpan estimate_;
  std::optional<kernels::Added> added_;  // by the last pass
};

// Adds scratch.entries to the estimate and fills in the energies and what was kept. `is_whole`:
// each value is the whole difference there. Requires the energies of the whole vector before.
[[nodiscard]] Status add_to_estimate(const AdvanceJob& job, const kernels::Energies& energies,
                                     Advanced& result, bool is_whole = false);

}  // namespace kimesh
