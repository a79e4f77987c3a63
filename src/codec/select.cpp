#include "kimesh/codec/select.h"

#include <algorithm>
#include <numeric>

#include "kimesh/codec/allocation.h"
#include "kimesh/util/check.h"

namespace kimesh {
namespace {

// Selects the floors of the pieces, then the largest of all other elements.
Result<PassSummary> select_globally(const AdvanceJob& job, std::uint32_t keep) {
  const Setting& setting = job.setting;
  CompressScratch& scratch = job.scratch;
  // A budget in bytes may hold fewer elements than the floor has.
  share_out(std::min(setting.floor, keep), setting.rotation, job.pieces, scratch.shares);
  return job.difference.select_globally(job, keep, scratch.shares);
}

}  // namespace

Result<PassSummary> select_topk(const AdvanceJob& job, std::uint32_t keep) {
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
