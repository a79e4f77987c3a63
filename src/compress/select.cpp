#include "src/compress/select.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "kernels/vector_math.h"
#include "kimesh/util/check.h"
#include "src/compress/entries.h"

namespace kimesh {
namespace {

using kernels::Entries;

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

// Of multi-level compression: what the first level alone would leave out.
double left_out(const kernels::Energies& energies, double first_energy) {
  return std::max(0.0, energies.difference - first_energy);
}

// The second level: of each piece's entries the `shares` largest.
void keep_shares(const AdvanceJob& job, std::span<const std::uint32_t> shares) {
  Entries &entries = job.scratch.entries, &kept = job.scratch.floor_entries;
  kept.clear();
  std::size_t next = 0;
  for (std::size_t l = 0; l < job.pieces.size(); ++l) {
    const std::size_t before = kept.size(), first = next;
    next = first_from(job.pieces[l].offset + job.pieces[l].size, entries);
    append(entries, first, next, kept);
    kernels::keep_largest(shares[l], kept, job.scratch.select, before);
  }
  std::swap(entries, kept);
}

// The floor's elements, and the largest of the rest.
Result<Selected> select_globally(const AdvanceJob& job, std::uint32_t first, std::uint32_t keep) {
  const Setting& setting = job.setting;
  CompressScratch& scratch = job.scratch;
  // A budget in bytes may hold fewer elements than the floor has.
  share_out(std::min(setting.floor, keep), setting.rotation, job.pieces, scratch.shares);
  auto selected = job.difference.select_globally(job, first, scratch.shares);
  if (!selected) return selected;
  Entries &entries = scratch.entries, &floor = scratch.floor_entries;
  if (floor.size() > 0) take_out(floor, entries);
  kernels::keep_largest(first - floor.size(), entries, scratch.select);
  if (setting.first_keep > 0) {
    const double first_energy = kernels::energy(entries.values) + kernels::energy(floor.values);
    selected->first_missing_energy = left_out(selected->energies, first_energy);
  }
  if (first != keep) kernels::keep_largest(keep - floor.size(), entries, scratch.select);
  if (floor.size() > 0) put_in(floor, entries);
  return selected;
}

Result<Selected> select_by_shares(const AdvanceJob& job, std::span<const std::uint32_t> shares,
                                  std::uint32_t first) {
  if (job.setting.first_keep == 0) return job.difference.select_shares(job, shares);
  // With two levels a piece's first share is at least its second, which rounding alone would not
  // keep: then two steps find what one does.
  std::vector<std::uint32_t> first_shares(shares.size());
  share_out(first, job.setting.rotation, job.pieces, first_shares);
  for (std::size_t l = 0; l < shares.size(); ++l)
    first_shares[l] = std::max(first_shares[l], shares[l]);
  auto selected = job.difference.select_shares(job, first_shares);
  if (!selected) return selected;
  selected->first_missing_energy =
      left_out(selected->energies, kernels::energy(job.scratch.entries.values));
  keep_shares(job, shares);
  return selected;
}

}  // namespace

Result<Selected> select_topk(const AdvanceJob& job, std::uint32_t keep) {
  KIMESH_CHECK(keep >= 1 && keep <= job.size(), "topk keeps 1 to all elements");
  const Setting& setting = job.setting;
  const std::uint32_t first = setting.first_keep > 0 ? setting.first_keep : keep;
  KIMESH_CHECK(first >= keep && first <= job.size(), "the first level keeps more");
  std::vector<std::uint32_t>& shares = job.scratch.shares;
  shares.resize(job.pieces.size());
  switch (setting.allocation) {
    case Allocation::kProportional:
      share_out(keep, setting.rotation, job.pieces, shares);
      return select_by_shares(job, shares, first);
    case Allocation::kGlobal:
      return select_globally(job, first, keep);
    case Allocation::kListed:
      KIMESH_CHECK(setting.shares.size() == job.pieces.size(), "one share for each piece");
      KIMESH_CHECK(
          std::accumulate(setting.shares.begin(), setting.shares.end(), std::uint64_t{0}) == keep,
          "the shares sum to what is kept");
      return select_by_shares(job, setting.shares, first);
  }
  check_failed(__FILE__, __LINE__, "allocation", "one of the list");
}

}  // namespace kimesh
