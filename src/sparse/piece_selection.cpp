#include "piece_selection.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "kimesh/codec/allocation.h"
#include "kimesh/util/check.h"

namespace kimesh {
namespace {

using kernels::Energies;
using kernels::Entries;

constexpr float kLeastNonzero = std::numeric_limits<float>::denorm_min();
constexpr float kLargest = std::numeric_limits<float>::max();

}  // namespace

Energies collect_reaching(const PieceSelection& piece, float lower, Entries& entries) {
  // A lower bound that is NaN selects all elements but zeros.
  const float usable = lower >= kLeastNonzero ? std::min(lower, kLargest) : kLeastNonzero;
  return kernels::collect(piece.target, piece.estimate, usable, piece.base, entries);
}

Energies select_exactly(const PieceSelection& piece, Entries& entries) {
  entries.clear();
  return kernels::collect_topk(piece.target, piece.estimate, piece.share, piece.base, entries,
                               piece.scratch);
}

Result<PassSummary> select_by_piece(const AdvanceJob& job, std::uint32_t keep, bool full,
                                    SelectPiece select) {
  const auto target = job.difference.target_on_host(), estimate = job.difference.estimate_on_host();
  const Setting& setting = job.setting;
  const std::array<Piece, 1> whole = {Piece{0, job.size()}};
  const bool global = setting.allocation == Allocation::kGlobal;
  const std::span<const Piece> pieces = global ? std::span<const Piece>(whole) : job.pieces;
  std::vector<std::uint32_t> shares = setting.shares;
  if (setting.allocation != Allocation::kListed) {
    shares.resize(pieces.size());
    share_out(keep, setting.rotation, pieces, shares);
  }
  KIMESH_CHECK(shares.size() == pieces.size(), "one share for each piece");
  Energies energies;
  Entries piece_entries;
  job.scratch.entries.clear();
  for (std::size_t l = 0; l < pieces.size(); ++l) {
    const auto [offset, size] = pieces[l];
    if (size == 0) continue;
    const PieceSelection piece{target.subspan(offset, size),
                               estimate.subspan(offset, size),
                               shares[l],
                               static_cast<std::uint32_t>(offset),
                               full,
                               job.scratch.select};
    piece_entries.clear();
    energies += shares[l] == 0 ? collect_reaching(piece, kLargest, piece_entries)
                               : select(piece, piece_entries);
    if (shares[l] > 0) append(piece_entries, 0, piece_entries.size(), job.scratch.entries);
  }
  if (Status finite = job.difference.check_finite(energies); !finite) return finite.error();
  Result<Curve> curve = job.with_curve ? job.difference.measure(job) : Curve{};
  if (!curve) return curve.error();
  return PassSummary{energies, std::move(*curve)};
}

}  // namespace kimesh
