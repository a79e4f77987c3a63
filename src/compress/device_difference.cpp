#include "src/compress/device_difference.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/vector_math.h"
#include "kimesh/util/check.h"
#include "src/compress/curve.h"
#include "src/compress/entries.h"

namespace kimesh {
namespace {

using kernels::Entries;
using kernels::Quota;

std::vector<Quota> shares_of(std::span<const Piece> pieces, std::span<const std::uint32_t> keep) {
  std::vector<Quota> shares;
  shares.reserve(pieces.size());
  for (std::size_t l = 0; l < pieces.size(); ++l)
    shares.push_back({pieces[l].offset, pieces[l].size, keep.empty() ? 0 : keep[l]});
  return shares;
}

}  // namespace

// An error is rare: the host looks which element it is.
Status DeviceDifference::check_finite(const kernels::Energies& energies) {
  if (energies.finite()) return ok_status();
  std::vector<float> target(target_.size), estimate(estimate_.size);
  for (const auto& [from, to] : {std::pair(target_, std::span(target)), {estimate_, estimate}})
    if (Status copied = device_.download(from, to); !copied) return copied;
  for (std::size_t j = 0; j < estimate.size(); ++j) target[j] -= estimate[j];
  const auto bad = kernels::first_not_finite(target);
  KIMESH_CHECK(bad, "energies are finite where every element is");
  return not_finite_at(*bad);
}

Result<Curve> DeviceDifference::curve(const AdvanceJob& job) {
  Curve curve;
  if (!job.with_curve || !has_estimate()) return curve;
  std::vector<kernels::MagnitudeBin> bins(job.pieces.size() * kernels::kMagnitudeBins);
  const Status counted =
      device_.count_magnitudes(target_, estimate_, shares_of(job.pieces, {}), bins);
  if (!counted) return counted.error();
  for (std::size_t l = 0; l < job.pieces.size(); ++l) {
    const auto part = std::span(bins).subspan(l * kernels::kMagnitudeBins, kernels::kMagnitudeBins);
    curve.push_back(counted_curve(job.pieces[l].size, part));
  }
  return curve;
}

Result<Selected> DeviceDifference::selected(const AdvanceJob& job, Result<kernels::Stepped> stepped,
                                            Result<Curve> curve) {
  if (!stepped) return stepped.error();
  if (!curve) return curve.error();
  if (Status finite = check_finite(stepped->energies); !finite) return finite.error();
  added_.reset();
  if (job.sends_selection) added_ = stepped->added;
  return Selected{stepped->energies, std::move(*curve)};
}

Result<Selected> DeviceDifference::survey(const AdvanceJob& job) {
  auto before = curve(job);
  job.scratch.entries.clear();
  const auto energies = device_.energies(target_, estimate_);
  if (!energies) return energies.error();
  return selected(job, kernels::Stepped{*energies, {}}, std::move(before));
}

Result<Selected> DeviceDifference::select_reaching(const AdvanceJob& job, float lower) {
  auto before = curve(job);
  return selected(
      job,
      device_.step_threshold(target_, estimate_, lower, job.sends_selection, job.scratch.entries),
      std::move(before));
}

Result<Selected> DeviceDifference::select_shares(const AdvanceJob& job,
                                                 std::span<const std::uint32_t> shares) {
  auto before = curve(job);
  return selected(job,
                  device_.step_topk(target_, estimate_, shares_of(job.pieces, shares), 0,
                                    job.sends_selection, job.scratch.entries),
                  std::move(before));
}

Result<Selected> DeviceDifference::select_globally(const AdvanceJob& job, std::uint32_t keep,
                                                   std::span<const std::uint32_t> floors) {
  auto before = curve(job);
  Entries &entries = job.scratch.entries, &floor = job.scratch.floor_entries;
  auto found = selected(job,
                        device_.step_topk(target_, estimate_, shares_of(job.pieces, floors), keep,
                                          job.sends_selection, entries),
                        std::move(before));
  floor.clear();
  if (!found) return found;
  std::size_t next = 0;
  for (std::size_t l = 0; l < job.pieces.size(); ++l) {
    const std::size_t end = floor.size(), first = next;
    next = first_from(job.pieces[l].offset + job.pieces[l].size, entries);
    if (floors[l] == 0) continue;
    append(entries, first, next, floor);
    kernels::keep_largest(floors[l], floor, job.scratch.select, end);
  }
  return found;
}

Status DeviceDifference::select_piece(const AdvanceJob&, const Piece& piece, std::uint32_t keep,
                                      Entries& entries) {
  const Quota whole{0, piece.size, keep};
  const auto stepped = device_.step_topk(target_.subspan(piece.offset, piece.size),
                                         estimate_.subspan(piece.offset, piece.size),
                                         std::span(&whole, 1), 0, false, entries);
  if (!stepped) return stepped.error();
  for (std::uint32_t& index : entries.indices) index += static_cast<std::uint32_t>(piece.offset);
  return check_finite(stepped->energies);
}

Result<kernels::Added> DeviceDifference::add(std::span<const std::uint32_t> indices,
                                             std::span<const float> values, bool) {
  if (added_) return *std::exchange(added_, std::nullopt);
  return device_.add_entries(target_, indices, values, estimate_);
}

Result<Selected> DeviceDifference::quantise(const AdvanceJob& job, kernels::Blocks blocks,
                                            Rounding round, std::span<std::byte> bytes,
                                            double& left) {
  auto before = curve(job);
  auto stepped = device_.step_blocks(blocks, round, target_, estimate_, bytes);
  if (stepped) left = stepped->added.left;
  return selected(job, std::move(stepped), std::move(before));
}

Result<Selected> DeviceDifference::assign(const AdvanceJob& job, std::span<std::byte> bytes) {
  const auto bad = device_.first_not_finite(target_);
  if (!bad) return bad.error();
  if (*bad) return not_finite_at(**bad);
  auto before = curve(job);
  if (!before) return before.error();
  const auto energy = device_.energy(target_);
  if (!energy) return energy.error();
  // Whatever the allocator of a vector gives is aligned for floats.
  const std::span<float> floats(reinterpret_cast<float*>(bytes.data()), target_.size);
  if (Status copied = device_.download(target_, floats); !copied) return copied.error();
  if (has_estimate()) device_.copy(target_, estimate_);
  return Selected{{*energy, 0}, std::move(*before)};
}

}  // namespace kimesh
