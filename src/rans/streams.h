// What encoder and decoder share: how elements are divided among streams, the range of states, and
// the symbol and raw bits of a number.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "kimesh/rans/model.h"

namespace kimesh::rans {

// States are in [2^31, 2^63) between the parts of elements.
inline constexpr unsigned kStateBits = 63, kWordBits = 32;
inline constexpr std::uint64_t kStateMin = std::uint64_t{1} << (kStateBits - kWordBits);
inline constexpr unsigned kRawBitsMax =
    kStateBits - kWordBits;  // popped from a state without a refill

// The division of elements among streams: runs of equal length, the first `rest` one longer.
struct Split {
  explicit Split(std::size_t count_)
      : count(count_),
        streams(stream_count(count_)),
        each(count_ / streams),
        rest(count_ % streams) {}
  std::size_t count, streams, each, rest;

  // The first element of a stream.
  [[nodiscard]] std::size_t begin(std::size_t stream) const {
    return stream * each + (stream < rest ? stream : rest);
  }
  [[nodiscard]] std::size_t rounds() const { return each + (rest > 0 ? 1 : 0); }
  // The number of streams that have an element in this round.
  [[nodiscard]] std::size_t width(std::size_t round) const { return round < each ? streams : rest; }
  // Calls visit(stream) for these streams, the last one first.
  template <typename Visit>
  void for_streams_down(std::size_t round, Visit visit) const {
    if (round < each && streams == kStreams) {
      for (std::size_t l = kStreams; l-- > 0;) visit(l);
    } else {
      for (std::size_t l = width(round); l-- > 0;) visit(l);
    }
  }
  // Calls visit(stream) for these streams, the first one first.
  template <typename Visit>
  void for_streams(std::size_t round, Visit visit) const {
    if (round < each && streams == kStreams) {
      for (std::size_t l = 0; l < kStreams; ++l) visit(l);
    } else {
      for (std::size_t l = 0; l < width(round); ++l) visit(l);
    }
  }
  [[nodiscard]] std::size_t first_renewal() const { return kFirstRenewal / streams; }
  [[nodiscard]] std::uint64_t last_state() const { return streams == 1 ? 1 : kStateMin; }
};

// What the running means start from: the gap of evenly spread elements, and the lowest level.
inline constexpr std::uint32_t kInitialLevel = 0;
inline std::uint32_t initial_gap(std::size_t count, std::size_t size) {
  return static_cast<std::uint32_t>((size - count) / count);
}

// The symbol of a gap or a level, and the shift of its scale.
struct SymbolPart {
  std::uint32_t symbol, shift;
  [[nodiscard]] bool escapes() const { return symbol == kEscape; }
  // The number of raw bits. Requires a symbol other than the escape.
  [[nodiscard]] std::uint32_t raw_bits() const { return shift + kContinuations[symbol].more; }
  [[nodiscard]] std::uint32_t value(std::uint64_t raw) const {
    return static_cast<std::uint32_t>(std::uint64_t{kContinuations[symbol].top} << raw_bits() |
                                      raw) &
           kNumberMax;
  }
};

// The raw bits of a symbol beside those of the shift. For the escape a number that no state has, so
// that the fast path of the decoder never takes it.
inline constexpr std::array<std::uint8_t, kSymbols> kMoreBits = [] {
  std::array<std::uint8_t, kSymbols> all{};
  for (std::size_t s = 0; s < kEscape; ++s) all[s] = kContinuations[s].more;
  all[kEscape] = kStateBits;
  return all;
}();

constexpr std::uint64_t low_bits(std::uint64_t x, unsigned bits) {
  return x & ((std::uint64_t{1} << bits) - 1);
}

}  // namespace kimesh::rans
