// Counter-based randomness: a draw is a pure function of (seed, node, round, purpose, position), so
// it does not depend on who asks first, on threads, or on how many draws came before.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>

namespace kimesh {

// What a draw is for. The numbers are part of every golden file: new ones are appended, none
// changes its meaning, and 6, which was given up, is not used again.
enum class Purpose : std::uint32_t {
  kInitialParameters = 1,
  kDataSplit = 2,
  kBatchOrder = 3,
  kTestSet = 4,
  kQuadratic = 5,
  kTest = 7,
  kNoise = 8,
  kMask = 9,
  kRounding = 10,
  kGeneratedText = 11,
};

// The block function of Philox4x32-10: four random words for a counter and a key.
[[nodiscard]] std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> counter,
                                                         std::array<std::uint32_t, 2> key);

// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
// One stream per (seed, node, round, purpose), of 2^34 words; `next` walks it.
class Random {
 public:
  Random(std::uint64_t seed, std::uint32_t node, std::uint32_t round, Purpose purpose);

  std::uint32_t next_u32();
  std::uint64_t next_u64();
  double uniform();                          // [0, 1), 53 bits
  double normal();                           // mean 0, variance 1 (Box-Muller, both halves used)
  double gamma(double shape);                // shape > 0, scale 1 (Marsaglia and Tsang, 2000)
  std::uint32_t below(std::uint32_t bound);  // unbiased, bound > 0

  // Fisher-Yates.
  template <typename T>
  void shuffle(std::span<T> items) {
    for (std::size_t i = items.size(); i > 1; --i)
      std::swap(items[i - 1], items[below(static_cast<std::uint32_t>(i))]);
  }

 private:
  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 4> block_{};
  unsigned used_ = 4;
  bool has_spare_ = false;
  double spare_ = 0;
};

}  // namespace kimesh
