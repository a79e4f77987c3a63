// What a compressor is asked for. A setting is a decision: with the same setting and the same
// floats every run makes the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "kernels/rounding.h"

namespace kimesh {

// How the sender makes a message. What the receiver needs to know is the Form that results.
enum class Compressor : std::uint8_t {
  kNothing,    // no payload: control only
  kIdentity,   // everything; float32 assigns, bfloat16 adds
  kTopk,       // the exact `keep` largest
  kThreshold,  // all that reach `threshold`
  kRandk,      // `keep` elements drawn from the seed `rotation`, which takes the indices' place
  kDgc,        // those above a threshold that a sample gives (Lin et al., 2018), at most `keep`
  kRedsync,    // those above a threshold bisected between mean and largest (Fang et al., 2019)
  kSign,       // one bit each, and the mean magnitude of a block
  kInt8,       // blocks of levels -127..127
  kInt4,       // blocks of levels -7..7
  kDzq,        // dead-zone quantiser with one step for all, entropy coded
};

// How topk divides `keep` among the pieces.
enum class Allocation : std::uint8_t {
  kProportional = 0,  // by their sizes: one ratio for all layers
  kGlobal = 1,        // to the largest, wherever they are, once every piece has its floor
  kListed = 2,        // as `shares` says
};

// How a sparse message writes its values and its indices.
enum class ValueFormat : std::uint8_t { kFloat32, kFloat16, kBfloat16, kInt4 };
enum class IndexFormat : std::uint8_t { kRaw, kPacked, kCoded };

using kernels::Rounding;

// How dzq writes what it quantised: with as few bytes as it can, or in fixed widths, for links that
// are faster than the entropy coder.
enum class Coder : std::uint8_t { kEntropy, kFixedWidth };

struct Setting {
  Compressor compressor = Compressor::kIdentity;
  // topk, randk, dgc, redsync: elements kept in all, 1 <= keep <= size; the last two keep about so
  // many, never more.
  std::uint32_t keep = 0;
  // A counter. topk: turns the rounding of the pieces' shares, so that small pieces get their turn;
  // randk: the mask's seed.
  std::uint32_t rotation = 0;
  Allocation allocation = Allocation::kProportional;
  // kGlobal: of `keep`, so many go to the pieces by their sizes first. dzq: every piece gets a
  // step fine enough for its part of so many elements.
  std::uint32_t floor = 0;
  std::vector<std::uint32_t>
      shares{};  // kListed: by piece, none over its size; their sum is `keep`

  // > 0: the message takes at most so many bytes, and nearly so many where there is enough to
  // send. Instead of `keep` (which is 0 then), `threshold` and `step`.
  std::uint64_t budget_bytes = 0;
  float threshold = 0;  // threshold: finite, > 0
  float step = 0;       // dzq without a budget: width of a bin, finite, > 0
  ValueFormat values = ValueFormat::kFloat32;
  IndexFormat indices = IndexFormat::kRaw;
  Rounding rounding = Rounding::kTowardsZero;
  Coder coder = Coder::kEntropy;
  // randk: values times size / keep, so that the message is right on average (unbiased). For one
  // hop without feedback only.
  bool scaled = false;
  bool operator==(const Setting&) const = default;
};

// Bytes of a message with `bits` per element, and elements of one that keeps `ratio` of them: at
// least one. Requires bits > 0, 0 < ratio <= 1.
[[nodiscard]] std::uint64_t budget_of_bits(double bits, std::size_t size);
[[nodiscard]] std::uint32_t keep_of_ratio(double ratio, std::size_t size);

// "topk", as configs and logs write it; and back.
[[nodiscard]] std::string_view name_of(Compressor compressor);
[[nodiscard]] std::optional<Compressor> compressor_named(std::string_view name);

// What a compressor promises.
struct CompressorTraits {
  // |C(v)_j| + |v_j - C(v)_j| = |v_j| for every j, where values are rounded towards zero.
  bool conservative = false;
  // Its messages become as small as asked; else a message has one size.
  bool meets_budgets = false;
  // The passes of kernels/memory.h are all that it needs; the others look at floats on the host.
  bool on_devices = false;
};
[[nodiscard]] CompressorTraits traits_of(Compressor compressor);

// Whether messages of this setting may travel on in a chain; else they are for one hop only.
[[nodiscard]] bool is_conservative(const Setting& setting);

// The smallest budget_bytes that this setting's compressor can keep for `size` elements whatever
// these are: what one element takes, or everything where a message has but one size.
[[nodiscard]] std::size_t smallest_message_bytes(const Setting& setting, std::size_t size);

}  // namespace kimesh
