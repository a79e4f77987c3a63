#include "src/compress/select.h"

#include <algorithm>
#include <numeric>

#include "kernels/vector_math.h"
#include "kimesh/util/check.h"

namespace kimesh {
namespace {

kernels::Energies select_by_shares(const AdvanceJob& job, std::span<const std::uint32_t> shares,
                                   kernels::Entries& entries) {
  kernels::Energies energies;
  for (std::size_t l = 0; l < job.pieces.size(); ++l) {
    const Piece& piece = job.pieces[l];
    energies += kernels::collect_topk(job.target.subspan(piece.offset, piece.size),
                                      job.estimate.subspan(piece.offset, piece.size), shares[l],
                                      static_cast<std::uint32_t>(piece.offset), entries,
                                      job.scratch.select);
  }
  return energies;
}

// The floor's elements, and the largest of the rest.
kernels::Energies select_globally(const AdvanceJob& job, std::uint32_t keep) {
  const Setting& setting = job.setting;
  CompressScratch& scratch = job.scratch;
  KIMESH_CHECK(setting.floor <= keep, "the floor is a part of what is kept");
  share_out(setting.floor, setting.rotation, job.pieces, scratch.shares);
  scratch.floor_entries.clear();
  const kernels::Energies energies = select_by_shares(job, scratch.shares, scratch.floor_entries);
  kernels::collect_topk(job.target, job.estimate, keep, 0, scratch.entries, scratch.select);
  // Of the floor's elements most are among the largest already; as many of the smallest of these
  // go as others come.
  const kernels::Entries& floor = scratch.floor_entries;
  kernels::Entries rest;
  for (std::size_t i = 0, f = 0; i < scratch.entries.size(); ++i) {
    while (f < floor.size() && floor.indices[f] < scratch.entries.indices[i]) ++f;
    if (f < floor.size() && floor.indices[f] == scratch.entries.indices[i]) continue;
    rest.indices.push_back(scratch.entries.indices[i]);
    rest.values.push_back(scratch.entries.values[i]);
  }
  kernels::keep_largest(keep - floor.size(), rest, scratch.select);
  kernels::Entries& merged = scratch.entries;
  merged.clear();
  for (std::size_t f = 0, r = 0; f < floor.size() || r < rest.size();) {
    const bool from_floor =
        r == rest.size() || (f < floor.size() && floor.indices[f] < rest.indices[r]);
    const kernels::Entries& from = from_floor ? floor : rest;
    std::size_t& next = from_floor ? f : r;
    merged.indices.push_back(from.indices[next]);
    merged.values.push_back(from.values[next++]);
  }
  return energies;
}

kernels::Energies select(const AdvanceJob& job, std::uint32_t keep) {
  const Setting& setting = job.setting;
  std::vector<std::uint32_t>& shares = job.scratch.shares;
  shares.resize(job.pieces.size());
  switch (setting.allocation) {
    case Allocation::kProportional:
      share_out(keep, setting.rotation, job.pieces, shares);
      return select_by_shares(job, shares, job.scratch.entries);
    case Allocation::kGlobal:
      return select_globally(job, keep);
    case Allocation::kListed:
      KIMESH_CHECK(setting.shares.size() == job.pieces.size(), "one share for each piece");
      KIMESH_CHECK(
          std::accumulate(setting.shares.begin(), setting.shares.end(), std::uint64_t{0}) == keep,
          "the shares sum to what is kept");
      return select_by_shares(job, setting.shares, job.scratch.entries);
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

Result<Selected> select_topk(const AdvanceJob& job, std::uint32_t keep) {
  KIMESH_CHECK(keep >= 1 && keep <= job.target.size(), "topk keeps 1 to all elements");
  job.scratch.entries.clear();
  Selected selected{select(job, keep), 0, {}};
  if (Status finite = check_finite(job, selected.energies); !finite) return finite.error();
  if (job.with_curve) {
    job.scratch.reserve(job.target.size());
    const std::span<float> difference = job.scratch.difference.span().first(job.target.size());
    for (std::size_t j = 0; j < difference.size(); ++j)
      difference[j] = job.target[j] - job.estimate[j];
    selected.curve = measure_curve(difference, job.pieces);
  }
  return selected;
}

}  // namespace kimesh
