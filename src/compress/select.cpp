#include "src/compress/select.h"

#include <algorithm>
#include <numeric>

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

// The floor's elements, and the largest of the rest.
Result<Selected> select_globally(const AdvanceJob& job, std::uint32_t keep) {
  const Setting& setting = job.setting;
  CompressScratch& scratch = job.scratch;
  // A budget in bytes may hold fewer elements than the floor has.
  share_out(std::min(setting.floor, keep), setting.rotation, job.pieces, scratch.shares);
  auto selected = job.difference.select_globally(job, keep, scratch.shares);
  if (!selected) return selected;
  Entries &entries = scratch.entries, &floor = scratch.floor_entries;
  if (floor.size() > 0) take_out(floor, entries);
  kernels::keep_largest(keep - floor.size(), entries, scratch.select);
  if (floor.size() > 0) put_in(floor, entries);
  return selected;
}

}  // namespace

Result<Selected> select_topk(const AdvanceJob& job, std::uint32_t keep) {
  KIMESH_CHECK(keep >= 1 && keep <= job.size(), "topk keeps 1 to all elements");
  const Setting& setting = job.setting;
  std::vector<std::uint32_t>& shares = job.scratch.shares;
  shares.resize(job.pieces.size());
  switch (setting.allocation) {
    case Allocation::kProportional:
      share_out(keep, setting.rotation, job.pieces, shares);
      return job.difference.select_shares(job, shares);
    case Allocation::kGlobal:
      return select_globally(job, keep);
    case Allocation::kListed:
      KIMESH_CHECK(setting.shares.size() == job.pieces.size(), "one share for each piece");
      KIMESH_CHECK(
          std::accumulate(setting.shares.begin(), setting.shares.end(), std::uint64_t{0}) == keep,
          "the shares sum to what is kept");
      return job.difference.select_shares(job, setting.shares);
  }
  check_failed(__FILE__, __LINE__, "allocation", "one of the list");
}

}  // namespace kimesh
