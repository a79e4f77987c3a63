// What a compressor feels of a residual: how few elements hold its energy, and how near to each
// other these lie.
#pragma once

#include <span>
#include <vector>

#include "kimesh/codec/piece.h"

namespace kimesh::test {

// A value at a share (of elements, 0 to 1).
struct AtShare {
  double share = 0, value = 0;
};

// Of the gaps between the indices of the largest |x|: bits per index of an ideal entropy coder that
// knows the frequencies. A gap is coded as its bucket, four to an octave, and the raw bits below.
struct Clustering {
  double density = 0;           // share of elements that are taken
  double gap_bits = 0;          // one table for all
  double gap_bits_nearby = 0;   // a table for each density of the neighbourhood: the 8 last gaps
  double gap_bits_uniform = 0;  // one table, were the indices spread at random
};

struct ResidualStatistics {
  double rms = 0;
  double zeros = 0;                     // share of elements that are 0
  std::vector<AtShare> missing_energy;  // share of the energy (NMSE) outside the largest elements
  std::vector<AtShare> quantiles;       // of |x| / rms: `share` of the elements lie below
  std::vector<double> piece_energy;     // shares of the energy, falling
  std::vector<Clustering> clustering;
};

// Requires finite values, not all 0. Costs a sort.
[[nodiscard]] ResidualStatistics measure_residual(std::span<const float> values,
                                                  std::span<const Piece> pieces);

}  // namespace kimesh::test
