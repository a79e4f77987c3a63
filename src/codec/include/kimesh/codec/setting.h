// The setting of a message: what a policy decides. The same setting and the same floats give the
// same bytes in every run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "kimesh/kernels/rounding.h"

namespace kimesh {

class Codec;
// A codec with the values of its keys. It is constant, so that all settings share it.
using CodecPtr = std::shared_ptr<const Codec>;

// The size of a message's payload. A policy's budget, in bytes, includes headers
// (Choice::budget_bytes).
struct Budget {
  enum class Kind : std::uint8_t {
    kDense,  // all elements in float32, assigned; no codec takes part
    kOwn,    // as the codec's keys say: one size, or all elements that reach a threshold
    kKeep,   // a number of elements; for codecs whose traits say keeps_elements
    kBytes,  // a number of bytes that is never passed, and nearly used where there is enough to
             // send; for codecs whose traits say meets_budgets
  };
  Kind kind = Kind::kDense;
  std::uint64_t amount = 0;  // elements or bytes

  [[nodiscard]] static Budget own() { return {Kind::kOwn, 0}; }
  [[nodiscard]] static Budget keep(std::uint64_t elements) { return {Kind::kKeep, elements}; }
  [[nodiscard]] static Budget bytes(std::uint64_t bytes) { return {Kind::kBytes, bytes}; }
  [[nodiscard]] bool is_dense() const { return kind == Kind::kDense; }
  // elements() and payload_bytes() are 0 where the budget is of another kind.
  [[nodiscard]] std::uint32_t elements() const {
    return kind == Kind::kKeep ? static_cast<std::uint32_t>(amount) : 0;
  }
  [[nodiscard]] std::uint64_t payload_bytes() const { return kind == Kind::kBytes ? amount : 0; }
  bool operator==(const Budget&) const = default;
  template <typename Self>
  static auto state_of(Self& self) {
    return std::tie(self.kind, self.amount);
  }
  [[nodiscard]] bool is_sound() const { return kind <= Kind::kBytes; }
};

// How kept elements are divided among the pieces of a vector.
enum class Allocation : std::uint8_t {
  kProportional = 0,  // by the pieces' sizes: one ratio for all layers
  kGlobal = 1,        // to the largest elements of all pieces, once every piece has its floor
  kListed = 2,        // as `shares` says
};

using kernels::Rounding;

// The default is a dense message.
struct Setting {
  CodecPtr codec;  // null only where the budget is dense
  Budget budget;
  // A counter that differs between the messages of a channel. It rotates which small pieces get the
  // elements that rounding of shares leaves over, and it seeds the random draws of a codec.
  std::uint32_t rotation = 0;
  Rounding rounding = Rounding::kTowardsZero;
  Allocation allocation = Allocation::kProportional;
  // Elements that are divided among the pieces by their sizes before all others (kGlobal, and
  // codecs with the trait has_floors).
  std::uint32_t floor = 0;
  std::vector<std::uint32_t> shares{};  // kListed: elements of each piece; they sum to the budget
};
// Two codecs are equal where their names and the values of all keys are.
[[nodiscard]] bool operator==(const Setting& a, const Setting& b);

// The bytes of a message with `bits` per element, and the elements of one that keeps the share
// `ratio`; at least one. Requires bits > 0, 0 < ratio <= 1.
[[nodiscard]] std::uint64_t budget_of_bits(double bits, std::size_t size);
[[nodiscard]] std::uint32_t keep_of_ratio(double ratio, std::size_t size);

// Bytes of a dense message.
[[nodiscard]] constexpr std::size_t dense_bytes(std::size_t size) {
  return size * sizeof(float);
}

// An upper bound of the payload in bytes. Exact for dense messages and codecs of one size, and for
// topk with raw float32 entries where no element is 0. With a budget in bytes: the budget, or the
// bytes of all elements where these are fewer.
[[nodiscard]] std::size_t bytes_of(const Setting& setting, std::size_t size);

// Whether messages of this setting may be summed and compressed again, hop by hop. Others are for
// messages that no later hop compresses again.
[[nodiscard]] bool is_conservative(const Setting& setting);

// Why this setting is wrong for a vector of these pieces, as half a sentence. Empty where it is
// right.
[[nodiscard]] std::string complaint_about(const Setting& setting,
                                          std::span<const std::uint32_t> piece_sizes);

}  // namespace kimesh
