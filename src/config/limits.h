// The limits of what a user's file may say, each with its reason.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kimesh::limits {

// Files. A person writes kilobytes; what is larger is some other file, and is not read into memory.
inline constexpr std::size_t kYamlBytesMax = 1 << 20;
inline constexpr std::size_t kYamlDepthMax = 16;         // we need 4; the parser recurses per level
inline constexpr std::size_t kTraceBytesMax = 16 << 20;  // a day in steps of 0.1 s
inline constexpr std::size_t kTraceStepsMax = 1'000'000;  // the same day, and memory of 16 MB
// Each step is an event in the simulator and a wake-up in the shaper.
inline constexpr double kTraceStepSecondsMin = 1e-3;

// Quoted from a user's file in a sentence: enough to recognise it.
inline constexpr std::size_t kQuotedMax = 60;

// Topology.
inline constexpr std::size_t kNodesMin = 2;      // one node has nobody to talk to
inline constexpr std::size_t kNodeNameMax = 32;  // names travel in every handshake and file name
inline constexpr std::size_t kHostMax = 253;     // the longest DNS name
inline constexpr double kDelaySecondsMax = 60;   // longer than any path; it only eats start_timeout
inline constexpr double kDeadAfterSecondsMin = 1;     // a busy machine is silent for hundreds of ms
inline constexpr double kDeadAfterSecondsMax = 3600;  // a run that hangs longer is not watched
inline constexpr double kStartTimeoutSecondsMin = 1;  // processes need that to start
inline constexpr double kStartTimeoutSecondsMax = 86400;  // a day: machines started by hand
inline constexpr double kDataWeightMax = 1e9;             // a sample count at most; sums stay exact
inline constexpr double kShardWeightMax = 1e9;            // as far apart as shards can be

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

// Policies.
inline constexpr double kMenuRatiosMin = 2;       // the floor and all: less is no choice
inline constexpr double kMenuRatiosMax = 256;     // finer than the curves themselves
inline constexpr double kBudgetBinsMin = 100;     // each layer wastes up to a bin: one in a hundred
inline constexpr double kBudgetBinsMax = 10'000;  // 15 ms a decision at 500 layers and 20 ratios
inline constexpr double kBitsMax = 32;            // of a float32: more is never sent
inline constexpr double kStepMin = 1e-30;  // differences that float32 holds with all its digits
inline constexpr double kStepMax = 1e30;
inline constexpr double kFactorMax = 1000;  // every channel sends a thousandth of its elements
inline constexpr double kOmegaMax = 0.5;    // gains further apart are not nearly equal

// Optimizer. lr and decay above these turn float32 into infinity within a few rounds.
inline constexpr double kLrMax = 1e4;
inline constexpr double kWeightDecayMax = 1e3;
inline constexpr double kEpsilonMin = 1e-30;  // float32 can hold it, and it divides
inline constexpr double kEpsilonMax = 1;
inline constexpr double kClipMax = 1e12;  // a norm that no float32 model needs

// Rounds are 32-bit counters; arithmetic on them stays below the top.
inline constexpr std::int64_t kRoundsMax = 1'000'000'000;
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
