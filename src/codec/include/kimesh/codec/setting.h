// What a message is made with. A setting is a decision: with the same setting and the same floats
// every run makes the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kimesh/kernels/rounding.h"

namespace kimesh {

class Codec;
// A codec with its keys filled in. Nobody changes it any more, so all settings share it.
using CodecPtr = std::shared_ptr<const Codec>;

// How large a message is.
struct Budget {
  enum class Kind : std::uint8_t {
    kDense,  // all elements in float32, assigned: no codec is asked
    kOwn,    // what the codec's own keys say: one size, or all that reaches a threshold
    kKeep,   // so many elements; codecs whose traits say keeps_elements
    kBytes,  // at most so many bytes, and nearly so many where there is enough to send; codecs
             // whose traits say meets_budgets
  };
  Kind kind = Kind::kDense;
  std::uint64_t amount = 0;  // elements or bytes

  [[nodiscard]] static Budget own() { return {Kind::kOwn, 0}; }
  [[nodiscard]] static Budget keep(std::uint64_t elements) { return {Kind::kKeep, elements}; }
  [[nodiscard]] static Budget bytes(std::uint64_t bytes) { return {Kind::kBytes, bytes}; }
  [[nodiscard]] bool is_dense() const { return kind == Kind::kDense; }
  // 0 where the budget is another one.
  [[nodiscard]] std::uint32_t elements() const {
    return kind == Kind::kKeep ? static_cast<std::uint32_t>(amount) : 0;
  }
  [[nodiscard]] std::uint64_t payload_bytes() const { return kind == Kind::kBytes ? amount : 0; }
  bool operator==(const Budget&) const = default;
};

// How the kept elements are divided among the pieces of the vector.
enum class Allocation : std::uint8_t {
  kProportional = 0,  // by the pieces' sizes: one ratio for all layers
  kGlobal = 1,        // to the largest, wherever they are, once every piece has its floor
  kListed = 2,        // as `shares` says
};

using kernels::Rounding;

// The default is a dense message.
struct Setting {
  CodecPtr codec;  // null only where the budget is dense
  Budget budget;
  // A counter that differs between messages: it rotates which small pieces get the elements that
  // rounding their shares leaves over, and seeds what a codec draws at random.
  std::uint32_t rotation = 0;
  Rounding rounding = Rounding::kTowardsZero;
  Allocation allocation = Allocation::kProportional;
  // Elements that are divided among the pieces by their sizes before all others (kGlobal), or for
  // which a codec with `has_floors` spends bytes in every piece.
  std::uint32_t floor = 0;
  std::vector<std::uint32_t> shares{};  // kListed: elements by piece, whose sum is the budget
  // The link is faster than an entropy coder: a codec that can write in fixed widths does.
  bool fast_link = false;
};
// Codecs are equal where their names and all their keys are.
[[nodiscard]] bool operator==(const Setting& a, const Setting& b);

// Bytes of a message with `bits` per element, and elements of one that keeps `ratio` of them: at
// least one. Requires bits > 0, 0 < ratio <= 1.
[[nodiscard]] std::uint64_t budget_of_bits(double bits, std::size_t size);
[[nodiscard]] std::uint32_t keep_of_ratio(double ratio, std::size_t size);

// Bytes of a dense message.
[[nodiscard]] constexpr std::size_t dense_bytes(std::size_t size) {
  return size * sizeof(float);
}

// An upper bound of the payload's length in bytes. Exact for dense messages, codecs of one size and
// topk with raw float32 entries, but for zeros, which are not sent. With a budget in bytes: the
// budget, at most what all of it takes.
[[nodiscard]] std::size_t bytes_of(const Setting& setting, std::size_t size);

// Whether messages of this setting may be summed and compressed again, hop by hop; else they are
// for routes of one hop.
[[nodiscard]] bool is_conservative(const Setting& setting);

// Why no policy decides on this setting for a vector of these pieces: half a sentence. Empty: one
// might.
[[nodiscard]] std::string complaint_about(const Setting& setting,
                                          std::span<const std::uint32_t> piece_sizes);

}  // namespace kimesh
