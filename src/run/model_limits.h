// The limits of the section `model`, each with its reason. As limits.h, apart for its length.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kimesh::limits {

inline constexpr std::int64_t kDepthMax = 200;  // deeper ones only get slower (He et al. 2015, 4.2)
inline constexpr std::int64_t kStageWidthMax = 1024;  // the last of four stages is 8 times as wide
inline constexpr std::int64_t kStackMax = 96;         // blocks of the largest GPT-3
inline constexpr std::int64_t kHeadsMax = 1024;       // a head of fewer than one number is none
inline constexpr std::size_t kPrefixesMax = 1000;     // every layer of a deep model, named by hand

}  // namespace kimesh::limits
