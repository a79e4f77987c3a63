#include "thresholds.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "kimesh/codec/allocation.h"
#include "kimesh/kernels/small_floats.h"
#include "kimesh/util/check.h"

namespace kimesh {
namespace {

using kernels::Energies;
using kernels::Entries;

// What reaches this is all that is not zero; no finite magnitude passes the other.
constexpr float kAnything = std::numeric_limits<float>::denorm_min();
constexpr float kLargest = std::numeric_limits<float>::max();
// A budget is to be used to 97 %; the rest is for what is rounded to 0.
constexpr double kNearlyAll = 0.98;

// A piece of the vector and what it may send.
struct Part {
  std::span<const float> target, estimate;
  std::size_t share;
  std::uint32_t base;  // index of its first element
  bool full;
  kernels::SelectScratch& scratch;
};

Energies collect_from(const Part& part, float lower, Entries& entries) {
  const float usable = lower >= kAnything ? std::min(lower, kLargest) : kAnything;  // NaN as well
  return kernels::collect(part.target, part.estimate, usable, part.base, entries);
}

Energies select_exactly(const Part& part, Entries& entries) {
  entries.clear();
  return kernels::collect_topk(part.target, part.estimate, part.share, part.base, entries,
                               part.scratch);
}

Energies dgc(const Part& part, Entries& entries) {
  std::vector<std::uint32_t>& sample = part.scratch.sample;
  kernels::sample_magnitudes(part.target, part.estimate, sample);
  const double rank =
      std::ceil(static_cast<double>(part.share) * static_cast<double>(sample.size()) /
                static_cast<double>(part.target.size()));
  const auto at = sample.begin() + static_cast<std::ptrdiff_t>(std::max(rank, 1.0)) - 1;
  std::ranges::nth_element(sample, at, std::greater{});
  const float lower = std::bit_cast<float>(std::min(*at, kernels::kInfinityBits - 1));
  const Energies energies = collect_from(part, lower, entries);
  if (part.full && entries.size() < part.share) return select_exactly(part, entries);
  if (entries.size() > part.share) kernels::keep_largest(part.share, entries, part.scratch);
  return energies;
}

struct Magnitudes {
  double mean = 0;
  float largest = 0;
};

Magnitudes magnitudes_of(const Part& part) {
  constexpr std::size_t kLanes = 8;
  std::array<double, kLanes> sums{};
  std::array<std::uint32_t, kLanes> largest{};
  const auto add = [&](std::size_t j, std::size_t lane) {
    const float difference = part.target[j] - part.estimate[j];
    sums[lane] += static_cast<double>(std::abs(difference));
    largest[lane] = std::max(largest[lane], kernels::magnitude_bits(difference));
  };
  const std::size_t size = part.target.size(), whole = size / kLanes * kLanes;
  for (std::size_t j = 0; j < whole; j += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) add(j + lane, lane);
  for (std::size_t j = whole; j < size; ++j) add(j, j - whole);
  double sum = 0;
  for (const double lane : sums) sum += lane;
  return {sum / static_cast<double>(size), std::bit_cast<float>(std::ranges::max(largest))};
}

// Narrows the entries to those of the last threshold that let no more than `share` pass. They are
// all that reach the mean; or more than `share` that reach something above it, since then no lower
// threshold needs to be counted.
void bisect(const Magnitudes& magnitudes, std::size_t share, std::size_t enough, Entries& entries,
            kernels::SelectScratch& scratch) {
  if (entries.size() <= share) return;
  const double mean = magnitudes.mean;
  const double range = static_cast<double>(magnitudes.largest) - mean;
  double low = 0, high = 1;  // too many reach low; of high it is known that not, once it is under 1
  float best = std::numeric_limits<float>::infinity();
  constexpr int kSteps = 32;  // more than a float32 has digits
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
  if (std::isinf(best)) return kernels::keep_largest(share, entries, scratch);  // the largest tie
  drop_below(best, entries);
}

Energies redsync(const Part& part, Entries& entries) {
  const Magnitudes magnitudes = magnitudes_of(part);
  const auto mean = static_cast<float>(magnitudes.mean);
  Energies energies;
  kernels::Bracket bracket(part.target, part.estimate, std::min(part.share + 1, part.target.size()),
                           part.scratch);
  for (;; bracket.widen()) {
    entries.clear();
    energies = collect_from(part, std::max(bracket.lower(), mean), entries);
    if (entries.size() > part.share || bracket.lower() <= mean || bracket.takes_all() ||
        !energies.finite())
      break;
  }
  if (!energies.finite()) return energies;
  const auto nearly =
      static_cast<std::size_t>(std::ceil(kNearlyAll * static_cast<double>(part.share)));
  bisect(magnitudes, part.share, part.full ? nearly : (part.share + 1) / 2, entries, part.scratch);
  if (part.full && entries.size() < nearly) return select_exactly(part, entries);
  return energies;
}

// By pieces, as the setting allots `keep` to them.
template <typename Select>
Result<Selected> by_shares(const AdvanceJob& job, std::uint32_t keep, bool full, Select&& select) {
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
  Entries part_entries;
  job.scratch.entries.clear();
  for (std::size_t l = 0; l < pieces.size(); ++l) {
    const auto [offset, size] = pieces[l];
    if (size == 0) continue;
    const Part part{target.subspan(offset, size),
                    estimate.subspan(offset, size),
                    shares[l],
                    static_cast<std::uint32_t>(offset),
                    full,
                    job.scratch.select};
    part_entries.clear();
    energies +=
        shares[l] == 0 ? collect_from(part, kLargest, part_entries) : select(part, part_entries);
    if (shares[l] > 0) append(part_entries, 0, part_entries.size(), job.scratch.entries);
  }
  if (Status finite = job.difference.check_finite(energies); !finite) return finite.error();
  Result<Curve> curve = job.with_curve ? job.difference.measure(job) : Curve{};
  if (!curve) return curve.error();
  return Selected{energies, std::move(*curve)};
}

}  // namespace

Result<Selected> select_dgc(const AdvanceJob& job, std::uint32_t keep, bool full) {
  return by_shares(job, keep, full, dgc);
}

Result<Selected> select_redsync(const AdvanceJob& job, std::uint32_t keep, bool full) {
  return by_shares(job, keep, full, redsync);
}

}  // namespace kimesh
