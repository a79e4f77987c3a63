// natural: natural compression (Horváth, Ho, Horváth, Sahu, Canini, Richtárik: "Natural compression
// for distributed deep learning", 2019): each element becomes its sign and one of the two powers of
// two around its magnitude, drawn so that the mean is the element. The relative variance is at most
// 1/8. Rounding up overshoots, so that the codec is not conservative: for routes of one hop.
//
//   natural   = signs exponents
//   signs     = a bit for each element, 1 below zero, the first element in the lowest bit; bits
//               behind the last element are 0
//   exponents = u8 for each element: 0 stands for 0, whose sign is 0; e from 1 to 254 for
//               ±2^(e − 127)
//
// Magnitudes under 2^-126 become 0, and those over 2^127 become 2^127: only these are biased. An
// element takes one 32-bit draw of the stream (Setting::rotation, 0, 0, kRounding), by its index.
#include <bit>

#include "kimesh/codec/codec.h"
#include "kimesh/util/random.h"

namespace kimesh {
namespace {

constexpr Form kNatural{11};
constexpr unsigned kMantissaBits = 23;
constexpr std::uint32_t kExponentMax = 254;  // 255 is infinity
constexpr std::size_t kSignsPerByte = 8;

std::size_t sign_bytes(std::size_t size) {
  return (size + kSignsPerByte - 1) / kSignsPerByte;
}

bool sign_at(std::span<const std::byte> signs, std::size_t j) {
  return (std::to_integer<unsigned>(signs[j / kSignsPerByte]) >> (j % kSignsPerByte) & 1) != 0;
}

// The exponent to send for a float32. The mantissa is the probability of rounding up, in 2^-23.
std::uint32_t rounded_exponent(std::uint32_t magnitude_bits, std::uint32_t draw) {
  const std::uint32_t exponent = magnitude_bits >> kMantissaBits;
  const std::uint32_t mantissa = magnitude_bits & ((1u << kMantissaBits) - 1);
  if (exponent == 0 || exponent == kExponentMax) return exponent;
  return exponent + (draw >> (32 - kMantissaBits) < mantissa ? 1 : 0);
}

Result<Content> decode_natural(std::span<const std::byte> payload, std::size_t size) {
  if (payload.size() != sign_bytes(size) + size)
    return malformed(std::to_string(payload.size()) + " bytes for " + std::to_string(size) +
                     " powers of two");
  const auto signs = payload.first(sign_bytes(size)), exponents = payload.subspan(signs.size());
  for (std::size_t j = size; j < kSignsPerByte * signs.size(); ++j)
    if (sign_at(signs, j)) return malformed("signs behind the last element");
  kernels::Entries entries;
  entries.resize(size);
  std::size_t count = 0;
  for (std::size_t j = 0; j < size; ++j) {
    const auto exponent = std::to_integer<std::uint32_t>(exponents[j]);
    if (exponent > kExponentMax) return malformed("an infinite power of two");
    if (exponent == 0 && sign_at(signs, j)) return malformed("a zero with a sign");
    if (exponent == 0) continue;
    const auto power = std::bit_cast<float>(exponent << kMantissaBits);
    entries.indices[count] = static_cast<std::uint32_t>(j);
    entries.values[count++] = sign_at(signs, j) ? -power : power;
  }
  entries.resize(count);
  return Content{AddEntries{std::move(entries)}};
}

class Natural final : public HostCodec {
 public:
  void describe(Keys& keys) override {
    keys.refuse({"indices", "values"}, "compressor: natural, which has a format of its own");
  }
  CodecTraits traits() const override { return {.conservative = false}; }
  std::span<const WireForm> forms() const override {
    static const WireForm kForms[] = {{kNatural, "natural", decode_natural,
                                       "signs, then exponents of powers of two: "
                                       "src/dense/natural.cpp"}};
    return kForms;
  }
  std::size_t bytes_max(std::size_t, std::size_t size) const override {
    return sign_bytes(size) + size;
  }

  Form encode(std::span<const float> difference, const Setting& setting,
              std::vector<std::byte>& bytes) const override {
    constexpr std::uint32_t kSignBit = 0x80000000;
    const std::size_t signs = bytes.size(), exponents = signs + sign_bytes(difference.size());
    bytes.resize(exponents + difference.size());
    Random random(setting.rotation, 0, 0, Purpose::kRounding);
    for (std::size_t j = 0; j < difference.size(); ++j) {
      const auto bits = std::bit_cast<std::uint32_t>(difference[j]);
      const std::uint32_t exponent = rounded_exponent(bits & ~kSignBit, random.next_u32());
      bytes[exponents + j] = static_cast<std::byte>(exponent);
      if (exponent != 0 && (bits & kSignBit) != 0)
        bytes[signs + j / kSignsPerByte] |= static_cast<std::byte>(1u << j % kSignsPerByte);
    }
    return kNatural;
  }
};

}  // namespace

Kind<Codec> natural_codec() {
  return {"natural", "a sign and a power of two, rounded at random without bias",
          make_options<Natural, Codec>};
}

}  // namespace kimesh
