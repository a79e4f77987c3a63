#include "src/compress/select.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/vector_math.h"
#include "kimesh/util/check.h"
#include "src/compress/curve.h"

namespace kimesh {
namespace {

using kernels::Entries;

// Of the levels of a selection: how many elements the first lets through, and how many of these
// are kept. One level: both are the same.
struct Levels {
  std::span<const std::uint32_t> first, kept;
};

double energy_of(const Entries& entries, std::size_t first) {
  return kernels::energy(std::span(entries.values).subspan(first));
}

// What a piece's `share` largest are among, and nothing but zeros smaller than all of them; nor
// anything that `always` does not reach.
kernels::Energies collect_share(const AdvanceJob& job, const Piece& piece, std::size_t share,
                                float always, Entries& entries, Curve* curve) {
  const auto target = job.target.subspan(piece.offset, piece.size);
  const auto estimate = job.estimate.subspan(piece.offset, piece.size);
  const std::size_t before = entries.size();
  for (kernels::Bracket bracket(target, estimate, share, job.scratch.select);; bracket.widen()) {
    const float lower = std::min(bracket.lower(), always);
    const kernels::Energies energies = collect_piece(job, piece, lower, entries, curve);
    const bool enough = entries.size() - before >= share || bracket.takes_all();
    if (enough || !energies.finite()) return energies;
    entries.resize(before);
    if (curve != nullptr) curve->pop_back();
  }
}

// A piece of many elements has no curve worth the name without a look at its largest ones.
std::size_t share_to_look_at(const AdvanceJob& job, const Piece& piece, std::size_t share) {
  constexpr std::size_t kShare = 256;
  return job.with_curve ? std::max(share, piece.size / kShare) : share;
}

Selected select_by_shares(const AdvanceJob& job, const Levels& levels) {
  Selected selected;
  Entries& entries = job.scratch.entries;
  Curve* curve = job.with_curve ? &selected.curve : nullptr;
  double first_energy = 0;
  for (std::size_t l = 0; l < job.pieces.size(); ++l) {
    const Piece& piece = job.pieces[l];
    const std::size_t before = entries.size();
    const std::size_t look_at = share_to_look_at(job, piece, levels.first[l]);
    selected.energies += collect_share(job, piece, look_at, INFINITY, entries, curve);
    kernels::keep_largest(levels.first[l], entries, job.scratch.select, before);
    if (levels.first[l] == levels.kept[l]) {
      if (job.setting.first_keep > 0) first_energy += energy_of(entries, before);
      continue;
    }
    first_energy += energy_of(entries, before);
    kernels::keep_largest(levels.kept[l], entries, job.scratch.select, before);
  }
  if (job.setting.first_keep > 0)
    selected.first_missing_energy = std::max(0.0, selected.energies.difference - first_energy);
  return selected;
}

std::size_t count_reaching(float lower, const Entries& entries) {
  return static_cast<std::size_t>(
      std::ranges::count_if(entries.values, [&](float x) { return std::abs(x) >= lower; }));
}

// Candidates of all pieces: every element that is among the `keep` largest of the vector, or of the
// floor's share of its piece. The latter go to scratch.floor_entries.
kernels::Energies collect_globally(const AdvanceJob& job, std::uint32_t keep, Curve* curve) {
  CompressScratch& scratch = job.scratch;
  Entries &entries = scratch.entries, &floor = scratch.floor_entries;
  for (unsigned attempt = 0;; ++attempt) {
    kernels::Bracket bracket(job.target, job.estimate, keep, scratch.select);
    for (unsigned i = 0; i < attempt; ++i) bracket.widen();
    const float lower = bracket.lower();
    const bool takes_all = bracket.takes_all();
    kernels::Energies energies;
    entries.clear();
    floor.clear();
    if (curve != nullptr) curve->clear();
    for (std::size_t l = 0; l < job.pieces.size(); ++l) {
      const std::size_t before = entries.size(), floor_before = floor.size();
      const std::size_t look_at = share_to_look_at(job, job.pieces[l], scratch.shares[l]);
      energies += collect_share(job, job.pieces[l], look_at, lower, entries, curve);
      if (scratch.shares[l] == 0) continue;
      floor.resize(floor_before + entries.size() - before);
      std::copy(entries.indices.begin() + static_cast<std::ptrdiff_t>(before),
                entries.indices.end(),
                floor.indices.begin() + static_cast<std::ptrdiff_t>(floor_before));
      std::copy(entries.values.begin() + static_cast<std::ptrdiff_t>(before), entries.values.end(),
                floor.values.begin() + static_cast<std::ptrdiff_t>(floor_before));
      kernels::keep_largest(scratch.shares[l], floor, scratch.select, floor_before);
    }
    if (!energies.finite() || takes_all || count_reaching(lower, entries) >= keep) return energies;
  }
}

// Takes out of `entries` what `taken` has, in place. Both ascend.
void take_out(const Entries& taken, Entries& entries) {
  std::size_t left = 0, t = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::uint32_t index = entries.indices[i];
    while (t < taken.size() && taken.indices[t] < index) ++t;
    entries.indices[left] = index;
    entries.values[left] = entries.values[i];
    left += t < taken.size() && taken.indices[t] == index ? 0 : 1;
  }
  entries.resize(left);
}

// Puts `more` among `entries`, from the end, so that nothing is overwritten before it has moved.
void put_in(const Entries& more, Entries& entries) {
  std::size_t rest = entries.size(), m = more.size();
  entries.resize(rest + m);
  for (std::size_t out = entries.size(); m > 0;) {
    const bool from_more = rest == 0 || more.indices[m - 1] > entries.indices[rest - 1];
    const Entries& from = from_more ? more : entries;
    const std::size_t at = from_more ? --m : --rest;
    --out;
    entries.indices[out] = from.indices[at];
    entries.values[out] = from.values[at];
  }
}

// The floor's elements, and the largest of the rest.
Selected select_globally(const AdvanceJob& job, std::uint32_t first, std::uint32_t keep) {
  const Setting& setting = job.setting;
  CompressScratch& scratch = job.scratch;
  // A budget in bytes may hold fewer elements than the floor has.
  share_out(std::min(setting.floor, keep), setting.rotation, job.pieces, scratch.shares);
  Selected selected;
  selected.energies = collect_globally(job, first, job.with_curve ? &selected.curve : nullptr);
  Entries &entries = scratch.entries, &floor = scratch.floor_entries;
  if (floor.size() > 0) take_out(floor, entries);
  kernels::keep_largest(first - floor.size(), entries, scratch.select);
  if (setting.first_keep > 0) {
    const double first_energy = energy_of(entries, 0) + energy_of(floor, 0);
    selected.first_missing_energy = std::max(0.0, selected.energies.difference - first_energy);
  }
  if (first != keep) kernels::keep_largest(keep - floor.size(), entries, scratch.select);
  if (floor.size() > 0) put_in(floor, entries);
  return selected;
}

// With two levels a piece's first share is at least its second, which rounding alone would not
// keep: then two steps find what one does.
Selected select_with_first_shares(const AdvanceJob& job, std::span<const std::uint32_t> shares,
                                  std::uint32_t first) {
  if (job.setting.first_keep == 0) return select_by_shares(job, {shares, shares});
  std::vector<std::uint32_t> first_shares(shares.size());
  share_out(first, job.setting.rotation, job.pieces, first_shares);
  for (std::size_t l = 0; l < shares.size(); ++l)
    first_shares[l] = std::max(first_shares[l], shares[l]);
  return select_by_shares(job, {first_shares, shares});
}

Selected select(const AdvanceJob& job, std::uint32_t keep) {
  const Setting& setting = job.setting;
  const std::uint32_t first = setting.first_keep > 0 ? setting.first_keep : keep;
  KIMESH_CHECK(first >= keep && first <= job.target.size(), "the first level keeps more");
  std::vector<std::uint32_t>& shares = job.scratch.shares;
  shares.resize(job.pieces.size());
  switch (setting.allocation) {
    case Allocation::kProportional:
      share_out(keep, setting.rotation, job.pieces, shares);
      return select_with_first_shares(job, shares, first);
    case Allocation::kGlobal:
      return select_globally(job, first, keep);
    case Allocation::kListed:
      KIMESH_CHECK(setting.shares.size() == job.pieces.size(), "one share for each piece");
      KIMESH_CHECK(
          std::accumulate(setting.shares.begin(), setting.shares.end(), std::uint64_t{0}) == keep,
          "the shares sum to what is kept");
      return select_with_first_shares(job, setting.shares, first);
  }
  check_failed(__FILE__, __LINE__, "allocation", "one of the list");
}

}  // namespace

Status check_finite(const AdvanceJob& job, const kernels::Energies& energies) {
  if (energies.finite()) return ok_status();
  for (std::size_t j = 0; j < job.target.size(); ++j) {
    const float difference = job.target[j] - job.estimate[j];
    if (kernels::first_not_finite(std::span(&difference, 1))) return not_finite_at(j);
  }
  check_failed(__FILE__, __LINE__, "energies", "energies are finite where every element is");
}

// Nothing is selected: the entries that a curve rests on go where only global selection has any.
Curve difference_curve(const AdvanceJob& job) {
  Curve curve;
  Entries& entries = job.scratch.floor_entries;
  for (const Piece& piece : job.pieces) {
    entries.clear();
    const std::size_t look_at = share_to_look_at(job, piece, 0);
    if (!collect_share(job, piece, look_at, INFINITY, entries, &curve).finite()) return {};
  }
  return curve;
}

Result<Selected> select_topk(const AdvanceJob& job, std::uint32_t keep) {
  KIMESH_CHECK(keep >= 1 && keep <= job.target.size(), "topk keeps 1 to all elements");
  job.scratch.entries.clear();
  Selected selected = select(job, keep);
  if (Status finite = check_finite(job, selected.energies); !finite) return finite.error();
  return selected;
}

}  // namespace kimesh
