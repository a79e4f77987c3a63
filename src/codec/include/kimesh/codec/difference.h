// The difference target − estimate of a channel, in the memory where both lie, and the passes over
// it that make messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kimesh/codec/codec.h"
#include "kimesh/kernels/memory.h"

namespace kimesh {

// What a pass measured; the entries that it selected are in the job's scratch.
struct PassSummary {
  kernels::Energies energies;  // of the whole vector
  Curve curve;                 // empty where it was not asked for
};

// Passes fill job.scratch.entries with elements of the difference, by ascending index. Most read
// target and estimate once. Errors: NotFinite, with the index; the estimate is untouched then. Io,
// where a device failed. Thread: one at a time.
class Difference {
 public:
  // Borrows all three. `estimate` has the size of `target`, or 0 where no estimate is kept.
  Difference(kernels::Memory& memory, kernels::ConstMemorySpan target, kernels::MemorySpan estimate)
      : memory_(memory), target_(target), estimate_(estimate) {}

  [[nodiscard]] std::size_t size() const { return target_.size; }
  [[nodiscard]] bool has_estimate() const { return estimate_.size == target_.size; }

  // Measures the difference and selects nothing.
  [[nodiscard]] Result<PassSummary> survey(const AdvanceJob& job);
  // Selects the elements whose magnitude is at least `lower` > 0.
  [[nodiscard]] Result<PassSummary> select_reaching(const AdvanceJob& job, float lower);
  // Selects the shares[l] largest elements of piece l, with ties as in kernels::collect_topk.
  // Shapes: shares [pieces].
  [[nodiscard]] Result<PassSummary> select_shares(const AdvanceJob& job,
                                                  std::span<const std::uint32_t> shares);
  // Selects the floors[l] largest elements of piece l, then the largest of all others until `keep`
  // are selected. Shapes: floors [pieces].
  [[nodiscard]] Result<PassSummary> select_globally(const AdvanceJob& job, std::uint32_t keep,
                                                    std::span<const std::uint32_t> floors);
  // Fills `entries` with the `keep` largest elements of one piece.
  [[nodiscard]] Status select_piece(const AdvanceJob& job, const Piece& piece, std::uint32_t keep,
                                    kernels::Entries& entries);
  // Measures the curves of the pieces. Empty where an element is not finite.
  [[nodiscard]] Result<Curve> measure(const AdvanceJob& job);

  // Adds entries to the estimate, as kernels::add_entries, unless the last pass did so already.
  // `whole`: each value is the whole difference at its index, so that the target is not read.
  [[nodiscard]] Result<kernels::Added> add(std::span<const std::uint32_t> indices,
                                           std::span<const float> values, bool whole);
  // Fills `bytes` as kernels::quantise and adds what they decode to. `left` becomes the energy of
  // the difference afterwards.
  [[nodiscard]] Result<PassSummary> quantise(const AdvanceJob& job, kernels::BlockFormat blocks,
                                             Rounding rounding, std::span<std::byte> bytes,
                                             double& left);
  // Appends the target to `bytes`, and copies it to the estimate where there is one.
  [[nodiscard]] Result<PassSummary> assign(const AdvanceJob& job, std::vector<std::byte>& bytes);

  // The floats, for codecs whose traits do not say on_devices. Require memory on the host.
  [[nodiscard]] std::span<const float> target_on_host() const { return memory_.view(target_); }
  [[nodiscard]] std::span<const float> estimate_on_host() const { return memory_.view(estimate_); }
  // Errors: NotFinite, with the index of the first such element, where the energies are not finite.
  [[nodiscard]] Status check_finite(const kernels::Energies& energies) const;

 private:
  // What a pass selects: all elements of at least `lower` where that is > 0, else the largest.
  struct Selection {
    std::span<const std::uint32_t> shares{};
    std::uint32_t in_all = 0;
    float lower = 0;
  };
  // Appends the target to `bytes` and returns its energy, which is finite where all elements are.
  [[nodiscard]] Result<double> append_target(std::vector<std::byte>& bytes);
  [[nodiscard]] Result<PassSummary> select(const AdvanceJob& job, const Selection& selection);

  kernels::Memory& memory_;
  kernels::ConstMemorySpan target_;
  kernels::MemorySpan estimate_;
  std::optional<kernels::Added> added_;  // what the last pass added to the estimate
};

// How many of the ascending positions `indices` each of the pieces holds. Shape: [pieces].
[[nodiscard]] std::vector<std::uint32_t> count_by_piece(std::span<const std::uint32_t> indices,
                                                        std::span<const Piece> pieces);

// Adds scratch.entries to the estimate, and fills in `result`: the energies and the number of
// elements, of each piece too. `energies` are those of the whole vector before. `is_whole`: each
// value is the whole difference at its index.
[[nodiscard]] Status add_to_estimate(const AdvanceJob& job, const kernels::Energies& energies,
                                     Advanced& result, bool is_whole = false);

}  // namespace kimesh
