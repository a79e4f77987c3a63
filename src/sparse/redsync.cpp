// redsync: about the largest elements, by a threshold that is bisected. RedSync (Fang et al., 2019,
// "threshold binary search selection"): a piece sends the elements that reach mean + ratio ·
// (largest − mean) of its magnitudes. The ratio is bisected until between half and all of the
// piece's share reach that, or until it stops moving.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "kimesh/kernels/small_floats.h"
#include "piece_selection.h"
#include "sparse_codec.h"

namespace kimesh {
namespace {

using kernels::Energies;
using kernels::Entries;

// Where a budget is to be filled, the bisection ends with this part of the share: the least that
// uses 97 % of the budget after some values were rounded to 0.
constexpr double kNearlyAll = 0.98;

struct Magnitudes {
  double mean = 0;
  float largest = 0;
};

Magnitudes magnitudes_of(const PieceSelection& piece) {
  constexpr std::size_t kPartialSums = 8;
  std::array<double, kPartialSums> sums{};
  std::array<std::uint32_t, kPartialSums> largest{};
  const auto add = [&](std::size_t j, std::size_t part) {
    const float difference = piece.target[j] - piece.estimate[j];
    sums[part] += static_cast<double>(std::abs(difference));
    largest[part] = std::max(largest[part], kernels::magnitude_bits(difference));
  };
  const std::size_t size = piece.target.size(), whole = size / kPartialSums * kPartialSums;
  for (std::size_t j = 0; j < whole; j += kPartialSums)
    for (std::size_t part = 0; part < kPartialSums; ++part) add(j + part, part);
  for (std::size_t j = whole; j < size; ++j) add(j, j - whole);
  double sum = 0;
  for (const double part : sums) sum += part;
  return {sum / static_cast<double>(size), std::bit_cast<float>(std::ranges::max(largest))};
}

// Bisects the threshold, and narrows the entries to those that reach the last threshold that at
// most `share` elements reach. At first the entries are all elements that reach the mean, or more
// than `share` that reach a threshold above the mean: then no lower threshold needs to be counted.
void bisect(const Magnitudes& magnitudes, std::size_t share, std::size_t enough, Entries& entries,
            kernels::SelectScratch& scratch) {
  if (entries.size() <= share) return;
  const double mean = magnitudes.mean;
  const double range = static_cast<double>(magnitudes.largest) - mean;
  double low = 0, high = 1;  // too many elements reach low; few enough reach any high under 1
  float best = std::numeric_limits<float>::infinity();
  constexpr int kSteps = 32;  // a float32 has fewer digits
  for (int step = 0; step < kSteps; ++step) {
    const double ratio = low + (high - low) / 2;
    const auto lower = static_cast<float>(mean + ratio * range);
    const std::size_t count = count_reaching(lower, entries);
    if (count > share) {
      low = ratio;
      drop_below(lower, entries);  // the threshold will not be lower
      continue;
    }
    high = ratio;
    best = lower;
    if (count >= enough) break;
  }
  if (std::isinf(best))  // more than `share` elements equal the largest
    return kernels::keep_largest(share, entries, scratch);
  drop_below(best, entries);
}

Energies select_piece(const PieceSelection& piece, Entries& entries) {
  const Magnitudes magnitudes = magnitudes_of(piece);
  const auto mean = static_cast<float>(magnitudes.mean);
  Energies energies;
  kernels::Bracket bracket(piece.target, piece.estimate,
                           std::min(piece.share + 1, piece.target.size()), piece.scratch);
  for (;; bracket.widen()) {
    entries.clear();
    energies = collect_reaching(piece, std::max(bracket.lower(), mean), entries);
    if (entries.size() > piece.share || bracket.lower() <= mean || bracket.takes_all() ||
        !energies.finite())
      break;
  }
  if (!energies.finite()) return energies;
  const auto nearly =
      static_cast<std::size_t>(std::ceil(kNearlyAll * static_cast<double>(piece.share)));
  bisect(magnitudes, piece.share, piece.full ? nearly : (piece.share + 1) / 2, entries,
         piece.scratch);
  if (piece.full && entries.size() < nearly) return select_exactly(piece, entries);
  return energies;
}

class Redsync final : public LargestCodec {
 private:
  Result<PassSummary> select(const AdvanceJob& job, std::uint32_t keep, bool full) const override {
    return select_by_piece(job, keep, full, select_piece);
  }
};

}  // namespace

Kind<Codec> redsync_codec() {
  return {"redsync", "about the largest elements, by a threshold that is bisected",
          make_options<Redsync, Codec>};
}

}  // namespace kimesh
