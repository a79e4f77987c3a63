// Compressors: how a difference becomes bytes. The contract that every one keeps:
//   advance  (target, estimate, setting) -> bytes; the estimate becomes what the far side will hold
//   apply    (bytes, estimate)           -> the estimate; the same bits as at the sender
//   curve    (target, estimate)          -> how much messages of any size would leave out
// All numbers in the bytes are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/memory.h"
#include "kimesh/compress/curve.h"
#include "kimesh/compress/piece.h"
#include "kimesh/compress/setting.h"
#include "kimesh/util/aligned_buffer.h"
#include "kimesh/util/result.h"

namespace kimesh {

// How a message's payload is written. The numbers are part of the wire format: append, never
// renumber.
enum class Form : std::uint8_t {
  kEmpty = 0,     // no payload: control only, nothing is applied
  kDense = 1,     // float32, all elements; assigns. All others add.
  kSparse = 2,    // u32 indices, ascending, then float32 values
  kPacked = 3,    // indices and values in the formats that its first byte names: packed.h
  kSeeded = 4,    // values of a mask that both ends draw: seeded.h
  kBfloat16 = 5,  // all elements, the upper halves of float32
  kSign = 6,      // blocks of kernels/quantise.h, all elements
  kInt8 = 7,
  kInt4 = 8,
  kDzq = 9,        // dzq.h, entropy coded
  kDzqFixed = 10,  // dzq.h, fixed widths
};
inline constexpr std::uint8_t kFormsKnown = 11;  // 0 to 10

// An upper bound of the payload's length in bytes, exact for identity (4·size, or 2·size), sign,
// int8, int4 and topk in raw float32 (8·keep); zeros are not sent, so that a sparse message may be
// shorter. With a budget: the budget, at most what all of it takes.
[[nodiscard]] std::size_t bytes_of(const Setting& setting, std::size_t size);

// The most elements that topk can keep in `budget_bytes` with raw indices and float32 values, at
// most `size`; 0 when not even one fits.
[[nodiscard]] std::uint32_t topk_that_fits(std::size_t budget_bytes, std::size_t size);

// Shares of `keep` among the pieces in proportion to their sizes: cumulative rounding, offset by
// the fractional part of rotation times the golden ratio, so every piece gets its exact share over
// the rounds. Sums to keep; none exceeds its size. Requires keep <= the sum of the sizes < 2^32.
void share_out(std::uint32_t keep, std::uint32_t rotation, std::span<const Piece> pieces,
               std::span<std::uint32_t> shares);

struct Advanced {
  std::vector<std::byte> bytes;
  Form form = Form::kEmpty;
  std::uint64_t kept = 0;    // elements that the message carries
  double wanted_energy = 0;  // ‖target‖², summed in float64 in a fixed order
  double missing_energy = 0;  // ‖target − estimate after‖², to 4e-15 of ‖target − estimate before‖²
  Curve curve;  // of target − estimate before, where it was asked for and an estimate is kept
};

// Memory that the caller keeps between calls, so that a message allocates its bytes only. One
// thread at a time.
struct CompressScratch {
  std::vector<std::uint32_t> shares;
  kernels::Entries entries, floor_entries;
  kernels::SelectScratch select;
};

// Writes the message that brings `estimate` nearer to `target`. Identity in float32 assigns;
// `estimate` may be empty then, where no estimate is kept. All others add, with one rounding per
// operation, what apply will add. Topk: the k_l largest |target − estimate| of each piece, ties to
// the lower index; zeros are never selected. kNothing: no bytes, energies only. A budget is never
// passed, not by one byte; a threshold or step without one never takes more bytes than identity,
// which is sent then.
// Pieces cover the vector in order. Requires a setting in its ranges and a budget of at least
// smallest_message_bytes. Errors: NotFinite, with the index; the estimate is untouched then.
[[nodiscard]] Result<Advanced> advance(std::span<const float> target, std::span<float> estimate,
                                       std::span<const Piece> pieces, const Setting& setting,
                                       CompressScratch& scratch, bool with_curve = false);

// The same wherever the floats lie; elsewhere than on the host for compressors whose traits say
// on_devices. The bytes and the estimate are the same in every memory; energies and curves may
// differ in their last digits. Errors: also Io, when a device failed; then nothing on it is worth
// anything.
[[nodiscard]] Result<Advanced> advance(kernels::Memory& memory, kernels::ConstMemorySpan target,
                                       kernels::MemorySpan estimate, std::span<const Piece> pieces,
                                       const Setting& setting, CompressScratch& scratch,
                                       bool with_curve = false);

// What advance says of the element at `index`.
[[nodiscard]] Error not_finite_at(std::size_t index);

// Whether `bytes` are a message for `size` elements. Errors: Malformed (a length, count, symbol,
// index or table that no correct sender writes, values not finite).
[[nodiscard]] Status validate(Form form, std::span<const std::byte> bytes, std::size_t size);

// Adds (dense: assigns) what `bytes` decode to. Errors: as validate; the estimate is untouched
// then.
[[nodiscard]] Status apply(Form form, std::span<const std::byte> bytes, std::span<float> estimate);

// The same wherever the estimate lies. Queued when it returns, where the memory has a queue.
[[nodiscard]] Status apply(Form form, std::span<const std::byte> bytes, kernels::Memory& memory,
                           kernels::MemorySpan estimate);

}  // namespace kimesh
