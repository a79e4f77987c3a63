// The numbers that may stand at a place of a user's file.
#pragma once

#include <string>

namespace kimesh {

// An interval to which both ends belong, unless `above` excludes the low one.
struct Range {
  double low = 0;
  double high = 0;
  bool above = false;
  [[nodiscard]] bool holds(double x) const { return (above ? x > low : x >= low) && x <= high; }
  [[nodiscard]] std::string text() const;  // "from 0 to 1", "above 0 and at most 1"
};

// Rounds are 32-bit counters; arithmetic on them stays below the top.
inline constexpr double kRoundsMax = 1'000'000'000;

}  // namespace kimesh
