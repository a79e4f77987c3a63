#include <cmath>
#include <optional>
#include <utility>

#include "kimesh/codec/difference.h"
#include "kimesh/codec/payload.h"
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

// All of a vector of this energy, in float32, assigned.
Advanced dense(std::vector<std::byte> bytes, double energy) {
  Advanced result;
  result.form = Form::kDense;
  result.kept = bytes.size() / sizeof(float);
  result.wanted_energy = result.energy_to_send = energy;
  result.bytes = std::move(bytes);
  return result;
}

// Makes a dense message of the target.
Result<Advanced> advance_dense(const AdvanceJob& job) {
  std::vector<std::byte> bytes;
  auto assigned = job.difference.assign(job, bytes);
  if (!assigned) return assigned.error();
  Advanced result = dense(std::move(bytes), assigned->energies.target);
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

Result<Advanced> advance_sum(std::span<const kernels::SumTerm> terms) {
  std::vector<std::byte> bytes;
  const double energy = kernels::append_sum_with_energy(terms, bytes);
  if (std::isfinite(energy)) return dense(std::move(bytes), energy);
  const auto sum = floats_in_place(bytes);
  const auto bad = sum ? kernels::first_not_finite(*sum) : std::nullopt;
  KIMESH_CHECK(bad, "an energy is finite where every element is");
  return not_finite_at(*bad);
}

}  // namespace kimesh
