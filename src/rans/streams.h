// What both directions of the entropy coder share: how elements are dealt to lanes, where states
// begin, and the parts of an element.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "kimesh/rans/model.h"

namespace kimesh::rans {

// States are in [2^31, 2^63) between the parts of elements.
inline constexpr unsigned kStateBits = 63, kWordBits = 32;
inline constexpr std::uint64_t kStateMin = std::uint64_t{1} << (kStateBits - kWordBits);
inline constexpr unsigned kRawBitsMax = kStateBits - kWordBits;  // taken off a state at once

struct Split {
  explicit Split(std::size_t count_)
      : count(count_), lanes(lanes_of(count_)), each(count_ / lanes), rest(count_ % lanes) {}
  std::size_t count, lanes, each, rest;

  // A lane's first element.
  [[nodiscard]] std::size_t begin(std::size_t lane) const {
    return lane * each + (lane < rest ? lane : rest);
  }
  [[nodiscard]] std::size_t rounds() const { return each + (rest > 0 ? 1 : 0); }
  // Lanes that have an element in this round.
  [[nodiscard]] std::size_t width(std::size_t round) const { return round < each ? lanes : rest; }
  // Calls visit(lane) for these, the last first.
  template <typename Visit>
  void for_lanes_down(std::size_t round, Visit visit) const {
    if (round < each && lanes == kLanes) {
      for (std::size_t l = kLanes; l-- > 0;) visit(l);
    } else {
      for (std::size_t l = width(round); l-- > 0;) visit(l);
    }
  }
  // The first first.
  template <typename Visit>
  void for_lanes(std::size_t round, Visit visit) const {
    if (round < each && lanes == kLanes) {
      for (std::size_t l = 0; l < kLanes; ++l) visit(l);
    } else {
      for (std::size_t l = 0; l < width(round); ++l) visit(l);
    }
  }
  [[nodiscard]] std::size_t first_renewal() const { return kFirstRenewal / lanes; }
  [[nodiscard]] std::uint64_t last_state() const { return lanes == 1 ? 1 : kStateMin; }
};

// What the means start from: gaps as they are where elements lie evenly, and low levels.
inline constexpr std::uint32_t kUsualLevel = 0;
inline std::uint32_t usual_gap(std::size_t count, std::size_t size) {
  return static_cast<std::uint32_t>((size - count) / count);
}

// The symbol of a gap or a level, its table, and how many bits of the number the scale leaves raw.
struct Begun {
  std::uint32_t symbol, shift, table = 0;
  [[nodiscard]] bool escapes() const { return symbol == kEscape; }
  // Where it does not escape.
  [[nodiscard]] std::uint32_t raw_bits() const { return shift + kContinuations[symbol].more; }
  [[nodiscard]] std::uint32_t value(std::uint64_t raw) const {
    return static_cast<std::uint32_t>(std::uint64_t{kContinuations[symbol].top} << raw_bits() |
                                      raw) &
           kNumberMax;
  }
};

// How many bits symbols leave beside those of the shift; an escape leaves more than a state has.
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
