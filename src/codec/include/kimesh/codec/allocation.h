// Divides elements: among the pieces of a message by their sizes, and among messages by their
// curves.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kimesh/codec/curve.h"
#include "kimesh/codec/piece.h"

namespace kimesh {

// Divides `keep` elements among the pieces in proportion to their sizes, by cumulative rounding.
// The rounding is offset by the fractional part of rotation · golden ratio, so that over many
// rotations every piece gets its exact share. The shares sum to `keep`; none exceeds the size of
// its piece. Requires keep <= the sum of the sizes < 2^32. Shapes: pieces, shares [pieces].
void share_out(std::uint32_t keep, std::uint32_t rotation, std::span<const Piece> pieces,
               std::span<std::uint32_t> shares);

// Divides `total` elements among curves so that the missing energy is least: one threshold for all
// curves, but at least `floors[i]` elements of curve i. Curves are linear between their points, so
// that the numbers are fractions. They sum to less than `total` only where all elements that are
// not 0 are kept, and to more only where the floors do. Shapes: curves, floors, result [curves].
[[nodiscard]] std::vector<double> threshold_allocation(std::span<const Curve* const> curves,
                                                       double total,
                                                       std::span<const double> floors);

// The energy that is left out when the `kept` largest elements of all pieces are sent, by number.
// Shapes: kept, result [numbers].
[[nodiscard]] std::vector<double> missing_beyond(const Curve& curve, std::span<const double> kept);

}  // namespace kimesh
