#include <algorithm>
#include <cmath>
#include <cstring>

#include "kimesh/util/check.h"
#include "src/compress/read.h"
#include "src/compress/select.h"

namespace kimesh {
namespace {

constexpr std::size_t kEntryBytes = sizeof(std::uint32_t) + sizeof(float);

std::vector<std::byte> write_raw(const kernels::Entries& entries) {
  const std::size_t half = entries.size() * sizeof(std::uint32_t);
  std::vector<std::byte> bytes(2 * half);
  if (half == 0) return bytes;
  std::memcpy(bytes.data(), entries.indices.data(), half);
  std::memcpy(bytes.data() + half, entries.values.data(), half);
  return bytes;
}

struct SparseView {
  std::size_t count;
  std::span<const std::byte> indices, values;
};

SparseView view(std::span<const std::byte> bytes) {
  const std::size_t half = bytes.size() / 2;
  return {half / sizeof(std::uint32_t), bytes.first(half), bytes.subspan(half)};
}

}  // namespace

Result<Advanced> advance_sparse(const AdvanceJob& job) {
  const Setting& setting = job.setting;
  KIMESH_CHECK(setting.compressor == Compressor::kTopk && setting.budget_bytes == 0 &&
                   setting.values == ValueFormat::kFloat32 && setting.indices == IndexFormat::kRaw,
               "a setting that is written so far");
  auto selected = select_topk(job, setting.keep);
  if (!selected) return selected.error();
  const kernels::Entries& entries = job.scratch.entries;
  Advanced result;
  result.form = Form::kSparse;
  result.kept = entries.size();
  result.bytes = write_raw(entries);
  const kernels::Added added =
      kernels::add_entries(job.target, entries.indices, entries.values, job.estimate);
  result.wanted_energy = selected->energies.target;
  result.missing_energy = std::max(0.0, selected->energies.difference - added.removed) + added.left;
  result.curve = std::move(selected->curve);
  return result;
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

}  // namespace kimesh
