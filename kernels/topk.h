// Selection of the largest differences. kernels/topk_cpu.cpp is the meaning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kimesh::kernels {

// Scratch memory that the caller keeps between calls. One thread at a time.
struct TopkScratch {
  std::vector<std::uint32_t> sample;
  std::vector<std::uint32_t> keys;        // magnitude bits of the candidates
  std::vector<std::uint32_t> candidates;  // their positions, ascending
};

// Appends to `indices` the positions of the k largest |difference|, ascending; of equal ones the
// lower index goes first, zeros are never selected (then fewer than k come). Values are compared by
// their magnitude bits. Requires all finite, size < 2^32. `index_base` is added to every position.
// Exact whatever the data: a sample brackets the k-th largest, one pass collects what lies above
// the bracket, a radix selection among these finishes. About two read passes.
void select_topk(std::span<const float> difference, std::size_t k, std::uint32_t index_base,
                 std::vector<std::uint32_t>& indices, TopkScratch& scratch);

}  // namespace kimesh::kernels
