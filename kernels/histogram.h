// Histograms of magnitudes, eight bins an octave, from which error curves are made.
// kernels/histogram_cpu.cpp is the meaning.
#pragma once

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
  // Σ of how far the magnitude's bits are above the bin's lower edge, less 1 each: with the count
  // it gives the bin's mean.
  std::uint64_t above_edge = 0;
  bool operator==(const MagnitudeBin&) const = default;
};

// Of |target − estimate|. One thread at a time; keeps its memory between uses.
class MagnitudeHistogram {
 public:
  // Begins anew, for a vector of `size` elements: all are counted below 2^18; from there one cache
  // line of two, from 2^21 one of four, which a hash picks.
  void reset(std::size_t size);

  // Counts the next elements of the vector. Parts but the last have a multiple of 64 elements;
  // `estimate` may be empty, then it counts as 0.
  void add(std::span<const float> target, std::span<const float> estimate);

  // What was counted since the reset, by bin.
  [[nodiscard]] std::span<const MagnitudeBin> bins();
  [[nodiscard]] bool sampled() const { return stride_bits_ > 0; }

 private:
  void tally(std::span<const std::uint32_t> words);
  void flush();

  unsigned stride_bits_ = 0;  // one line of 2^stride_bits is counted
  std::size_t table_mask_ = 0;
  std::size_t groups_ = 0;             // of lines, since the reset
  std::size_t tallied_ = 0;            // elements in the tables
  std::vector<std::uint64_t> tables_;  // count and sum of a bin in one number
  std::vector<MagnitudeBin> bins_;
};

}  // namespace kimesh::kernels
