// The fused step of an EF21 channel: target and estimate are read once, the elements of their
// difference that a message may carry come out, and what is sent is added to the estimate.
// kernels/collect_cpu.cpp and kernels/largest_cpu.cpp are the meaning.
//
// A difference is target − estimate, rounded once. Energies are sums of squares in float64; element
// j of a span goes to the partial sum j % 8, and these are added in one order: the same bits for
// any instruction set. Energies are finite exactly where every element is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kimesh/kernels/entries.h"
#include "kimesh/kernels/histogram.h"

namespace kimesh::kernels {

struct Energies {
  double target = 0, difference = 0;
  [[nodiscard]] bool finite() const;
  Energies& operator+=(const Energies& other);
};

// Scratch memory that the caller keeps between calls. One thread at a time.
struct SelectScratch {
  std::vector<std::uint32_t> sample;  // magnitude bits
  Unfilled<std::uint32_t> keys;       // magnitude bits of what is selected from
  // For the passes of a memory and their observers; no kernel of this page takes them by itself.
  MagnitudeHistogram histogram, top_histogram;
  Entries floor;
};

// Appends every element with |difference| >= lower; `index_base` is added to the positions.
// Requires lower > 0, one size, positions in 32 bits. Where the energies are not finite the entries
// are worthless. `histogram`, where there is one, counts the whole span while it is in the cache;
// the caller has reset it.
Energies collect(std::span<const float> target, std::span<const float> estimate, float lower,
                 std::uint32_t index_base, Entries& entries,
                 MagnitudeHistogram* histogram = nullptr);

// Appends the k largest |difference|; of equal ones the lower index goes first, zeros are never
// selected (then fewer than k come). Exact whatever the data: a sample brackets the k-th largest,
// one pass collects what lies above the bracket, a radix selection among these finishes. Else as
// collect.
Energies collect_topk(std::span<const float> target, std::span<const float> estimate, std::size_t k,
                      std::uint32_t index_base, Entries& entries, SelectScratch& scratch);

// A magnitude that k elements of a difference probably reach, and not many more: from a sample. Too
// few: widen and collect again, until nothing but zeros is left out. Borrows the scratch, which
// nobody else may use between.
class Bracket {
 public:
  // Requires one size. k = 0: nothing is wanted.
  Bracket(std::span<const float> target, std::span<const float> estimate, std::size_t k,
          SelectScratch& scratch);
  [[nodiscard]] float lower() const;     // > 0; infinity where k = 0
  [[nodiscard]] bool takes_all() const;  // lower() leaves out zeros only
  void widen();

 private:
  void look();
  SelectScratch& scratch_;
  bool whole_;   // the sample is the vector
  double rank_;  // of the k-th largest in the sample
  std::uint32_t key_ = 0;
};

// Keeps the k largest of the entries from the position `first` on, in the order of collect_topk.
void keep_largest(std::size_t k, Entries& entries, SelectScratch& scratch, std::size_t first = 0);

// Magnitude bits of about max(1024, size / 256) elements of the difference, at most 65536, as whole
// cache lines that a hash spreads over the vector; of all of it below 4096 elements.
void sample_magnitudes(std::span<const float> target, std::span<const float> estimate,
                       std::vector<std::uint32_t>& magnitude_bits);

// estimate[index] += value for each entry, one rounding each.
struct Added {
  double removed = 0;  // Σ (difference before)², of the entries
  double left = 0;     // Σ (target − estimate after)² there
};
Added add_entries(std::span<const float> target, std::span<const std::uint32_t> indices,
                  std::span<const float> values, std::span<float> estimate);

// As add_entries, where each value is the whole difference there: then the target need not be read
// again. `left` is 0: what the rounding of a difference leaves, up to 2^-24 of it, is left out.
Added add_whole_entries(std::span<const std::uint32_t> indices, std::span<const float> values,
                        std::span<float> estimate);

}  // namespace kimesh::kernels
