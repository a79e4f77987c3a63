// The limits of what the section `optimizer` may say, each with its reason.
#pragma once

#include "kimesh/config/range.h"

namespace kimesh::limits {

// Rates and decays above these turn float32 into infinity within a few rounds.
inline constexpr Range kRates{0, 1e4, true};
inline constexpr Range kWeightDecays{0, 1e3};
// A factor of 1 would never forget: the sum grows for ever.
inline constexpr Range kForgettingFactors{0, 0.99999};
inline constexpr Range kEpsilons{1e-30, 1};        // float32 can hold it, and it divides
inline constexpr Range kClipNorms{0, 1e12, true};  // a norm that no float32 model needs
inline constexpr Range kRoundCounts{1, kRoundsMax};
inline constexpr Range kRoundCountsOrNone{0, kRoundsMax};

}  // namespace kimesh::limits
