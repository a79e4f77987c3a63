#include "sparse_codec.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "kimesh/codec/payload.h"
#include "kimesh/kernels/sparse.h"
#include "kimesh/util/check.h"
#include "packed.h"

namespace kimesh {
namespace {

constexpr std::size_t kEntryBytes = sizeof(std::uint32_t) + sizeof(float);

bool fills_a_budget(const AdvanceJob& job) {
  return job.setting.budget.kind == Budget::Kind::kBytes;
}

// A number of elements, and the bytes of a message with them.
struct Measured {
  std::size_t keep, bytes;
};

// The next number of elements to try, by linear interpolation: from 0 while no attempt was over the
// budget, then between the largest that fits and the smallest that is over.
std::size_t next_keep(Measured fits, std::optional<Measured> over, std::size_t budget) {
  constexpr double kCautious = 0.995;
  const Measured from = over ? fits : Measured{0, 0};
  const Measured to = over.value_or(fits);
  const double cost =
      static_cast<double>(to.bytes - from.bytes) / static_cast<double>(to.keep - from.keep);
  const double rest = kCautious * static_cast<double>(budget) - static_cast<double>(from.bytes);
  return from.keep + static_cast<std::size_t>(std::max(0.0, rest / cost));
}

Result<Content> decode_sparse(std::span<const std::byte> payload, std::size_t size) {
  if (payload.size() % kEntryBytes != 0)
    return malformed(std::to_string(payload.size()) + " bytes are no whole number of entries");
  const std::size_t half = payload.size() / 2;
  const AddSparse sparse{payload.first(half), payload.subspan(half)};
  if (kernels::all_entries_correct(sparse.indices, sparse.values, size)) return Content{sparse};
  if (const auto bad = kernels::first_out_of_order(sparse.indices, size)) {
    const std::size_t index = read<std::uint32_t>(sparse.indices, *bad);
    if (index >= size)
      return malformed("index " + std::to_string(index) + " of " + std::to_string(size) +
                       " elements");
    return malformed("index " + std::to_string(index) + " is out of order");
  }
  if (const auto bad = kernels::first_value_not_finite(sparse.values))
    return malformed("value " + std::to_string(*bad) + " is NaN or infinite");
  return Content{sparse};
}

Result<Content> decode_packed(std::span<const std::byte> payload, std::size_t size) {
  auto entries = read_packed(payload, size);
  if (!entries) return entries.error();
  return Content{AddEntries{std::move(*entries)}};
}

}  // namespace

void describe_values_key(ValueFormat& values, Keys& keys) {
  keys.choice("values", values,
              {{"float32", ValueFormat::kFloat32},
               {"float16", ValueFormat::kFloat16},
               {"bfloat16", ValueFormat::kBfloat16},
               {"int4", ValueFormat::kInt4}},
              "how values are written");
}

double value_bytes_about(ValueFormat values) {
  switch (values) {
    case ValueFormat::kFloat32:
      return 4;
    case ValueFormat::kFloat16:
    case ValueFormat::kBfloat16:
      return 2;
    case ValueFormat::kInt4:
      return 0.6;  // half a byte, and a part of a scale
  }
  return 4;
}

void SparseCodec::describe(Keys& keys) {
  describe_values_key(format_.values, keys);
  keys.choice("indices", format_.indices,
              {{"raw", IndexFormat::kRaw},
               {"packed", IndexFormat::kPacked},
               {"coded", IndexFormat::kCoded}},
              "how their places are written");
}

CodecTraits SparseCodec::traits() const {
  return {.conservative = true,
          .rounds = format_.values != ValueFormat::kFloat32,
          .keeps_elements = true,
          .meets_budgets = true,
          .element_bytes = format_.is_plain() ? kEntryBytes : 0};
}

std::span<const WireForm> SparseCodec::forms() const {
  static const WireForm kForms[] = {
      {Form::kSparse, "sparse", decode_sparse,
       "u32 indices, ascending, then float32 values: src/sparse/packed.h"},
      {Form::kPacked, "packed", decode_packed,
       "indices and values in the formats that the first byte names: src/sparse/packed.h"}};
  return kForms;
}

std::size_t SparseCodec::bytes_max(std::size_t kept, std::size_t size) const {
  return sparse_bytes(format_, kept, size);
}

double SparseCodec::entry_bytes_about() const {
  // Measured at 1 % of residuals.
  constexpr double kIndexBytes[] = {4, 1.25, 0.8};
  return value_bytes_about(format_.values) + kIndexBytes[static_cast<std::size_t>(format_.indices)];
}

Result<SparseCodec::Attempt> SparseCodec::attempt(const AdvanceJob& job, std::uint32_t keep) const {
  auto selected = select(job, keep, fills_a_budget(job));
  if (!selected) return selected.error();
  Written written = write_sparse(format_, job.setting.rounding, job.size(), job.scratch.entries);
  return Attempt{keep, std::move(*selected), written.form, std::move(written.bytes)};
}

// Fills a budget with coded indices, whose length is known only once they are coded: tries numbers
// of elements from `least` on, which always fit.
Result<SparseCodec::Attempt> SparseCodec::fill_coded(const AdvanceJob& job,
                                                     std::uint32_t least) const {
  constexpr double kNearlyAll = 0.985;
  constexpr int kAttempts = 8;
  const std::size_t budget = job.setting.budget.amount;
  const AdvanceJob without_curve{job.difference, job.pieces, job.setting, job.scratch, false};
  auto best = attempt(job, least);
  if (!best) return best;
  kernels::Entries entries = job.scratch.entries;
  std::optional<Measured> over;
  for (int i = 1; i < kAttempts; ++i) {
    const Measured fits{best->keep, best->bytes.size()};
    const std::size_t most = over ? over->keep - 1 : job.size();
    if (fits.bytes == 0 || fits.keep == most ||
        static_cast<double>(fits.bytes) >= kNearlyAll * static_cast<double>(budget))
      break;
    const std::size_t keep = std::clamp(next_keep(fits, over, budget), fits.keep + 1, most);
    auto next = attempt(without_curve, static_cast<std::uint32_t>(keep));
    if (!next) return next;
    if (next->bytes.size() > budget) {
      over = Measured{keep, next->bytes.size()};
      continue;
    }
    next->selected.curve = std::move(best->selected.curve);
    best = std::move(next);
    entries = job.scratch.entries;
  }
  job.scratch.entries = std::move(entries);
  return best;
}

Result<SparseCodec::Attempt> SparseCodec::make(const AdvanceJob& job) const {
  const Setting& setting = job.setting;
  if (!fills_a_budget(job)) {
    KIMESH_CHECK(has_own_size() ||
                     (setting.budget.elements() >= 1 && setting.budget.elements() <= job.size()),
                 "1 to all elements are kept");
    return attempt(job, setting.budget.elements());
  }
  KIMESH_CHECK(setting.allocation != Allocation::kListed, "shares say how many elements are kept");
  const std::uint32_t keep = sparse_that_fits(format_, setting.budget.amount, job.size());
  return format_.indices == IndexFormat::kCoded ? fill_coded(job, keep) : attempt(job, keep);
}

Result<Advanced> SparseCodec::advance(const AdvanceJob& asked) const {
  // The pass that selects may add the selection to the estimate at once where one selection decides
  // the message and values are sent unrounded.
  const bool is_whole = format_.values == ValueFormat::kFloat32;
  const bool tries = format_.indices == IndexFormat::kCoded && fills_a_budget(asked);
  AdvanceJob job = asked;
  job.sends_selection = is_whole && !tries;
  if (job.size() == 0) return Advanced{.bytes = {}, .form = Form::kSparse, .curve = {}};
  auto made = make(job);
  if (!made) return made.error();
  Advanced result;
  result.form = made->form;
  result.bytes = std::move(made->bytes);
  result.curve = std::move(made->selected.curve);
  if (Status added = add_to_estimate(job, made->selected.energies, result, is_whole); !added)
    return added.error();
  return result;
}

}  // namespace kimesh
