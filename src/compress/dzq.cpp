#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kimesh/util/check.h"
#include "src/compress/dzq_compose.h"
#include "src/compress/families.h"
#include "src/compress/select.h"

namespace kimesh {
namespace {

// Floors get at most half of a budget, at so many bytes for an element; where they turn out to need
// more, half as many elements.
constexpr std::uint64_t kFloorShareOfBudget = 2, kFloorBytesEach = 2;

// Energies over which a value that is rounded up, or its sum with the estimate, might overflow.
constexpr double kNearestEnergyMax = 1e70;

// How many elements a budget can hold at most: a sign each and, the sparser the more, a gap. Where
// gaps are cheaper than that because elements cluster, the budget buys finer steps instead.
std::size_t candidates_of(std::uint64_t budget_bytes, std::size_t size) {
  constexpr double kBitsMin = 2, kBitsMax = 8, kFewElements = 1 << 16;
  const double budget_bits = 8 * static_cast<double>(budget_bytes);
  const auto all = static_cast<double>(size);
  const double sparseness = all / std::min(budget_bits / 4, all);
  const double bits = all <= kFewElements
                          ? kBitsMin
                          : std::clamp(1.5 + 0.5 * dzq::log2_about(sparseness), kBitsMin, kBitsMax);
  return static_cast<std::size_t>(std::clamp(budget_bits / bits, 1.0, all));
}

// Where the least dead zone of such a step ends.
float least_dead_zone(const Setting& setting) {
  const bool nearest = setting.rounding == Rounding::kNearest;
  const double step = dzq::step_of(dzq::step_code_of(setting.step));
  const auto zone = static_cast<float>(nearest ? step / 2 : step);
  return std::max(zone, std::numeric_limits<float>::denorm_min());
}

// Fills scratch.entries with all that a message of this setting can carry.
Result<Selected> collect_candidates(const AdvanceJob& job) {
  const Setting& setting = job.setting;
  if (setting.step > 0) return job.difference.select_reaching(job, least_dead_zone(setting));
  const std::size_t keep = candidates_of(setting.budget_bytes, job.size());
  Setting global;
  global.compressor = Compressor::kTopk;
  global.keep = static_cast<std::uint32_t>(std::max<std::size_t>(keep, setting.floor));
  global.rotation = setting.rotation;
  global.allocation = Allocation::kGlobal;
  global.floor = setting.floor;
  return select_topk({job.difference, job.pieces, global, job.scratch, job.with_curve},
                     global.keep);
}

// The largest elements of each piece that has a share of `floor`, into scratch.floor_entries.
Result<std::vector<dzq::Floor>> find_floors(const AdvanceJob& job, std::uint32_t floor) {
  CompressScratch& scratch = job.scratch;
  scratch.floor_entries.clear();
  std::vector<dzq::Floor> floors;
  if (floor == 0) return floors;
  scratch.shares.resize(job.pieces.size());
  share_out(floor, job.setting.rotation, job.pieces, scratch.shares);
  kernels::Entries own;
  for (std::size_t l = 0; l < job.pieces.size(); ++l) {
    const Piece& piece = job.pieces[l];
    if (scratch.shares[l] == 0) continue;
    const std::size_t first = first_from(piece.offset, scratch.entries);
    const std::size_t last = first_from(piece.offset + piece.size, scratch.entries);
    if (last - first < scratch.shares[l]) {
      const Status found = job.difference.select_piece(job, piece, scratch.shares[l], own);
      if (!found) return found.error();
    } else {
      own.clear();
      append(scratch.entries, first, last, own);
      kernels::keep_largest(scratch.shares[l], own, scratch.select);
    }
    if (own.size() == 0) continue;
    const auto [least, most] =
        std::ranges::minmax(own.values, {}, [](float v) { return std::abs(v); });
    kernels::Entries& all = scratch.floor_entries;
    floors.push_back({piece, all.size(), all.size() + own.size(), std::abs(least), std::abs(most)});
    append(own, 0, own.size(), all);
  }
  return floors;
}

Result<dzq::Message> compose(const AdvanceJob& job, dzq::Candidates candidates) {
  const Setting& setting = job.setting;
  if (setting.step > 0) {
    auto floors = find_floors(job, setting.floor);
    if (!floors) return floors.error();
    candidates.pieces = std::move(*floors);
    dzq::Composer composer(std::move(candidates));
    (void)composer.measure(dzq::step_code_of(setting.step));
    return std::move(composer.finish());
  }
  const std::uint64_t affordable = setting.budget_bytes / kFloorShareOfBudget / kFloorBytesEach;
  for (std::uint64_t floor = std::min<std::uint64_t>(setting.floor, affordable);; floor /= 2) {
    auto floors = find_floors(job, static_cast<std::uint32_t>(floor));
    if (!floors) return floors.error();
    candidates.pieces = std::move(*floors);
    dzq::Composer composer(candidates);
    dzq::Message message = dzq::fill(composer, setting.budget_bytes);
    if (!message.bytes.empty() || floor == 0) return message;
  }
}

Coder coder_of(Form form) {
  return form == Form::kDzq ? Coder::kEntropy : Coder::kFixedWidth;
}

}  // namespace

Result<Advanced> advance_dzq(const AdvanceJob& job) {
  const Setting& setting = job.setting;
  Advanced result;
  result.form = setting.coder == Coder::kEntropy ? Form::kDzq : Form::kDzqFixed;
  if (job.size() == 0) return result;
  KIMESH_CHECK((setting.step > 0) != (setting.budget_bytes > 0), "a step or a budget");
  KIMESH_CHECK(setting.budget_bytes == 0 ||
                   setting.budget_bytes >= smallest_message_bytes(setting, job.size()),
               "a budget of at least the smallest message");
  auto selected = collect_candidates(job);
  if (!selected) return selected.error();
  kernels::Entries& entries = job.scratch.entries;
  const kernels::Energies& energies = selected->energies;
  dzq::Candidates candidates{job.size(), entries, job.scratch.floor_entries, {}};
  candidates.rounding =
      energies.target < kNearestEnergyMax && energies.difference < kNearestEnergyMax
          ? setting.rounding
          : Rounding::kTowardsZero;
  candidates.coder = setting.coder;
  for (const float value : entries.values)
    candidates.largest = std::max(candidates.largest, std::abs(value));
  auto message = compose(job, candidates);
  if (!message) return message.error();
  const std::size_t least = std::min<std::size_t>(std::max(setting.floor, 1u), entries.size());
  if (candidates.coder == Coder::kFixedWidth && message->elements.indices.size() < least) {
    // In fixed widths the gaps of few elements alone may be longer than a budget.
    candidates.coder = Coder::kEntropy;
    result.form = Form::kDzq;
    message = compose(job, std::move(candidates));
    if (!message) return message.error();
  }
  if (message->bytes.empty()) message->elements = {};
  kernels::Unfilled<float> values;
  const Status finite = dzq::dequantise(message->head, message->elements, values);
  KIMESH_CHECK(finite.ok(), "levels of finite elements are finite");
  const auto added = job.difference.add(message->elements.indices, values, false);
  if (!added) return added.error();
  result.bytes = std::move(message->bytes);
  result.kept = values.size();
  result.wanted_energy = energies.target;
  result.missing_energy = std::max(0.0, energies.difference - added->removed) + added->left;
  result.curve = std::move(selected->curve);
  return result;
}

namespace {

// The elements that a message carries. Errors: Malformed.
Result<kernels::Entries> read_dzq(Form form, std::span<const std::byte> bytes, std::size_t size) {
  kernels::Entries entries;
  if (Status good = dzq::read(coder_of(form), bytes, size, entries); !good) return good.error();
  return entries;
}

}  // namespace

Status validate_dzq(Form form, std::span<const std::byte> bytes, std::size_t size) {
  if (const auto entries = read_dzq(form, bytes, size); !entries) return entries.error();
  return ok_status();
}

Status apply_dzq(Form form, std::span<const std::byte> bytes, kernels::Memory& memory,
                 kernels::MemorySpan estimate) {
  return add_decoded(read_dzq(form, bytes, estimate.size), memory, estimate);
}

}  // namespace kimesh
