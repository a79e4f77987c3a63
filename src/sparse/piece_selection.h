// Selection piece by piece, by a threshold that a codec chooses for each piece: what dgc and
// redsync share. On the host only.
#pragma once

#include "kimesh/codec/difference.h"

namespace kimesh {

// A piece of the difference, and how many of its elements may be sent.
struct PieceSelection {
  std::span<const float> target, estimate;
  std::size_t share;
  std::uint32_t base;  // index of its first element in the vector
  bool full;           // exactly `share` elements are wanted where there are enough
  kernels::SelectScratch& scratch;
};

// Appends to `entries` the elements of the piece whose magnitude is at least `lower`, but no zeros.
// Returns the energies of the piece.
kernels::Energies collect_reaching(const PieceSelection& piece, float lower,
                                   kernels::Entries& entries);
// Fills `entries` with exactly the `share` largest elements of the piece.
kernels::Energies select_exactly(const PieceSelection& piece, kernels::Entries& entries);

// Fills scratch.entries with what `select` finds in each piece, `keep` elements in all at most,
// divided among the pieces as the setting says. `select` fills entries with at most `share`
// elements of its piece. Errors: as Difference.
using SelectPiece = kernels::Energies (*)(const PieceSelection& piece, kernels::Entries& entries);
[[nodiscard]] Result<PassSummary> select_by_piece(const AdvanceJob& job, std::uint32_t keep,
                                                  bool full, SelectPiece select);

}  // namespace kimesh
