// The limits of the section `data`, each with its reason.
#pragma once

#include <string_view>

#include "kimesh/config/range.h"

namespace kimesh::limits {

inline constexpr Range kBatches{1, 65536};  // beyond it there are fewer samples than that
// Draws below it underflow to 0/0; above it a split is even.
inline constexpr Range kConcentrations{1e-3, 1e6};
// At least: 18 of 1797 digits, one of each class. At most: something is left to train on.
inline constexpr Range kTestShares{0.01, 0.9};
inline constexpr double kTestShareDefault = 0.2;
inline constexpr std::string_view kTestShareHelp =
    "share of the samples that is kept out for the test, of every class";
inline constexpr Range kTextLengths{1, 4096};    // memory of attention grows with its square
inline constexpr Range kVocabularies{2, 65536};  // a token is two bytes in memory
inline constexpr Range kTokenCounts{1, kRoundsMax};
inline constexpr Range kImageSides{1, 4096};  // float32 of 3 x 4096 x 4096 is 200 MB

}  // namespace kimesh::limits
