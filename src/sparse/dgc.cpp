// dgc: about the largest elements, by a threshold that a sample gives. Deep Gradient Compression
// (Lin et al., 2018), section 3.1 with its hierarchical selection: a piece sends the elements that
// reach the threshold that the largest elements of a sample give; where these are more than the
// piece's share, the largest of them.
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "kimesh/kernels/small_floats.h"
#include "piece_selection.h"
#include "sparse_codec.h"

namespace kimesh {
namespace {

kernels::Energies select_piece(const PieceSelection& piece, kernels::Entries& entries) {
  std::vector<std::uint32_t>& sample = piece.scratch.sample;
  kernels::sample_magnitudes(piece.target, piece.estimate, sample);
  const double rank =
      std::ceil(static_cast<double>(piece.share) * static_cast<double>(sample.size()) /
                static_cast<double>(piece.target.size()));
  const auto at = sample.begin() + static_cast<std::ptrdiff_t>(std::max(rank, 1.0)) - 1;
  std::ranges::nth_element(sample, at, std::greater{});
  const float lower = std::bit_cast<float>(std::min(*at, kernels::kInfinityBits - 1));
  const kernels::Energies energies = collect_reaching(piece, lower, entries);
  if (piece.full && entries.size() < piece.share) return select_exactly(piece, entries);
  if (entries.size() > piece.share) kernels::keep_largest(piece.share, entries, piece.scratch);
  return energies;
}

class Dgc final : public LargestCodec {
 private:
  Result<PassSummary> select(const AdvanceJob& job, std::uint32_t keep, bool full) const override {
    return select_by_piece(job, keep, full, select_piece);
  }
};

}  // namespace

Kind<Codec> dgc_codec() {
  return {"dgc", "about the largest elements, by a threshold that a sample gives",
          make_options<Dgc, Codec>};
}

}  // namespace kimesh
