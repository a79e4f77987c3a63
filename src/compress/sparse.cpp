// topk, threshold, dgc, redsync: a selection of elements, then their indices and values.
#include <algorithm>

#include "kimesh/util/check.h"
#include "src/compress/packed.h"
#include "src/compress/read.h"
#include "src/compress/thresholds.h"

namespace kimesh {
namespace {

constexpr std::size_t kEntryBytes = sizeof(std::uint32_t) + sizeof(float);

struct SparseView {
  std::size_t count;
  std::span<const std::byte> indices, values;
};

SparseView view(std::span<const std::byte> bytes) {
  const std::size_t half = bytes.size() / 2;
  return {half / sizeof(std::uint32_t), bytes.first(half), bytes.subspan(half)};
}

Result<Selected> select(const AdvanceJob& job) {
  const Setting& setting = job.setting;
  const bool fills_a_budget = setting.budget_bytes > 0;
  if (setting.compressor == Compressor::kThreshold && !fills_a_budget) return select_reaching(job);
  KIMESH_CHECK(!fills_a_budget || setting.allocation != Allocation::kListed,
               "shares say how many elements are kept");
  const std::uint32_t keep = fills_a_budget
                                 ? sparse_that_fits(setting.values, setting.indices,
                                                    setting.budget_bytes, job.target.size())
                                 : setting.keep;
  KIMESH_CHECK(keep >= 1 && keep <= job.target.size(), "1 to all elements are kept");
  switch (setting.compressor) {
    case Compressor::kThreshold:
      return select_largest(job, keep);
    case Compressor::kDgc:
      return select_dgc(job, keep, fills_a_budget);
    case Compressor::kRedsync:
      return select_redsync(job, keep, fills_a_budget);
    default:
      return select_topk(job, keep);
  }
}

}  // namespace

Result<Advanced> advance_sparse(const AdvanceJob& job) {
  if (job.target.empty()) return Advanced{.bytes = {}, .form = Form::kSparse, .curve = {}};
  auto selected = select(job);
  if (!selected) return selected.error();
  kernels::Entries& entries = job.scratch.entries;
  Written written = write_sparse(job.setting, job.target.size(), entries);
  Advanced result;
  result.form = written.form;
  result.bytes = std::move(written.bytes);
  result.curve = std::move(selected->curve);
  result.first_missing_energy = selected->first_missing_energy;
  add_to_estimate(job, selected->energies, result);
  return result;
}

void add_to_estimate(const AdvanceJob& job, const kernels::Energies& energies, Advanced& result) {
  const kernels::Entries& entries = job.scratch.entries;
  const kernels::Added added =
      kernels::add_entries(job.target, entries.indices, entries.values, job.estimate);
  result.kept = entries.size();
  result.wanted_energy = energies.target;
  result.missing_energy = std::max(0.0, energies.difference - added.removed) + added.left;
}

Status validate_sparse(std::span<const std::byte> bytes, std::size_t size) {
  if (bytes.size() % kEntryBytes != 0)
    return malformed(std::to_string(bytes.size()) + " bytes are no whole number of entries");
  const SparseView sparse = view(bytes);
  std::size_t next = 0;  // the least index that may follow
  for (std::size_t c = 0; c < sparse.count; ++c) {
    const std::size_t index = read<std::uint32_t>(sparse.indices, c);
    if (index < next) return malformed("index " + std::to_string(index) + " is out of order");
    if (index >= size)
      return malformed("index " + std::to_string(index) + " of " + std::to_string(size) +
                       " elements");
    next = index + 1;
  }
  return check_floats(sparse.values);
}

Status apply_sparse(std::span<const std::byte> bytes, std::span<float> estimate) {
  if (Status valid = validate_sparse(bytes, estimate.size()); !valid) return valid;
  const SparseView sparse = view(bytes);
  for (std::size_t c = 0; c < sparse.count; ++c)
    estimate[read<std::uint32_t>(sparse.indices, c)] += read<float>(sparse.values, c);
  return ok_status();
}

Status validate_packed(std::span<const std::byte> bytes, std::size_t size) {
  if (const auto entries = read_packed(bytes, size); !entries) return entries.error();
  return ok_status();
}

Status apply_packed(std::span<const std::byte> bytes, std::span<float> estimate) {
  const auto entries = read_packed(bytes, estimate.size());
  if (!entries) return entries.error();
  for (std::size_t c = 0; c < entries->size(); ++c)
    estimate[entries->indices[c]] += entries->values[c];
  return ok_status();
}

}  // namespace kimesh
