#include "kimesh/codec/difference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "kimesh/kernels/vector_math.h"
#include "kimesh/util/check.h"
#include "piece_curve.h"

namespace kimesh {
namespace {

using kernels::PassResult;
using kernels::Quota;

static_assert(std::endian::native == std::endian::little,
              "messages are written as memory holds them");

std::vector<Quota> quotas_of(std::span<const Piece> pieces, std::span<const std::uint32_t> keep) {
  std::vector<Quota> quotas;
  quotas.reserve(pieces.size());
  for (std::size_t l = 0; l < pieces.size(); ++l)
    quotas.push_back({pieces[l].offset, pieces[l].size, keep.empty() ? 0 : keep[l]});
  return quotas;
}

// Turns the magnitudes that a pass counts into curves.
class CurveRecorder final : public kernels::MagnitudeObserver {
 public:
  explicit CurveRecorder(const AdvanceJob& job)
      : pieces_(job.pieces), top_(job.scratch.select.top_histogram), curve_(job.pieces.size()) {}
  void observe(const kernels::PartMagnitudes& magnitudes) override {
    curve_[magnitudes.part] = curve_of(pieces_[magnitudes.part].size, magnitudes, top_);
  }
  [[nodiscard]] Curve take() { return std::move(curve_); }

 private:
  std::span<const Piece> pieces_;
  kernels::MagnitudeHistogram& top_;
  Curve curve_;
};

}  // namespace

Error not_finite_at(std::size_t index) {
  return {ErrorCode::kNotFinite, "element " + std::to_string(index) + " is NaN or infinite"};
}

std::size_t AdvanceJob::size() const {
  return difference.size();
}

// An error is rare, so that the search for its element may be slow: it runs on a copy on the host.
Status Difference::check_finite(const kernels::Energies& energies) const {
  if (energies.finite()) return ok_status();
  std::vector<float> target(target_.size), estimate(estimate_.size);
  if (Status copied = memory_.download(target_, target); !copied) return copied;
  if (Status copied = memory_.download(estimate_, estimate); !copied) return copied;
  for (std::size_t j = 0; j < estimate.size(); ++j) target[j] -= estimate[j];
  const auto bad = kernels::first_not_finite(target);
  KIMESH_CHECK(bad, "energies are finite where every element is");
  return not_finite_at(*bad);
}

Result<Curve> Difference::measure(const AdvanceJob& job) {
  CurveRecorder recorder(job);
  const std::vector<Quota> parts = quotas_of(job.pieces, {});
  const auto finite =
      memory_.observe_magnitudes({target_, estimate_, parts, job.scratch.select, false, &recorder});
  if (!finite) return finite.error();
  return *finite ? recorder.take() : Curve{};
}

Result<PassSummary> Difference::survey(const AdvanceJob& job) {
  job.scratch.entries.clear();
  const auto energies = memory_.energies(target_, estimate_);
  if (!energies) return energies.error();
  if (Status finite = check_finite(*energies); !finite) return finite.error();
  PassSummary selected{*energies, {}};
  if (!job.with_curve) return selected;
  auto curve = measure(job);
  if (!curve) return curve.error();
  selected.curve = std::move(*curve);
  return selected;
}

Result<PassSummary> Difference::select(const AdvanceJob& job, const Selection& selection) {
  CurveRecorder recorder(job);
  const std::vector<Quota> parts = quotas_of(job.pieces, selection.shares);
  const kernels::DifferencePass pass{target_,
                                     estimate_,
                                     parts,
                                     job.scratch.select,
                                     job.sends_selection,
                                     job.with_curve ? &recorder : nullptr};
  kernels::Entries& entries = job.scratch.entries;
  const auto result = selection.lower > 0 ? memory_.select_reaching(pass, selection.lower, entries)
                                          : memory_.select_largest(pass, selection.in_all, entries);
  if (!result) return result.error();
  if (Status finite = check_finite(result->energies); !finite) return finite.error();
  added_.reset();
  if (job.sends_selection) added_ = result->added;
  return PassSummary{result->energies, job.with_curve ? recorder.take() : Curve{}};
}

Result<PassSummary> Difference::select_reaching(const AdvanceJob& job, float lower) {
  KIMESH_CHECK(lower > 0, "zeros are never selected");
  return select(job, {.lower = lower});
}

Result<PassSummary> Difference::select_shares(const AdvanceJob& job,
                                              std::span<const std::uint32_t> shares) {
  return select(job, {.shares = shares});
}

Result<PassSummary> Difference::select_globally(const AdvanceJob& job, std::uint32_t keep,
                                                std::span<const std::uint32_t> floors) {
  return select(job, {.shares = floors, .in_all = keep});
}

Status Difference::select_piece(const AdvanceJob& job, const Piece& piece, std::uint32_t keep,
                                kernels::Entries& entries) {
  const Quota whole{0, piece.size, keep};
  const auto result = memory_.select_largest(
      {target_.subspan(piece.offset, piece.size), estimate_.subspan(piece.offset, piece.size),
       std::span(&whole, 1), job.scratch.select},
      0, entries);
  if (!result) return result.error();
  for (std::uint32_t& index : entries.indices) index += static_cast<std::uint32_t>(piece.offset);
  return check_finite(result->energies);
}

Result<kernels::Added> Difference::add(std::span<const std::uint32_t> indices,
                                       std::span<const float> values, bool whole) {
  if (added_) return *std::exchange(added_, std::nullopt);
  return memory_.add_entries(target_, indices, values, whole, estimate_);
}

Result<PassSummary> Difference::quantise(const AdvanceJob& job, kernels::BlockFormat blocks,
                                         Rounding rounding, std::span<std::byte> bytes,
                                         double& left) {
  Result<Curve> curve = job.with_curve ? measure(job) : Curve{};  // before the estimate moves
  if (!curve) return curve.error();
  const auto result = memory_.quantise(blocks, rounding, target_, estimate_, bytes);
  if (!result) return result.error();
  if (Status finite = check_finite(result->energies); !finite) return finite.error();
  left = result->added.left;
  return PassSummary{result->energies, std::move(*curve)};
}

// On the host in one read, into memory that is not zeroed first.
Result<double> Difference::append_target(std::vector<std::byte>& bytes) {
  if (memory_.on_host()) return kernels::append_with_energy(target_on_host(), bytes);
  const std::size_t begin = bytes.size();
  bytes.resize(begin + dense_bytes(target_.size));
  const Status copied = memory_.download(target_, std::span(bytes).subspan(begin));
  if (!copied) return copied.error();
  return memory_.energy(target_);
}

Result<PassSummary> Difference::assign(const AdvanceJob& job, std::vector<std::byte>& bytes) {
  const auto energy = append_target(bytes);
  if (!energy) return energy.error();
  if (!std::isfinite(*energy)) {
    const auto bad = memory_.first_not_finite(target_);
    if (!bad) return bad.error();
    KIMESH_CHECK(*bad, "energies are finite where every element is");
    return not_finite_at(**bad);
  }
  Result<Curve> curve = job.with_curve && has_estimate() ? measure(job) : Curve{};
  if (!curve) return curve.error();
  if (has_estimate()) memory_.copy(target_, estimate_);
  return PassSummary{{*energy, 0}, std::move(*curve)};
}

std::vector<std::uint32_t> count_by_piece(std::span<const std::uint32_t> indices,
                                          std::span<const Piece> pieces) {
  std::vector<std::uint32_t> counts;
  counts.reserve(pieces.size());
  auto begin = indices.begin();
  for (const Piece& piece : pieces) {
    const auto end = std::lower_bound(begin, indices.end(), piece.offset + piece.size);
    counts.push_back(static_cast<std::uint32_t>(end - begin));
    begin = end;
  }
  return counts;
}

Status add_to_estimate(const AdvanceJob& job, const kernels::Energies& energies, Advanced& result,
                       bool is_whole) {
  const kernels::Entries& entries = job.scratch.entries;
  const auto added = job.difference.add(entries.indices, entries.values, is_whole);
  if (!added) return added.error();
  result.kept = entries.size();
  result.piece_kept = count_by_piece(entries.indices, job.pieces);
  result.wanted_energy = energies.target;
  result.energy_to_send = energies.difference;
  result.missing_energy = std::max(0.0, energies.difference - added->removed) + added->left;
  return ok_status();
}

}  // namespace kimesh
