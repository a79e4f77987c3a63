#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>

#include "kernels/vector_math.h"
#include "kimesh/compress/compressor.h"
#include "kimesh/util/check.h"

namespace kimesh {
namespace {

static_assert(std::endian::native == std::endian::little,
              "messages are written as memory holds them");

void check_pieces(std::span<const Piece> pieces, std::size_t size) {
  std::size_t end = 0;
  for (const Piece& piece : pieces) {
    KIMESH_CHECK(piece.offset == end, "pieces follow one another");
    end += piece.size;
  }
  KIMESH_CHECK(end == size, "pieces cover the vector");
}

Result<Advanced> advance_dense(std::span<const float> target, std::span<float> estimate) {
  if (const auto bad = kernels::first_not_finite(target)) return not_finite_at(*bad);
  Advanced result;
  result.bytes.resize(target.size_bytes());
  std::memcpy(result.bytes.data(), target.data(), target.size_bytes());
  if (!estimate.empty()) std::ranges::copy(target, estimate.begin());
  result.wanted_energy = kernels::energy(target);
  return result;
}

// Writes indices, then values, and adds the values to the estimate. The energy that this removes is
// taken from `missing_energy`; what rounding leaves of it stays.
void send_selected(std::span<const float> target, std::span<float> estimate,
                   const CompressScratch& scratch, Advanced& result) {
  const std::span<const float> difference = scratch.difference.span();
  const std::size_t count = scratch.indices.size();
  const std::size_t indices_bytes = count * sizeof(std::uint32_t);
  result.bytes.resize(indices_bytes + count * sizeof(float));
  if (count == 0) return;
  std::memcpy(result.bytes.data(), scratch.indices.data(), indices_bytes);
  std::byte* values = result.bytes.data() + indices_bytes;
  double removed = 0, left = 0;
  for (std::size_t c = 0; c < count; ++c) {
    const std::uint32_t j = scratch.indices[c];
    const float value = difference[j];
    std::memcpy(values + c * sizeof(float), &value, sizeof(float));
    estimate[j] += value;
    const double rounding = static_cast<double>(target[j]) - static_cast<double>(estimate[j]);
    removed += static_cast<double>(value) * static_cast<double>(value);
    left += rounding * rounding;
  }
  result.missing_energy = std::max(0.0, result.missing_energy - removed) + left;
}

// What there was to send, although all is sent: a policy may want less the next time. Empty where
// that is not finite.
Curve dense_curve(std::span<const float> target, std::span<const float> estimate,
                  std::span<const Piece> pieces, CompressScratch& scratch) {
  check_pieces(pieces, target.size());
  scratch.reserve(target.size());
  const std::span<float> difference = scratch.difference.span().first(target.size());
  if (!kernels::subtract(target, estimate, difference).finite) return {};
  return measure_curve(difference, pieces);
}

void select_by_shares(std::span<const float> difference, std::span<const Piece> pieces,
                      std::span<const std::uint32_t> shares, CompressScratch& scratch) {
  for (std::size_t l = 0; l < pieces.size(); ++l)
    kernels::select_topk(difference.subspan(pieces[l].offset, pieces[l].size), shares[l],
                         static_cast<std::uint32_t>(pieces[l].offset), scratch.indices,
                         scratch.topk);
}

// The floor's elements first; then, with these taken for 0, the largest of the whole.
void select_globally(std::span<float> difference, std::span<const Piece> pieces,
                     const Setting& setting, CompressScratch& scratch) {
  KIMESH_CHECK(setting.floor <= setting.keep, "the floor is a part of what is kept");
  share_out(setting.floor, setting.rotation, pieces, scratch.shares);
  select_by_shares(difference, pieces, scratch.shares, scratch);
  const std::size_t floor_count = scratch.indices.size();
  scratch.values.resize(floor_count);
  for (std::size_t c = 0; c < floor_count; ++c)
    scratch.values[c] = std::exchange(difference[scratch.indices[c]], 0.0f);
  kernels::select_topk(difference, setting.keep - floor_count, 0, scratch.indices, scratch.topk);
  for (std::size_t c = 0; c < floor_count; ++c) difference[scratch.indices[c]] = scratch.values[c];
  std::ranges::inplace_merge(scratch.indices,
                             scratch.indices.begin() + static_cast<std::ptrdiff_t>(floor_count));
}

// Fills scratch.indices, ascending.
void select(std::span<float> difference, std::span<const Piece> pieces, const Setting& setting,
            CompressScratch& scratch) {
  scratch.indices.clear();
  scratch.shares.resize(pieces.size());
  switch (setting.allocation) {
    case Allocation::kProportional:
      share_out(setting.keep, setting.rotation, pieces, scratch.shares);
      return select_by_shares(difference, pieces, scratch.shares, scratch);
    case Allocation::kGlobal:
      return select_globally(difference, pieces, setting, scratch);
    case Allocation::kListed:
      KIMESH_CHECK(setting.shares.size() == pieces.size(), "one share for each piece");
      KIMESH_CHECK(std::accumulate(setting.shares.begin(), setting.shares.end(),
                                   std::uint64_t{0}) == setting.keep,
                   "the shares sum to what is kept");
      return select_by_shares(difference, pieces, setting.shares, scratch);
  }
}

}  // namespace

Error not_finite_at(std::size_t index) {
  return {ErrorCode::kNotFinite, "element " + std::to_string(index) + " is NaN or infinite"};
}

void CompressScratch::reserve(std::size_t size) {
  if (difference.size() < size) difference = AlignedBuffer(size);
}

Result<Advanced> advance(std::span<const float> target, std::span<float> estimate,
                         std::span<const Piece> pieces, const Setting& setting,
                         CompressScratch& scratch, bool with_curve) {
  if (setting.form == Form::kDense) {
    KIMESH_CHECK(estimate.empty() || estimate.size() == target.size(), "one size, or no estimate");
    Curve curve =
        with_curve && !estimate.empty() ? dense_curve(target, estimate, pieces, scratch) : Curve();
    auto made = advance_dense(target, estimate);
    if (made) made->curve = std::move(curve);
    return made;
  }
  scratch.reserve(target.size());
  const std::span<float> difference = scratch.difference.span().first(target.size());
  const kernels::Difference found = kernels::subtract(target, estimate, difference);
  if (!found.finite) return not_finite_at(kernels::first_not_finite(difference).value());
  Advanced result{{}, found.target_energy, found.missing_energy, {}};
  if (setting.form == Form::kEmpty) return result;

  check_pieces(pieces, target.size());
  if (with_curve) result.curve = measure_curve(difference, pieces);
  KIMESH_CHECK(setting.keep >= 1 && setting.keep <= target.size(), "topk keeps 1 to all elements");
  select(difference, pieces, setting, scratch);
  send_selected(target, estimate, scratch, result);
  return result;
}

}  // namespace kimesh
