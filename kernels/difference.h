// The fused step of an EF21 channel: target and estimate are read once, the elements of their
// difference that a message may carry come out, and what is sent is added to the estimate.
// kernels/difference_cpu.cpp is the meaning.
//
// A difference is target − estimate, rounded once. Energies are sums of squares in float64; element
// j of a span goes to lane j % 8, and the lanes are added in one order: the same bits for any
// instruction set. They are finite exactly where every element is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kimesh::kernels {

// Elements of a difference: positions, ascending, and values.
struct Entries {
  std::vector<std::uint32_t> indices;
  std::vector<float> values;
  [[nodiscard]] std::size_t size() const { return indices.size(); }
  void clear();
  void resize(std::size_t size);
};

struct Energies {
  double target = 0, difference = 0;
  [[nodiscard]] bool finite() const;
  Energies& operator+=(const Energies& other);
};

// Scratch memory that the caller keeps between calls. One thread at a time.
struct SelectScratch {
  std::vector<std::uint32_t> sample;      // magnitude bits
  std::vector<std::uint32_t> keys;        // magnitude bits of the candidates
  std::vector<std::uint32_t> candidates;  // their positions, ascending
};

// Appends every element with |difference| >= lower; `index_base` is added to the positions.
// Requires lower > 0, one size, positions in 32 bits. Where the energies are not finite the entries
// are worthless.
Energies collect(std::span<const float> target, std::span<const float> estimate, float lower,
                 std::uint32_t index_base, Entries& entries);

// Appends the k largest |difference|; of equal ones the lower index goes first, zeros are never
// selected (then fewer than k come). Exact whatever the data: a sample brackets the k-th largest,
// one pass collects what lies above the bracket, a radix selection among these finishes. Else as
// collect.
Energies collect_topk(std::span<const float> target, std::span<const float> estimate, std::size_t k,
                      std::uint32_t index_base, Entries& entries, SelectScratch& scratch);

// Keeps the k largest of the entries, in the order of collect_topk.
void keep_largest(std::size_t k, Entries& entries, SelectScratch& scratch);

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

}  // namespace kimesh::kernels
