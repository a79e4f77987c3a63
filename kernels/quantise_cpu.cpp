#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/quantise.h"
#include "kimesh/util/check.h"

namespace kimesh::kernels {
namespace {

constexpr std::size_t kLanes = 8;
constexpr std::size_t kChunk = 256;  // elements that stay in the first-level cache; whole blocks
constexpr float kInt8Max = 127, kInt4Max = 7;

using Code = std::uint8_t;
using Values = std::array<float, kChunk>;

// Element j of a vector goes to lane j % 8: chunks begin in lane 0.
class LaneSum {
 public:
  // `x` is filled with zeros up to a whole number of lanes.
  void add_squares(const float* x, std::size_t size) {
    std::array<double, kLanes> lanes = lanes_;  // a copy, so that the sums stay in registers
    for (std::size_t i = 0; i < size; i += kLanes)
      for (std::size_t j = 0; j < kLanes; ++j)
        lanes[j] += static_cast<double>(x[i + j]) * static_cast<double>(x[i + j]);
    lanes_ = lanes;
  }
  void add_magnitudes(const float* x, std::size_t size) {
    std::array<double, kLanes> lanes = lanes_;
    for (std::size_t i = 0; i < size; i += kLanes)
      for (std::size_t j = 0; j < kLanes; ++j) lanes[j] += static_cast<double>(std::abs(x[i + j]));
    lanes_ = lanes;
  }
  void add_squared_differences(const float* x, const float* y, std::size_t size) {
    std::array<double, kLanes> lanes = lanes_;
    for (std::size_t i = 0; i < size; i += kLanes)
      for (std::size_t j = 0; j < kLanes; ++j) {
        const double difference = static_cast<double>(x[i + j]) - static_cast<double>(y[i + j]);
        lanes[j] += difference * difference;
      }
    lanes_ = lanes;
  }
  [[nodiscard]] double total() const {
    return ((lanes_[0] + lanes_[1]) + (lanes_[2] + lanes_[3])) +
           ((lanes_[4] + lanes_[5]) + (lanes_[6] + lanes_[7]));
  }

 private:
  std::array<double, kLanes> lanes_{};
};

std::uint16_t read16(const Code* bytes) {
  std::uint16_t value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}
void write16(Code* bytes, std::uint16_t value) {
  std::memcpy(bytes, &value, sizeof(value));
}

float largest_of(const float* x, std::size_t size) {
  std::uint32_t largest = 0;
  for (std::size_t j = 0; j < size; ++j) largest = std::max(largest, magnitude_bits(x[j]));
  return std::bit_cast<float>(largest);
}

// What a format does with one block. `encode` may read zeros behind the block up to a whole number
// of lanes; `decode` returns whether a correct sender writes such codes.
struct Bfloat16 {
  static void encode(const float* x, std::size_t size, Round round, Code* out) {
    for (std::size_t j = 0; j < size; ++j) write16(out + 2 * j, to_bfloat16(x[j], round));
  }
  static bool decode(const Code* in, std::size_t size, float* x) {
    for (std::size_t j = 0; j < size; ++j) x[j] = from_bfloat16(read16(in + 2 * j));
    return true;
  }
};

// How many bits of a byte the elements fill, and a mask of the others.
bool padding_is_clear(Code last, std::size_t bits_used) {
  return bits_used == 0 || last >> bits_used == 0;
}

struct Sign {
  static void encode(const float* x, std::size_t size, Round, Code* out) {
    LaneSum sum;
    sum.add_magnitudes(x, size);
    const double mean = sum.total() / static_cast<double>(size);
    write16(out, to_bfloat16(static_cast<float>(mean), Round::kNearest));
    for (std::size_t i = 0; i < size; i += 8) {
      unsigned signs = 0;
      for (std::size_t j = 0; j < 8; ++j) signs |= (x[i + j] < 0 ? 1u : 0u) << j;
      out[2 + i / 8] = static_cast<Code>(signs);
    }
  }
  static bool decode(const Code* in, std::size_t size, float* x) {
    const std::uint32_t scale = std::uint32_t{read16(in)} << 16;
    for (std::size_t j = 0; j < size; ++j) {
      const std::uint32_t sign = static_cast<std::uint32_t>(in[2 + j / 8]) >> j % 8 << 31;
      x[j] = std::bit_cast<float>(scale ^ sign);
    }
    return scale >> 31 == 0 && padding_is_clear(in[1 + (size + 7) / 8], size % 8);
  }
};

struct Int8 {
  static void encode(const float* x, std::size_t size, Round round, Code* out) {
    const std::uint16_t code = level_scale(largest_of(x, size), kInt8Max);
    const float scale = from_bfloat16(code);
    write16(out, code);
    for (std::size_t j = 0; j < size; ++j) {
      const std::int32_t level = level_of(std::abs(x[j]), scale, kInt8Max, round);
      out[2 + j] = static_cast<Code>(x[j] < 0 ? -level : level);
    }
  }
  static bool decode(const Code* in, std::size_t size, float* x) {
    const std::uint16_t code = read16(in);
    const float scale = from_bfloat16(code);
    bool correct = code >> 15 == 0;
    for (std::size_t j = 0; j < size; ++j) {
      const std::int32_t level = static_cast<std::int8_t>(in[2 + j]);
      correct &= level != -128;
      x[j] = static_cast<float>(level) * scale;
    }
    return correct;
  }
};

struct Int4 {
  static void encode(const float* x, std::size_t size, Round round, Code* out) {
    const std::uint16_t code = level_scale(largest_of(x, size), kInt4Max);
    const float scale = from_bfloat16(code);
    write16(out, code);
    std::array<Code, block_elements(Blocks::kInt4)> levels{};
    for (std::size_t j = 0; j < size; ++j) {
      const std::int32_t level = level_of(std::abs(x[j]), scale, kInt4Max, round);
      levels[j] = static_cast<Code>((x[j] < 0 ? -level : level) & 15);
    }
    for (std::size_t j = 0; j < size; j += 2)
      out[2 + j / 2] = static_cast<Code>(levels[j] | levels[j + 1] << 4);
  }
  static bool decode(const Code* in, std::size_t size, float* x) {
    const std::uint16_t code = read16(in);
    const float scale = from_bfloat16(code);
    bool correct = code >> 15 == 0 && padding_is_clear(in[1 + (size + 1) / 2], 4 * (size % 2));
    for (std::size_t j = 0; j < size; ++j) {
      const std::int32_t nibble = in[2 + j / 2] >> 4 * (j % 2) & 15;
      const std::int32_t level = (nibble ^ 8) - 8;
      correct &= level != -8;
      x[j] = static_cast<float>(level) * scale;
    }
    return correct;
  }
};

template <typename Visit>
auto visit(Blocks blocks, Visit&& with) {
  switch (blocks) {
    case Blocks::kBfloat16:
      return with(Bfloat16{});
    case Blocks::kSign:
      return with(Sign{});
    case Blocks::kInt8:
      return with(Int8{});
    case Blocks::kInt4:
      return with(Int4{});
  }
  check_failed(__FILE__, __LINE__, "blocks", "one of the list");
}

// Calls body(first element, elements, block's bytes) for the blocks of elements [begin, end).
template <typename Body>
void for_blocks(Blocks blocks, std::size_t begin, std::size_t end, Body&& body) {
  const std::size_t whole = block_elements(blocks);
  const std::size_t stride = scale_bytes(blocks) + code_bytes(blocks, whole);
  for (std::size_t at = begin; at < end; at += whole)
    body(at, std::min(whole, end - at), at / whole * stride);
}

const Code* codes(std::span<const std::byte> bytes) {
  return reinterpret_cast<const Code*>(bytes.data());
}

// Adds the chunk [begin, end) of the message and leaves the values that it decoded to in `values`.
template <typename Format>
void add_chunk(Blocks blocks, const Code* in, std::size_t begin, std::size_t end,
               std::span<float> estimate, Values& values) {
  for_blocks(blocks, begin, end, [&](std::size_t at, std::size_t size, std::size_t offset) {
    static_cast<void>(Format::decode(in + offset, size, values.data() + (at - begin)));
  });
  float* e = estimate.data() + begin;
  for (std::size_t j = 0; j < end - begin; ++j) e[j] += values[j];
}

}  // namespace

Energies quantise(Blocks blocks, Round round, std::span<const float> target,
                  std::span<const float> estimate, std::span<std::byte> bytes) {
  KIMESH_CHECK(target.size() == estimate.size(), "a difference has the size of both sides");
  KIMESH_CHECK(bytes.size() == quantised_bytes(blocks, target.size()), "room for all blocks");
  return visit(blocks, [&]<typename Format>(Format) -> Energies {
    LaneSum wanted, missing;
    Code* out = reinterpret_cast<Code*>(bytes.data());
    Values wanted_values, difference;
    for (std::size_t begin = 0; begin < target.size(); begin += kChunk) {
      const std::size_t end = std::min(begin + kChunk, target.size()), size = end - begin;
      const float* t = target.data() + begin;
      const float* e = estimate.data() + begin;
      if (size < kChunk) {
        wanted_values = {};
        difference = {};
        std::copy_n(t, size, wanted_values.begin());
      }
      for (std::size_t j = 0; j < size; ++j) difference[j] = t[j] - e[j];
      wanted.add_squares(size < kChunk ? wanted_values.data() : t, size);
      missing.add_squares(difference.data(), size);
      for_blocks(blocks, begin, end, [&](std::size_t at, std::size_t count, std::size_t offset) {
        Format::encode(difference.data() + (at - begin), count, round, out + offset);
      });
    }
    return {wanted.total(), missing.total()};
  });
}

bool is_quantised(Blocks blocks, std::span<const std::byte> bytes, std::size_t size) {
  if (bytes.size() != quantised_bytes(blocks, size)) return false;
  return visit(blocks, [&]<typename Format>(Format) -> bool {
    bool correct = true;
    for_blocks(blocks, 0, size, [&](std::size_t, std::size_t count, std::size_t offset) {
      Values values;
      correct &= Format::decode(codes(bytes) + offset, count, values.data());
      for (std::size_t j = 0; j < count; ++j) correct &= magnitude_bits(values[j]) < kInfinityBits;
    });
    return correct;
  });
}

void add_quantised(Blocks blocks, std::span<const std::byte> bytes, std::span<float> estimate) {
  visit(blocks, [&]<typename Format>(Format) {
    Values values;
    for (std::size_t begin = 0; begin < estimate.size(); begin += kChunk)
      add_chunk<Format>(blocks, codes(bytes), begin, std::min(begin + kChunk, estimate.size()),
                        estimate, values);
  });
}

double add_quantised(Blocks blocks, std::span<const std::byte> bytes, std::span<const float> target,
                     std::span<float> estimate) {
  return visit(blocks, [&]<typename Format>(Format) -> double {
    LaneSum left;
    Values values;
    for (std::size_t begin = 0; begin < estimate.size(); begin += kChunk) {
      const std::size_t end = std::min(begin + kChunk, estimate.size()), size = end - begin;
      add_chunk<Format>(blocks, codes(bytes), begin, end, estimate, values);
      const std::size_t whole = size / kLanes * kLanes;
      left.add_squared_differences(target.data() + begin, estimate.data() + begin, whole);
      std::array<float, kLanes> t{}, e{};
      std::copy_n(target.data() + begin + whole, size - whole, t.begin());
      std::copy_n(estimate.data() + begin + whole, size - whole, e.begin());
      left.add_squared_differences(t.data(), e.data(), size - whole);
    }
    return left.total();
  });
}

}  // namespace kimesh::kernels
