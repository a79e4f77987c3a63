// Compressors: how a difference becomes bytes. The contract that every form keeps:
//   advance  (target, estimate, setting) -> bytes; the estimate becomes what the far side will hold
//   apply    (bytes, estimate)           -> the estimate; the same bits as at the sender
//   bytes_of (setting, size)             -> the length of the bytes, before any work is done
// All numbers in the bytes are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/topk.h"
#include "kimesh/compress/curve.h"
#include "kimesh/compress/piece.h"
#include "kimesh/util/aligned_buffer.h"
#include "kimesh/util/result.h"

namespace kimesh {

// How a message's payload is written. The numbers are part of the wire format: append, never
// renumber.
enum class Form : std::uint8_t {
  kEmpty = 0,  // no payload: control only, nothing is applied
  kDense = 1,  // float32, all elements; assigns
  kTopk = 2,   // u32 indices, ascending, then float32 values; adds
};

// How topk divides `keep` among the pieces.
enum class Allocation : std::uint8_t {
  kProportional = 0,  // by their sizes: one ratio for all layers
  kGlobal = 1,        // to the largest, wherever they are, once every piece has its floor
  kListed = 2,        // as `shares` says
};

struct Setting {
  Form form = Form::kDense;
  std::uint32_t keep = 0;  // topk: elements kept in all; 1 <= keep <= size
  // topk: turns the rounding of the pieces' shares, so that small pieces get their turn; a counter
  std::uint32_t rotation = 0;
  Allocation allocation = Allocation::kProportional;
  std::uint32_t floor = 0;  // kGlobal: of `keep`, so many go to the pieces by their sizes first
  std::vector<std::uint32_t>
      shares{};  // kListed: by piece, none over its size; their sum is `keep`
  bool operator==(const Setting&) const = default;
};

// Exact payload length in bytes: dense 4·size, topk 8·keep, empty 0. (Form and length travel in the
// message header.) Zeros are not sent, so that a topk message may be shorter.
[[nodiscard]] std::size_t bytes_of(const Setting& setting, std::size_t size);

// The most elements that topk can keep in `budget_bytes`, at most `size`; 0 when not even one fits.
[[nodiscard]] std::uint32_t topk_that_fits(std::size_t budget_bytes, std::size_t size);

// Shares of `keep` among the pieces in proportion to their sizes: cumulative rounding, offset by
// the fractional part of rotation times the golden ratio, so every piece gets its exact share over
// the rounds. Sums to keep; none exceeds its size. Requires keep <= the sum of the sizes < 2^32.
void share_out(std::uint32_t keep, std::uint32_t rotation, std::span<const Piece> pieces,
               std::span<std::uint32_t> shares);

struct Advanced {
  std::vector<std::byte> bytes;
  double wanted_energy = 0;  // ‖target‖², summed in float64 in a fixed order
  double missing_energy = 0;  // ‖target − estimate after‖², to 1e-15 of ‖target − estimate before‖²
  Curve curve;  // of target − estimate before, where it was asked for and an estimate is kept
};

// Memory that the caller keeps between calls, so that a message allocates its bytes only. `reserve`
// takes the float vector at once; else the first call that needs it does. One thread at a time.
struct CompressScratch {
  AlignedBuffer difference;
  std::vector<std::uint32_t> shares, indices;
  std::vector<float> values;
  kernels::TopkScratch topk;
  void reserve(std::size_t size);
};

// Writes the message that brings `estimate` nearer to `target`. Dense: assigns; `estimate` may be
// empty then, where no estimate is kept. Topk: the k_l largest |target − estimate| of each piece,
// ties to the lower index, zeros never selected (the message is then shorter than bytes_of says);
// adds, with one rounding per operation, what apply will add. Empty: no bytes, energies only.
// Pieces cover the vector in order. Errors: NotFinite, with the index; the estimate is untouched
// then.
[[nodiscard]] Result<Advanced> advance(std::span<const float> target, std::span<float> estimate,
                                       std::span<const Piece> pieces, const Setting& setting,
                                       CompressScratch& scratch, bool with_curve = false);

// What advance says of the element at `index`.
[[nodiscard]] Error not_finite_at(std::size_t index);

// Whether `bytes` are a message for `size` elements. Errors: Malformed (wrong length, indices not
// ascending or out of range, values not finite).
[[nodiscard]] Status validate(Form form, std::span<const std::byte> bytes, std::size_t size);

// Adds (topk) or assigns (dense) what `bytes` decode to. Errors: as validate; the estimate is
// untouched then.
[[nodiscard]] Status apply(Form form, std::span<const std::byte> bytes, std::span<float> estimate);

}  // namespace kimesh
