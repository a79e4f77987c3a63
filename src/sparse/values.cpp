#include "values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "kimesh/codec/difference.h"
#include "kimesh/codec/payload.h"
#include "kimesh/kernels/small_floats.h"
#include "kimesh/util/check.h"

namespace kimesh {
namespace {

constexpr std::size_t kBlock = 64;  // values that share a step
constexpr int kLevelMax = 7;
// The largest exponent of a scaled value: one that is rounded up stays finite in binary16. And the
// smallest scale: with it the smallest binary16 decodes to the smallest float32.
constexpr int kFloat16Top = 14, kFloat16ScaleMin = -125, kFloat16ScaleMax = 127 - kFloat16Top;

template <typename T>
void append(std::vector<std::byte>& bytes, T value) {
  const std::size_t end = bytes.size();
  bytes.resize(end + sizeof(T));
  std::memcpy(bytes.data() + end, &value, sizeof(T));
}

// The smallest and the largest magnitude; both 0 where there is no value.
struct Magnitudes {
  float lowest = 0, largest = 0;
};
Magnitudes magnitudes_of(std::span<const float> values) {
  if (values.empty()) return {};
  Magnitudes found{std::abs(values.front()), 0};
  for (const float value : values) {
    found.lowest = std::min(found.lowest, std::abs(value));
    found.largest = std::max(found.largest, std::abs(value));
  }
  return found;
}

int float16_scale(float largest) {
  const auto exponent = static_cast<int>(kernels::magnitude_bits(largest) >> 23) - 127;
  return std::max(exponent - kFloat16Top, kFloat16ScaleMin);
}

// binary16 times a power of two.
struct Float16 {
  explicit Float16(int scale)
      : up(kernels::power_of_two(scale)), down(kernels::power_of_two(-scale)) {}
  [[nodiscard]] std::uint16_t encode(float value, Rounding rounding) const {
    const std::uint16_t code = kernels::to_float16(value * down, rounding);
    // A value next to the largest float32 must not be rounded to infinity.
    return std::isfinite(decode(code)) ? code
                                       : kernels::to_float16(value * down, Rounding::kTowardsZero);
  }
  [[nodiscard]] float decode(std::uint16_t code) const { return kernels::from_float16(code) * up; }
  float up, down;
};

struct Bfloat16 {
  [[nodiscard]] std::uint16_t encode(float value, Rounding rounding) const {
    return kernels::to_bfloat16(value, rounding);
  }
  [[nodiscard]] float decode(std::uint16_t code) const { return kernels::from_bfloat16(code); }
};

template <typename Format>
void write_halves(const Format& format, Rounding rounding, bool drop_zeros,
                  kernels::Entries& entries, std::vector<std::byte>& bytes) {
  const std::size_t begin = bytes.size();
  bytes.resize(begin + entries.size() * sizeof(std::uint16_t));
  std::size_t kept = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::uint16_t code = format.encode(entries.values[i], rounding);
    const float value = format.decode(code);
    if (drop_zeros && value == 0) continue;
    std::memcpy(bytes.data() + begin + kept * sizeof(code), &code, sizeof(code));
    entries.indices[kept] = entries.indices[i];
    entries.values[kept++] = value;
  }
  entries.resize(kept);
  bytes.resize(begin + kept * sizeof(std::uint16_t));
}

template <typename Format>
void read_halves(const Format& format, std::span<const std::byte> bytes, std::span<float> values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = format.decode(read<std::uint16_t>(bytes, i));
}

// lowest + q · step. The product is exact: q has 3 binary digits, a step 8.
float level_value(float lowest, float step, int q) {
  return lowest + static_cast<float>(q) * step;
}

int int4_level(float magnitude, float lowest, float step, Rounding rounding) {
  if (!(step > 0)) return 0;
  const float ratio = (magnitude - lowest) / step;
  const float capped = std::min(ratio, static_cast<float>(kLevelMax));
  if (rounding == Rounding::kNearest) {
    const int nearest = static_cast<int>(std::nearbyint(capped));
    return std::isfinite(level_value(lowest, step, nearest)) ? nearest : nearest - 1;
  }
  const int q = static_cast<int>(capped);
  return level_value(lowest, step, q) > magnitude ? q - 1 : q;
}

// A step is rounded down, so that no level exceeds the largest magnitude. Rounding towards zero
// uses eight bins with the level at the lower edge; rounding to nearest uses eight levels from the
// smallest to the largest magnitude.
void write_int4(Rounding rounding, std::span<float> values, std::vector<std::byte>& bytes) {
  const float lowest = magnitudes_of(values).lowest;
  append(bytes, lowest);
  const int bins = rounding == Rounding::kNearest ? kLevelMax : kLevelMax + 1;
  for (std::size_t begin = 0; begin < values.size(); begin += kBlock) {
    const auto block = values.subspan(begin, std::min(kBlock, values.size() - begin));
    const float width = (magnitudes_of(block).largest - lowest) / static_cast<float>(bins);
    const std::uint16_t step_code = kernels::to_bfloat16(width, Rounding::kTowardsZero);
    const float step = kernels::from_bfloat16(step_code);
    append(bytes, step_code);
    std::array<unsigned, kBlock> nibbles{};
    for (std::size_t i = 0; i < block.size(); ++i) {
      const int q = int4_level(std::abs(block[i]), lowest, step, rounding);
      nibbles[i] = static_cast<unsigned>(q) | (std::signbit(block[i]) ? 8u : 0u);
      block[i] = std::copysign(level_value(lowest, step, q), block[i]);
    }
    for (std::size_t i = 0; i < block.size(); i += 2)
      append(bytes, static_cast<std::uint8_t>(nibbles[i] | nibbles[i + 1] << 4));
  }
}

Status read_int4(std::span<const std::byte> bytes, std::span<float> values) {
  const float lowest = read<float>(bytes, 0);
  if (!std::isfinite(lowest) || std::signbit(lowest)) return malformed("a lowest value below 0");
  std::span<const std::byte> rest = bytes.subspan(sizeof(float));
  for (std::size_t begin = 0; begin < values.size(); begin += kBlock) {
    const auto block = values.subspan(begin, std::min(kBlock, values.size() - begin));
    const float step = kernels::from_bfloat16(read<std::uint16_t>(rest, 0));
    if (!std::isfinite(step) || std::signbit(step)) return malformed("a step below 0");
    rest = rest.subspan(sizeof(std::uint16_t));
    for (std::size_t i = 0; i < block.size(); ++i) {
      const unsigned nibble = std::to_integer<unsigned>(rest[i / 2]) >> 4 * (i % 2) & 15;
      const float magnitude = level_value(lowest, step, static_cast<int>(nibble & 7));
      block[i] = nibble < 8 ? magnitude : -magnitude;
    }
    if (block.size() % 2 == 1 && std::to_integer<unsigned>(rest[block.size() / 2]) > 15)
      return malformed("bits behind the last value");
    rest = rest.subspan((block.size() + 1) / 2);
  }
  return ok_status();
}

Status read_float16(std::span<const std::byte> bytes, std::span<float> values) {
  const auto scale = static_cast<int>(read<std::int8_t>(bytes, 0));
  if (scale < kFloat16ScaleMin || scale > kFloat16ScaleMax)
    return malformed("a scale that no value has");
  const std::span<const std::byte> halves = bytes.subspan(1);
  for (std::size_t i = 0; i < values.size(); ++i)
    if ((read<std::uint16_t>(halves, i) & 0x7c00) == 0x7c00)
      return malformed("value " + std::to_string(i) + " is NaN or infinite");
  read_halves(Float16(scale), halves, values);
  return ok_status();
}

Status read_any(ValueFormat format, std::span<const std::byte> bytes, std::span<float> values) {
  switch (format) {
    case ValueFormat::kFloat32:
      if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
      return ok_status();
    case ValueFormat::kFloat16:
      return read_float16(bytes, values);
    case ValueFormat::kBfloat16:
      read_halves(Bfloat16(), bytes, values);
      return ok_status();
    case ValueFormat::kInt4:
      return read_int4(bytes, values);
  }
  check_failed(__FILE__, __LINE__, "format", "one of the list");
}

}  // namespace

std::size_t value_bytes(ValueFormat format, std::size_t count) {
  switch (format) {
    case ValueFormat::kFloat32:
      return count * sizeof(float);
    case ValueFormat::kFloat16:
      return 1 + count * sizeof(std::uint16_t);
    case ValueFormat::kBfloat16:
      return count * sizeof(std::uint16_t);
    case ValueFormat::kInt4:
      return sizeof(float) + (count + kBlock - 1) / kBlock * sizeof(std::uint16_t) +
             (count + 1) / 2;
  }
  check_failed(__FILE__, __LINE__, "format", "one of the list");
}

void write_values(ValueFormat format, Rounding rounding, bool drop_zeros, kernels::Entries& entries,
                  std::vector<std::byte>& bytes) {
  switch (format) {
    case ValueFormat::kFloat32: {
      const std::size_t end = bytes.size(), size = entries.size() * sizeof(float);
      bytes.resize(end + size);
      if (size > 0) std::memcpy(bytes.data() + end, entries.values.data(), size);
      return;
    }
    case ValueFormat::kFloat16: {
      const int scale = float16_scale(magnitudes_of(entries.values).largest);
      append(bytes, static_cast<std::int8_t>(scale));
      return write_halves(Float16(scale), rounding, drop_zeros, entries, bytes);
    }
    case ValueFormat::kBfloat16:
      return write_halves(Bfloat16(), rounding, drop_zeros, entries, bytes);
    case ValueFormat::kInt4:  // rounds no value to 0
      return write_int4(rounding, entries.values, bytes);
  }
}

Status read_values(ValueFormat format, std::span<const std::byte> bytes, std::span<float> values) {
  KIMESH_CHECK(bytes.size() == value_bytes(format, values.size()), "the bytes of all values");
  if (Status correct = read_any(format, bytes, values); !correct) return correct;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i]))
      return malformed("value " + std::to_string(i) + " is NaN or infinite");
  return ok_status();
}

}  // namespace kimesh
