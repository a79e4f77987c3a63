#include <utility>

#include "kimesh/codec/difference.h"
#include "kimesh/compress/compressor.h"
#include "kimesh/kernels/host_memory.h"
#include "kimesh/util/check.h"

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

// Makes a dense message: the whole target in float32, assigned.
Result<Advanced> advance_dense(const AdvanceJob& job) {
  Advanced result;
  auto assigned = job.difference.assign(job, result.bytes);
  if (!assigned) return assigned.error();
  result.form = Form::kDense;
  result.kept = job.size();
  result.wanted_energy = result.energy_to_send = assigned->energies.target;
  result.curve = std::move(assigned->curve);
  return result;
}

Result<Advanced> advance(Difference& difference, std::span<const Piece> pieces,
                         const Setting& setting, CompressScratch& scratch, bool with_curve) {
  const AdvanceJob job{difference, pieces, setting, scratch, with_curve};
  const bool dense = setting.budget.is_dense() || setting.codec->is_dense();
  KIMESH_CHECK(difference.has_estimate() || dense, "one size, or no estimate");
  if (dense) return advance_dense(job);
  const std::uint64_t budget_bytes = setting.budget.payload_bytes();
  KIMESH_CHECK(budget_bytes == 0 || budget_bytes >= setting.codec->bytes_min(job.size()),
               "a budget that the smallest message keeps");
  check_pieces(pieces, job.size());
  auto made = setting.codec->advance(job);
  const bool sizes_itself = setting.budget.kind == Budget::Kind::kOwn;
  if (!made || !sizes_itself || made->bytes.size() <= dense_bytes(job.size())) return made;
  // A dense message is shorter, and leaves nothing out.
  auto all = advance_dense({difference, pieces, setting, scratch, false});
  if (all) all->curve = std::move(made->curve);
  return all;
}

}  // namespace

Result<Advanced> advance(kernels::Memory& memory, kernels::ConstMemorySpan target,
                         kernels::MemorySpan estimate, std::span<const Piece> pieces,
                         const Setting& setting, CompressScratch& scratch, bool with_curve) {
  KIMESH_CHECK(memory.on_host() || setting.budget.is_dense() || setting.codec->traits().on_devices,
               "a codec that works on devices");
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
