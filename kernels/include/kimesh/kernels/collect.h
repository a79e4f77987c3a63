// Selection from the difference of an EF21 channel: one pass reads target and estimate, collects
// the elements that a message may carry, and sums energies; what is sent is added to the estimate.
// Defined by kernels/collect_cpu.cpp and kernels/largest_cpu.cpp.
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
  std::vector<std::uint32_t> sample;        // magnitude bits
  UninitializedVector<std::uint32_t> keys;  // magnitude bits of the elements to select from
  // For the passes of a memory and their observers; the functions of this header do not use them.
  MagnitudeHistogram histogram, top_histogram;
  Entries floor;
};

// Appends every element with |difference| >= lower; `index_base` is added to the positions.
// Requires lower > 0, spans of one size, and positions in 32 bits. Where the energies are not
// finite, the entries are undefined. `histogram`, unless null, counts the whole span while it is in
// the cache; the caller has reset it.
Energies collect(std::span<const float> target, std::span<const float> estimate, float lower,
                 std::uint32_t index_base, Entries& entries,
                 MagnitudeHistogram* histogram = nullptr);

// Appends the k elements of the largest |difference|. Of equal elements the lower index is
// preferred. Zeros are never selected, so that there may be fewer than k. Exact for any data: a
// sample gives a lower bound of the k-th largest, one pass collects the elements that reach it, a
// radix selection finds the k largest of these. Otherwise as collect.
Energies collect_topk(std::span<const float> target, std::span<const float> estimate, std::size_t k,
                      std::uint32_t index_base, Entries& entries, SelectScratch& scratch);

// A lower bound that probably k elements of a difference reach, and not many more; from a sample.
// Where too few reach it, widen it and collect again, until only zeros are left out. Borrows the
// scratch, which must not be used otherwise meanwhile.
class Bracket {
 public:
  // Requires spans of one size. With k = 0 no element is wanted.
  Bracket(std::span<const float> target, std::span<const float> estimate, std::size_t k,
          SelectScratch& scratch);
  [[nodiscard]] float lower() const;     // > 0; infinity where k = 0
  [[nodiscard]] bool takes_all() const;  // lower() leaves out zeros only
  void widen();

 private:
  void look();
  SelectScratch& scratch_;
  bool whole_;   // the sample is the vector
  double rank_;  // expected rank of the k-th largest element in the sample
  std::uint32_t key_ = 0;
};

// Keeps the k largest of the entries from the position `first` on, in the order of collect_topk.
void keep_largest(std::size_t k, Entries& entries, SelectScratch& scratch, std::size_t first = 0);

// Appends the k largest of from[first, last) to `to`: the entries that keep_largest would leave of
// a copy. It copies no more than a block at a time. Requires that `from` and `to` differ.
void append_largest(std::size_t k, const Entries& from, std::size_t first, std::size_t last,
                    Entries& to, SelectScratch& scratch);

// Fills the sample with the magnitude bits of about max(1024, size / 256) elements of the
// difference, at most 65536: whole cache lines that a hash spreads over the vector. Vectors of
// fewer than 4096 elements are sampled completely.
void sample_magnitudes(std::span<const float> target, std::span<const float> estimate,
                       std::vector<std::uint32_t>& magnitude_bits);

// estimate[index] += value for each entry, one rounding each.
struct Added {
  double removed = 0;  // Σ (difference before)² over the entries
  double left = 0;     // Σ (target − estimate after)² over the entries
};
Added add_entries(std::span<const float> target, std::span<const std::uint32_t> indices,
                  std::span<const float> values, std::span<float> estimate);

// As add_entries, for values that are the whole differences: the target is not read. `left` is 0,
// which ignores the rounding of differences, up to 2^-24 of each.
Added add_whole_entries(std::span<const std::uint32_t> indices, std::span<const float> values,
                        std::span<float> estimate);

}  // namespace kimesh::kernels
