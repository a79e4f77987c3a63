// The handwritten digits, packed as text so that the compiler takes them in no time.
#pragma once

#include <cstddef>
#include <string_view>

namespace kimesh {

inline constexpr std::size_t kDigitsSamples = 1797;
inline constexpr std::size_t kDigitsPixels = 64;       // 8 x 8, values 0 to 16
inline constexpr std::size_t kDigitsPackedBytes = 45;  // of one sample

// One sample after the other: its label as a decimal digit, then 22 groups of three pixels. A group
// is a number in base 17, first pixel highest, written as two digits in base 71, high digit first;
// the last group ends with two zeros. Digit d is the d-th character from '(' on, where '?' and the
// backslash do not count.
extern const std::string_view kPackedDigits;

}  // namespace kimesh
