#include "src/compress/host_difference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/vector_math.h"
#include "kimesh/util/check.h"
#include "src/compress/curve.h"
#include "src/compress/entries.h"

namespace kimesh {
namespace {

using kernels::Energies;
using kernels::Entries;

static_assert(std::endian::native == std::endian::little,
              "messages are written as memory holds them");

// A piece of many elements has no curve worth the name without a look at its largest ones.
std::size_t share_to_look_at(const AdvanceJob& job, const Piece& piece, std::size_t share) {
  constexpr std::size_t kShare = 256;
  return job.with_curve ? std::max(share, piece.size / kShare) : share;
}

}  // namespace

const HostDifference& host_of(const AdvanceJob& job) {
  const auto* host = dynamic_cast<const HostDifference*>(&job.difference);
  KIMESH_CHECK(host != nullptr, "a compressor that the device has");
  return *host;
}

Status HostDifference::check_finite(const Energies& energies) const {
  if (energies.finite()) return ok_status();
  for (std::size_t j = 0; j < target_.size(); ++j) {
    const float difference = target_[j] - estimate_[j];
    if (kernels::first_not_finite(std::span(&difference, 1))) return not_finite_at(j);
  }
  check_failed(__FILE__, __LINE__, "energies", "energies are finite where every element is");
}

Energies HostDifference::collect_piece(const AdvanceJob& job, const Piece& piece, float lower,
                                       Entries& entries, Curve* curve) const {
  const auto target = target_.subspan(piece.offset, piece.size);
  const auto estimate = estimate_.subspan(piece.offset, piece.size);
  const auto base = static_cast<std::uint32_t>(piece.offset);
  if (curve == nullptr) return kernels::collect(target, estimate, lower, base, entries);

  kernels::SelectScratch& scratch = job.scratch.select;
  // In a large message a piece is a small part, and its error a smaller one of the whole.
  constexpr std::size_t kLargeMessage = std::size_t{1} << 22;
  const std::size_t weight = target_.size() < kLargeMessage ? 1 : 8;
  scratch.histogram.reset(weight * piece.size, kernels::MagnitudeHistogram::Counts::kSample);
  const std::size_t before = entries.size();
  const Energies energies =
      kernels::collect(target, estimate, lower, base, entries, &scratch.histogram);
  if (!energies.finite()) {
    curve->push_back({});
  } else if (scratch.histogram.sampled()) {
    const auto known = std::span<const float>(entries.values).subspan(before);
    curve->push_back(sampled_curve(piece.size, lower, known, energies.difference, scratch));
  } else {
    curve->push_back(counted_curve(piece.size, scratch.histogram, energies.difference));
  }
  return energies;
}

Energies HostDifference::collect_share(const AdvanceJob& job, const Piece& piece, std::size_t share,
                                       float always, Entries& entries, Curve* curve) const {
  const auto target = target_.subspan(piece.offset, piece.size);
  const auto estimate = estimate_.subspan(piece.offset, piece.size);
  const std::size_t before = entries.size();
  for (kernels::Bracket bracket(target, estimate, share, job.scratch.select);; bracket.widen()) {
    const float lower = std::min(bracket.lower(), always);
    const Energies energies = collect_piece(job, piece, lower, entries, curve);
    const bool enough = entries.size() - before >= share || bracket.takes_all();
    if (enough || !energies.finite()) return energies;
    entries.resize(before);
    if (curve != nullptr) curve->pop_back();
  }
}

// The entries that a curve rests on go where only global selection has any.
Curve HostDifference::curve(const AdvanceJob& job) const {
  Curve curve;
  Entries& entries = job.scratch.floor_entries;
  for (const Piece& piece : job.pieces) {
    entries.clear();
    const std::size_t look_at = share_to_look_at(job, piece, 0);
    if (!collect_share(job, piece, look_at, INFINITY, entries, &curve).finite()) return {};
  }
  return curve;
}

Result<Selected> HostDifference::survey(const AdvanceJob& job) {
  job.scratch.entries.clear();
  constexpr float kNoneReaches = std::numeric_limits<float>::infinity();
  Selected selected;
  selected.energies = kernels::collect(target_, estimate_, kNoneReaches, 0, job.scratch.entries);
  if (Status finite = check_finite(selected.energies); !finite) return finite.error();
  if (job.with_curve) selected.curve = curve(job);
  return selected;
}

Result<Selected> HostDifference::select_reaching(const AdvanceJob& job, float lower) {
  Selected selected;
  Entries& entries = job.scratch.entries;
  entries.clear();
  Curve* curve = job.with_curve ? &selected.curve : nullptr;
  for (const Piece& piece : job.pieces) {
    const std::size_t before = entries.size();
    const std::size_t look_at = share_to_look_at(job, piece, 0);
    selected.energies += collect_share(job, piece, look_at, lower, entries, curve);
    if (look_at > 0) drop_below(lower, entries, before);
  }
  if (Status finite = check_finite(selected.energies); !finite) return finite.error();
  return selected;
}

Result<Selected> HostDifference::select_shares(const AdvanceJob& job,
                                               std::span<const std::uint32_t> shares) {
  Selected selected;
  Entries& entries = job.scratch.entries;
  entries.clear();
  Curve* curve = job.with_curve ? &selected.curve : nullptr;
  for (std::size_t l = 0; l < job.pieces.size(); ++l) {
    const std::size_t before = entries.size();
    const std::size_t look_at = share_to_look_at(job, job.pieces[l], shares[l]);
    selected.energies += collect_share(job, job.pieces[l], look_at, INFINITY, entries, curve);
    kernels::keep_largest(shares[l], entries, job.scratch.select, before);
  }
  if (Status finite = check_finite(selected.energies); !finite) return finite.error();
  return selected;
}

Energies HostDifference::collect_globally(const AdvanceJob& job, std::uint32_t keep,
                                          std::span<const std::uint32_t> floors,
                                          Curve* curve) const {
  CompressScratch& scratch = job.scratch;
  Entries &entries = scratch.entries, &floor = scratch.floor_entries;
  for (unsigned attempt = 0;; ++attempt) {
    kernels::Bracket bracket(target_, estimate_, keep, scratch.select);
    for (unsigned i = 0; i < attempt; ++i) bracket.widen();
    const float lower = bracket.lower();
    const bool takes_all = bracket.takes_all();
    Energies energies;
    entries.clear();
    floor.clear();
    if (curve != nullptr) curve->clear();
    for (std::size_t l = 0; l < job.pieces.size(); ++l) {
      const std::size_t before = entries.size(), floor_before = floor.size();
      const std::size_t look_at = share_to_look_at(job, job.pieces[l], floors[l]);
      energies += collect_share(job, job.pieces[l], look_at, lower, entries, curve);
      if (floors[l] == 0) continue;
      append(entries, before, entries.size(), floor);
      kernels::keep_largest(floors[l], floor, scratch.select, floor_before);
    }
    if (!energies.finite() || takes_all || count_reaching(lower, entries) >= keep) return energies;
  }
}

Result<Selected> HostDifference::select_globally(const AdvanceJob& job, std::uint32_t keep,
                                                 std::span<const std::uint32_t> floors) {
  Selected selected;
  selected.energies =
      collect_globally(job, keep, floors, job.with_curve ? &selected.curve : nullptr);
  if (Status finite = check_finite(selected.energies); !finite) return finite.error();
  return selected;
}

Status HostDifference::select_piece(const AdvanceJob& job, const Piece& piece, std::uint32_t keep,
                                    Entries& entries) {
  entries.clear();
  const Energies energies = kernels::collect_topk(
      target_.subspan(piece.offset, piece.size), estimate_.subspan(piece.offset, piece.size), keep,
      static_cast<std::uint32_t>(piece.offset), entries, job.scratch.select);
  return check_finite(energies);
}

Result<kernels::Added> HostDifference::add(std::span<const std::uint32_t> indices,
                                           std::span<const float> values, bool whole) {
  return whole ? kernels::add_whole_entries(indices, values, estimate_)
               : kernels::add_entries(target_, indices, values, estimate_);
}

Result<Selected> HostDifference::quantise(const AdvanceJob& job, kernels::Blocks blocks,
                                          Rounding round, std::span<std::byte> bytes,
                                          double& left) {
  Selected selected;
  selected.energies = kernels::quantise(blocks, round, target_, estimate_, bytes);
  if (Status finite = check_finite(selected.energies); !finite) return finite.error();
  if (job.with_curve) selected.curve = curve(job);
  left = kernels::add_quantised(blocks, bytes, target_, estimate_);
  return selected;
}

Result<Selected> HostDifference::assign(const AdvanceJob& job, std::span<std::byte> bytes) {
  if (const auto bad = kernels::first_not_finite(target_)) return not_finite_at(*bad);
  Selected selected;
  if (job.with_curve && !estimate_.empty()) selected.curve = curve(job);
  if (!target_.empty()) std::memcpy(bytes.data(), target_.data(), target_.size_bytes());
  if (!estimate_.empty()) std::ranges::copy(target_, estimate_.begin());
  selected.energies.target = kernels::energy(target_);
  return selected;
}

}  // namespace kimesh
