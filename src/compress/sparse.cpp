// topk, threshold, dgc, redsync: a selection of elements, then their indices and values.
#include "kernels/sparse.h"

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

bool fills_a_budget(const Setting& setting) {
  return setting.budget_bytes > 0;
}

Result<Selected> select(const AdvanceJob& job, std::uint32_t keep) {
  const Setting& setting = job.setting;
  switch (setting.compressor) {
    case Compressor::kThreshold:
      return fills_a_budget(setting) ? select_largest(job, keep) : select_reaching(job);
    case Compressor::kDgc:
      return select_dgc(job, keep, fills_a_budget(setting));
    case Compressor::kRedsync:
      return select_redsync(job, keep, fills_a_budget(setting));
    default:
      return select_topk(job, keep);
  }
}

// A selection as it was written. scratch.entries hold what the far side decodes.
struct Attempt {
  std::uint32_t keep = 0;
  Selected selected;
  Written written;
};

Result<Attempt> attempt(const AdvanceJob& job, std::uint32_t keep) {
  auto selected = select(job, keep);
  if (!selected) return selected.error();
  Written written = write_sparse(job.setting, job.target.size(), job.scratch.entries);
  return Attempt{keep, std::move(*selected), std::move(written)};
}

// How many elements the coder gets into a budget is known when it has coded them. `least` surely
// fit; from their bytes follows how many more may.
Result<Attempt> fill_coded(const AdvanceJob& job, std::uint32_t least) {
  constexpr double kNearlyAll = 0.985, kCautious = 0.995;
  constexpr int kAttempts = 8;
  const std::size_t budget = job.setting.budget_bytes;
  auto best = attempt(job, least);
  if (!best) return best;
  kernels::Entries entries = job.scratch.entries;
  std::size_t too_many = job.target.size() + 1, last = least,
              last_bytes = best->written.bytes.size();
  for (int i = 1; i < kAttempts; ++i) {
    const std::size_t filled = best->written.bytes.size(), fits = best->keep;
    if (static_cast<double>(filled) >= kNearlyAll * static_cast<double>(budget) || last_bytes == 0)
      break;
    const double guess = kCautious * static_cast<double>(last) * static_cast<double>(budget) /
                         static_cast<double>(last_bytes);
    if (fits + 1 >= too_many) break;
    last = std::clamp(static_cast<std::size_t>(guess), fits + 1, too_many - 1);
    auto next = attempt({job.target, job.estimate, job.pieces, job.setting, job.scratch, false},
                        static_cast<std::uint32_t>(last));
    last_bytes = next->written.bytes.size();
    if (last_bytes > budget) {
      too_many = last;
      continue;
    }
    next->selected.curve = std::move(best->selected.curve);
    best = std::move(next);
    entries = job.scratch.entries;
  }
  job.scratch.entries = std::move(entries);
  return best;
}

Result<Attempt> make(const AdvanceJob& job) {
  const Setting& setting = job.setting;
  if (!fills_a_budget(setting)) {
    KIMESH_CHECK(setting.compressor == Compressor::kThreshold ||
                     (setting.keep >= 1 && setting.keep <= job.target.size()),
                 "1 to all elements are kept");
    return attempt(job, setting.keep);
  }
  KIMESH_CHECK(setting.allocation != Allocation::kListed, "shares say how many elements are kept");
  const std::uint32_t keep =
      sparse_that_fits(setting.values, setting.indices, setting.budget_bytes, job.target.size());
  return setting.indices == IndexFormat::kCoded ? fill_coded(job, keep) : attempt(job, keep);
}

}  // namespace

Result<Advanced> advance_sparse(const AdvanceJob& job) {
  if (job.target.empty()) return Advanced{.bytes = {}, .form = Form::kSparse, .curve = {}};
  auto made = make(job);
  if (!made) return made.error();
  Advanced result;
  result.form = made->written.form;
  result.bytes = std::move(made->written.bytes);
  result.curve = std::move(made->selected.curve);
  result.first_missing_energy = made->selected.first_missing_energy;
  add_to_estimate(job, made->selected.energies, result);
  return result;
}

void add_to_estimate(const AdvanceJob& job, const kernels::Energies& energies, Advanced& result) {
  const kernels::Entries& entries = job.scratch.entries;
  // Values that are sent as they are spare a look at the target.
  const bool whole = job.setting.values == ValueFormat::kFloat32 && !job.setting.scaled;
  const kernels::Added added =
      whole ? kernels::add_whole_entries(entries.indices, entries.values, job.estimate)
            : kernels::add_entries(job.target, entries.indices, entries.values, job.estimate);
  result.kept = entries.size();
  result.wanted_energy = energies.target;
  result.missing_energy = std::max(0.0, energies.difference - added.removed) + added.left;
}

Status validate_sparse(std::span<const std::byte> bytes, std::size_t size) {
  if (bytes.size() % kEntryBytes != 0)
    return malformed(std::to_string(bytes.size()) + " bytes are no whole number of entries");
  const SparseView sparse = view(bytes);
  if (const auto bad = kernels::first_out_of_order(sparse.indices, size)) {
    const std::size_t index = read<std::uint32_t>(sparse.indices, *bad);
    if (index >= size)
      return malformed("index " + std::to_string(index) + " of " + std::to_string(size) +
                       " elements");
    return malformed("index " + std::to_string(index) + " is out of order");
  }
  if (const auto bad = kernels::first_value_not_finite(sparse.values))
    return malformed("value " + std::to_string(*bad) + " is NaN or infinite");
  return ok_status();
}

Status apply_sparse(std::span<const std::byte> bytes, std::span<float> estimate) {
  if (Status valid = validate_sparse(bytes, estimate.size()); !valid) return valid;
  const SparseView sparse = view(bytes);
  kernels::add_sparse(sparse.indices, sparse.values, estimate);
  return ok_status();
}

Status validate_packed(std::span<const std::byte> bytes, std::size_t size) {
  if (const auto entries = read_packed(bytes, size); !entries) return entries.error();
  return ok_status();
}

Status apply_packed(std::span<const std::byte> bytes, std::span<float> estimate) {
  const auto entries = read_packed(bytes, estimate.size());
  if (!entries) return entries.error();
  kernels::add_sparse(std::as_bytes(std::span(entries->indices)),
                      std::as_bytes(std::span(entries->values)), estimate);
  return ok_status();
}

}  // namespace kimesh
