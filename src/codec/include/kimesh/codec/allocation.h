// How elements are divided: among the pieces of a message by their sizes, among messages by their
// curves.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kimesh/codec/curve.h"
#include "kimesh/codec/piece.h"

namespace kimesh {

// Shares of `keep` among the pieces in proportion to their sizes: cumulative rounding, offset by
// the fractional part of rotation times the golden ratio, so every piece gets its exact share over
// the rounds. Sums to keep; none exceeds its size. Requires keep <= the sum of the sizes < 2^32.
void share_out(std::uint32_t keep, std::uint32_t rotation, std::span<const Piece> pieces,
               std::span<std::uint32_t> shares);

// How many elements of each curve to keep, `total` in all, so that the energy that is missing is
// least: those above one threshold, which is the same for all, but at least `floors[i]` of curve
// i. Curves are read as they stand between their points, so that the answer has fractions. Less
// than `total` only where no more elements are not 0; more only where the floors are.
[[nodiscard]] std::vector<double> threshold_allocation(std::span<const Curve* const> curves,
                                                       double total,
                                                       std::span<const double> floors);

}  // namespace kimesh
