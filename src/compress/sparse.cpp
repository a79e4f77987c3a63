// topk, threshold, dgc, redsync: a selection of elements, then their indices and values.
#include "kernels/sparse.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "kimesh/util/check.h"
#include "src/compress/packed.h"
#include "src/compress/read.h"
#include "src/compress/select.h"
#include "src/compress/thresholds.h"

namespace kimesh {
namespace {

constexpr std::size_t kEntryBytes = sizeof(std::uint32_t) + sizeof(float);

struct SparseView {
  std::span<const std::byte> indices, values;
};

SparseView view(std::span<const std::byte> bytes) {
  const std::size_t half = bytes.size() / 2;
  return {bytes.first(half), bytes.subspan(half)};
}

bool fills_a_budget(const Setting& setting) {
  return setting.budget_bytes > 0;
}

// The largest wherever they are, although the setting says how large.
Result<Selected> select_largest(const AdvanceJob& job, std::uint32_t keep) {
  Setting largest;
  largest.compressor = Compressor::kTopk;
  largest.allocation = Allocation::kGlobal;
  return select_topk(
      {job.difference, job.pieces, largest, job.scratch, job.with_curve, job.sends_selection},
      keep);
}

Result<Selected> select(const AdvanceJob& job, std::uint32_t keep) {
  const Setting& setting = job.setting;
  switch (setting.compressor) {
    case Compressor::kThreshold:
      KIMESH_CHECK(
          fills_a_budget(setting) || (setting.threshold > 0 && std::isfinite(setting.threshold)),
          "a threshold above 0");
      return fills_a_budget(setting) ? select_largest(job, keep)
                                     : job.difference.select_reaching(job, setting.threshold);
    case Compressor::kDgc:
      return select_dgc(job, keep, fills_a_budget(setting));
    case Compressor::kRedsync:
      return select_redsync(job, keep, fills_a_budget(setting));
    default:
      return select_topk(job, keep);
  }
}

// Whether values travel as they are found.
bool sends_whole_values(const Setting& setting) {
  return setting.values == ValueFormat::kFloat32 && !setting.scaled;
}

// Whether one selection decides the message.
bool sends_selection(const Setting& setting) {
  const bool tries = setting.indices == IndexFormat::kCoded && fills_a_budget(setting);
  return sends_whole_values(setting) && !tries;
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
  Written written = write_sparse(job.setting, job.size(), job.scratch.entries);
  return Attempt{keep, std::move(*selected), std::move(written)};
}

// A number of elements and the bytes that it took.
struct Tried {
  std::size_t keep, bytes;
};

// The next number to try. While nothing was over the budget, elements cost what they did so far;
// then they cost what lies between the two.
std::size_t next_keep(Tried fits, std::optional<Tried> over, std::size_t budget) {
  constexpr double kCautious = 0.995;
  const Tried from = over ? fits : Tried{0, 0};
  const Tried to = over.value_or(fits);
  const double cost =
      static_cast<double>(to.bytes - from.bytes) / static_cast<double>(to.keep - from.keep);
  const double rest = kCautious * static_cast<double>(budget) - static_cast<double>(from.bytes);
  return from.keep + static_cast<std::size_t>(std::max(0.0, rest / cost));
}

// How many elements the coder gets into a budget is known when it has coded them. `least` surely
// fit.
Result<Attempt> fill_coded(const AdvanceJob& job, std::uint32_t least) {
  constexpr double kNearlyAll = 0.985;
  constexpr int kAttempts = 8;
  const std::size_t budget = job.setting.budget_bytes;
  const AdvanceJob without_curve{job.difference, job.pieces, job.setting, job.scratch, false};
  auto best = attempt(job, least);
  if (!best) return best;
  kernels::Entries entries = job.scratch.entries;
  std::optional<Tried> over;
  for (int i = 1; i < kAttempts; ++i) {
    const Tried fits{best->keep, best->written.bytes.size()};
    const std::size_t most = over ? over->keep - 1 : job.size();
    if (fits.bytes == 0 || fits.keep == most ||
        static_cast<double>(fits.bytes) >= kNearlyAll * static_cast<double>(budget))
      break;
    const std::size_t keep = std::clamp(next_keep(fits, over, budget), fits.keep + 1, most);
    auto next = attempt(without_curve, static_cast<std::uint32_t>(keep));
    if (!next) return next;
    if (next->written.bytes.size() > budget) {
      over = Tried{keep, next->written.bytes.size()};
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
                     (setting.keep >= 1 && setting.keep <= job.size()),
                 "1 to all elements are kept");
    return attempt(job, setting.keep);
  }
  KIMESH_CHECK(setting.allocation != Allocation::kListed, "shares say how many elements are kept");
  const std::uint32_t keep =
      sparse_that_fits(setting.values, setting.indices, setting.budget_bytes, job.size());
  return setting.indices == IndexFormat::kCoded ? fill_coded(job, keep) : attempt(job, keep);
}

}  // namespace

Result<Advanced> advance_sparse(const AdvanceJob& asked) {
  AdvanceJob job = asked;
  job.sends_selection = sends_selection(job.setting);
  if (job.size() == 0) return Advanced{.bytes = {}, .form = Form::kSparse, .curve = {}};
  auto made = make(job);
  if (!made) return made.error();
  Advanced result;
  result.form = made->written.form;
  result.bytes = std::move(made->written.bytes);
  result.curve = std::move(made->selected.curve);
  if (Status added = add_to_estimate(job, made->selected.energies, result); !added)
    return added.error();
  return result;
}

Status add_to_estimate(const AdvanceJob& job, const kernels::Energies& energies, Advanced& result) {
  const kernels::Entries& entries = job.scratch.entries;
  const auto added =
      job.difference.add(entries.indices, entries.values, sends_whole_values(job.setting));
  if (!added) return added.error();
  result.kept = entries.size();
  result.wanted_energy = energies.target;
  result.missing_energy = std::max(0.0, energies.difference - added->removed) + added->left;
  return ok_status();
}

Status validate_sparse(std::span<const std::byte> bytes, std::size_t size) {
  if (bytes.size() % kEntryBytes != 0)
    return malformed(std::to_string(bytes.size()) + " bytes are no whole number of entries");
  const SparseView sparse = view(bytes);
  if (kernels::all_entries_correct(sparse.indices, sparse.values, size)) return ok_status();
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

Status apply_sparse(std::span<const std::byte> bytes, kernels::Memory& memory,
                    kernels::MemorySpan estimate) {
  if (Status valid = validate_sparse(bytes, estimate.size); !valid) return valid;
  const SparseView sparse = view(bytes);
  memory.add_sparse(sparse.indices, sparse.values, estimate);
  return ok_status();
}

Status validate_packed(std::span<const std::byte> bytes, std::size_t size) {
  if (const auto entries = read_packed(bytes, size); !entries) return entries.error();
  return ok_status();
}

Status apply_packed(std::span<const std::byte> bytes, kernels::Memory& memory,
                    kernels::MemorySpan estimate) {
  return add_decoded(read_packed(bytes, estimate.size), memory, estimate);
}

}  // namespace kimesh
