#include <string>
#include <utility>

#include "kimesh/util/check.h"
#include "src/compress/families.h"

namespace kimesh {
namespace {

void check_pieces(std::span<const Piece> pieces, std::size_t size) {
  std::size_t end = 0;
  for (const Piece& piece : pieces) {
    KIMESH_CHECK(piece.offset == end, "pieces follow one another");
    end += piece.size;
  }
  KIMESH_CHECK(end == size, "pieces cover the vector");
}

// No bytes: energies only.
Result<Advanced> advance_nothing(const AdvanceJob& job) {
  const auto survey = job.difference.survey(job);
  if (!survey) return survey.error();
  Advanced result;
  result.wanted_energy = survey->energies.target;
  result.missing_energy = survey->energies.difference;
  return result;
}

Result<Advanced> advance_family(const AdvanceJob& job) {
  switch (job.setting.compressor) {
    case Compressor::kTopk:
    case Compressor::kThreshold:
    case Compressor::kDgc:
    case Compressor::kRedsync:
      return advance_sparse(job);
    case Compressor::kRandk:
      return advance_seeded(job);
    case Compressor::kDzq:
      return advance_dzq(job);
    case Compressor::kIdentity:
    case Compressor::kSign:
    case Compressor::kInt8:
    case Compressor::kInt4:
    case Compressor::kNothing:
      break;
  }
  return advance_quantised(job);
}

// Whether nobody has said how long the message may be.
bool is_open_ended(const Setting& setting) {
  return setting.budget_bytes == 0 &&
         (setting.compressor == Compressor::kThreshold || setting.compressor == Compressor::kDzq);
}

}  // namespace

Error not_finite_at(std::size_t index) {
  return {ErrorCode::kNotFinite, "element " + std::to_string(index) + " is NaN or infinite"};
}

Result<Advanced> advance(Difference& difference, std::span<const Piece> pieces,
                         const Setting& setting, CompressScratch& scratch, bool with_curve) {
  const AdvanceJob job{difference, pieces, setting, scratch, with_curve};
  const bool dense =
      setting.compressor == Compressor::kIdentity && setting.values == ValueFormat::kFloat32;
  KIMESH_CHECK(difference.has_estimate() || dense, "one size, or no estimate");
  KIMESH_CHECK(setting.budget_bytes == 0 ||
                   setting.budget_bytes >= smallest_message_bytes(setting, job.size()),
               "a budget that the smallest message keeps");
  if (dense) return advance_dense(job);
  if (setting.compressor == Compressor::kNothing)
    return advance_nothing({difference, pieces, setting, scratch, false});
  check_pieces(pieces, job.size());
  auto made = advance_family(job);
  const std::size_t all_bytes = job.size() * sizeof(float);
  if (!made || !is_open_ended(setting) || made->bytes.size() <= all_bytes) return made;
  // Longer than all of it, which leaves nothing out.
  auto all = advance_dense({difference, pieces, setting, scratch, false});
  if (all) all->curve = std::move(made->curve);
  return all;
}

Result<Advanced> advance(kernels::Memory& memory, kernels::ConstMemorySpan target,
                         kernels::MemorySpan estimate, std::span<const Piece> pieces,
                         const Setting& setting, CompressScratch& scratch, bool with_curve) {
  KIMESH_CHECK(memory.on_host() || traits_of(setting.compressor).on_devices,
               "a compressor that devices have");
  KIMESH_CHECK(estimate.size == target.size || estimate.empty(), "one size, or no estimate");
  Difference difference(memory, target, estimate);
  return advance(difference, pieces, setting, scratch, with_curve);
}

Result<Advanced> advance(std::span<const float> target, std::span<float> estimate,
                         std::span<const Piece> pieces, const Setting& setting,
                         CompressScratch& scratch, bool with_curve) {
  return advance(kernels::host_memory(), kernels::ConstMemorySpan(target),
                 kernels::MemorySpan(estimate), pieces, setting, scratch, with_curve);
}

}  // namespace kimesh
