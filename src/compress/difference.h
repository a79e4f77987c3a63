// What messages are made of: target − estimate of one channel, wherever the two lie, and the passes
// over them. Host memory here and in host_difference.h, a GPU's in device_difference.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/quantise.h"
#include "kimesh/compress/compressor.h"

namespace kimesh {

struct AdvanceJob;

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
  Difference() = default;
  virtual ~Difference() = default;
  Difference(const Difference&) = delete;
  Difference& operator=(const Difference&) = delete;

  [[nodiscard]] virtual std::size_t size() const = 0;
  [[nodiscard]] virtual bool has_estimate() const = 0;

  // No entries: what there would be to send.
  [[nodiscard]] virtual Result<Selected> survey(const AdvanceJob& job) = 0;
  // All that reach `lower` > 0.
  [[nodiscard]] virtual Result<Selected> select_reaching(const AdvanceJob& job, float lower) = 0;
  // The shares[l] largest of piece l, in the order of kernels::collect_topk. Shapes: shares
  // [pieces].
  [[nodiscard]] virtual Result<Selected> select_shares(const AdvanceJob& job,
                                                       std::span<const std::uint32_t> shares) = 0;
  // At least the `keep` largest of all and the floors[l] largest of piece l; the latter are in
  // scratch.floor_entries as well. Shapes: floors [pieces].
  [[nodiscard]] virtual Result<Selected> select_globally(const AdvanceJob& job, std::uint32_t keep,
                                                         std::span<const std::uint32_t> floors) = 0;
  // Fills `entries` with the `keep` largest of one piece.
  [[nodiscard]] virtual Status select_piece(const AdvanceJob& job, const Piece& piece,
                                            std::uint32_t keep, kernels::Entries& entries) = 0;

  // estimate[index] += value, as kernels::add_entries; nothing more where a pass of this job did
  // that on the way. `whole`: each value is the whole difference there, which spares a look at the
  // target.
  [[nodiscard]] virtual Result<kernels::Added> add(std::span<const std::uint32_t> indices,
                                                   std::span<const float> values, bool whole) = 0;
  // Fills `bytes` as kernels::quantise and adds what they decode to. `left`: energy of what is
  // left.
  [[nodiscard]] virtual Result<Selected> quantise(const AdvanceJob& job, kernels::Blocks blocks,
                                                  Rounding round, std::span<std::byte> bytes,
                                                  double& left) = 0;
  // Fills `bytes` with the target and makes it the estimate, where there is one.
  [[nodiscard]] virtual Result<Selected> assign(const AdvanceJob& job,
                                                std::span<std::byte> bytes) = 0;
};

}  // namespace kimesh
