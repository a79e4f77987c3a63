// Curves that a selection makes on its way.
#pragma once

#include "src/compress/families.h"

namespace kimesh {

// kernels::collect on a piece of the job, with positions in the whole vector; where `curve` is not
// null, it gets the piece's curve while its elements are in the cache. Where the piece is sampled
// what reaches `lower` is known exactly: the larger a share of the energy that is, the better.
kernels::Energies collect_piece(const AdvanceJob& job, const Piece& piece, float lower,
                                kernels::Entries& entries, Curve* curve);

}  // namespace kimesh
