// Histograms of magnitudes with eight bins an octave, from which error curves are made. Defined by
// kernels/histogram_cpu.cpp.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kimesh::kernels {

// Bin b > 0 holds the magnitudes whose bits, as a number, lie in ((b - 1) · 2^20, b · 2^20]: a
// float's exponent and the upper three bits of its mantissa. Bin 0 holds zeros alone.
inline constexpr unsigned kMagnitudeBinBits = 20;
inline constexpr std::size_t kMagnitudeBins = 2049;

struct MagnitudeBin {
  std::uint64_t count = 0;
  // Σ (magnitude bits − bits of the bin's lower edge − 1) over the elements: gives the bin's mean.
  std::uint64_t above_edge = 0;
  bool operator==(const MagnitudeBin&) const = default;
};

// The bin of a magnitude > 0.
[[nodiscard]] constexpr std::size_t magnitude_bin(float magnitude) {
  return (std::bit_cast<std::uint32_t>(magnitude) + ((1u << kMagnitudeBinBits) - 1)) >>
         kMagnitudeBinBits;
}

// A histogram of |target − estimate|. Keeps its memory between uses. Thread: one at a time.
class MagnitudeHistogram {
 public:
  // Starts a new histogram for a vector of `size` elements. A sample counts all elements of vectors
  // below 2^18; from there on one cache line of two, from 2^20 one of four, from 2^22 one of eight,
  // which a hash picks.
  enum class Counts : std::uint8_t { kAll, kSample };
  void reset(std::size_t size, Counts counts);

  // Counts the next elements of the vector. Parts but the last have a multiple of 128 elements;
  // `estimate` may be empty, then it counts as 0.
  void add(std::span<const float> target, std::span<const float> estimate);

  // What was counted since the reset, by bin. Bins outside of [first_bin, end_bin) are empty, but
  // for zeros.
  [[nodiscard]] std::span<const MagnitudeBin> bins();
  [[nodiscard]] std::size_t first_bin() const;
  [[nodiscard]] std::size_t end_bin() const;
  [[nodiscard]] bool sampled() const { return stride_bits_ > 0; }

 private:
  // The range of magnitude bits: the least, minus 1 (for a zero that is the largest number), and
  // the most.
  struct Range {
    std::uint32_t least = 0xffffffff, most = 0;
  };
  void tally(std::span<const std::uint32_t> words);
  void flush();
  void for_each_bin_met(auto&& visit);

  unsigned stride_bits_ = 0;  // one line of 2^stride_bits is counted
  std::size_t table_mask_ = 0;
  std::size_t groups_ = 0;             // of lines, since the reset
  std::size_t tallied_ = 0;            // elements in the tables
  Range met_;                          // since the reset
  std::vector<std::uint64_t> tables_;  // count and sum of a bin in one number
  std::vector<MagnitudeBin> bins_;
};

}  // namespace kimesh::kernels
