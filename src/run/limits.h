// The limits of what a config may say, each with its reason.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kimesh::limits {

// Model and data.
inline constexpr std::int64_t kWidthMax = 65536;  // squares of it, in float32, are 16 GB
inline constexpr std::size_t kHiddenMax = 32;     // plain mlps do not train at such depth
inline constexpr std::int64_t kChannelsMax = 4096;
// Every block halves the image; below 1x1 nothing is left. digits are 8x8, cifar10 32x32.
inline constexpr std::size_t kDigitsBlocksMax = 3;
inline constexpr std::size_t kCifarBlocksMax = 5;
inline constexpr std::int64_t kBatchMax = 65536;  // beyond it there are fewer samples than that
inline constexpr double kDirichletMin = 1e-3;     // below it draws underflow to 0/0
inline constexpr double kDirichletMax = 1e6;      // an even split long before
inline constexpr double kTestShareMin = 0.01;     // 18 of 1797 digits: at least one of each class
inline constexpr std::int64_t kTextLengthMax = 4096;   // memory of attention grows with its square
inline constexpr std::int64_t kVocabularyMax = 65536;  // a token is two bytes in memory
inline constexpr std::int64_t kSideMax = 4096;         // float32 of 3 x 4096 x 4096 is 200 MB
inline constexpr double kTestShareMax = 0.9;           // something is left to train on

inline constexpr double kRoundTimeSecondsMin = 1e-3;  // below a ZeroMQ hop's own cost
inline constexpr double kRoundTimeSecondsMax = 3600;
// A model that gives every class the same chance has the logarithm of their number, 11 at most.
inline constexpr double kStopLossMax = 1000;
inline constexpr double kStopSecondsMax = 3 * 365 * 86400.0;  // three years
inline constexpr std::int64_t kThreadsMax = 1024;

// Quadratics.
inline constexpr std::int64_t kDimensionMax = 10'000'000;  // float64 per node and element
inline constexpr double kConditionMax =
    1e6;  // float32 descent stalls from 1e3 on; more says nothing
inline constexpr double kHeterogeneityMax = 1e6;  // float32 keeps six digits

}  // namespace kimesh::limits
