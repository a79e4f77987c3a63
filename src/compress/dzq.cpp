#include <algorithm>
#include <cmath>
#include <utility>

#include "kimesh/util/check.h"
#include "src/compress/dzq_compose.h"
#include "src/compress/families.h"
#include "src/compress/select.h"

namespace kimesh {
namespace {

// An element takes at least a sign, and where not all are sent, a gap: with a budget no more can be
// sent than take so many bits each.
constexpr std::size_t kBitsMin = 2;

// Floors get at most half of a budget, at so many bytes for an element; where they turn out to need
// more, half as many elements.
constexpr std::uint64_t kFloorShareOfBudget = 2, kFloorBytesEach = 2;

// Energies over which a value that is rounded up, or its sum with the estimate, might overflow.
constexpr double kNearestEnergyMax = 1e70;

std::size_t candidates_of(std::size_t budget_bytes, std::size_t size) {
  const std::size_t most = 8 / kBitsMin * std::min(budget_bytes, size);
  return std::min(std::max<std::size_t>(most, 1), size);
}

// Fills scratch.entries with all that a message of this setting can carry.
Result<Selected> collect_candidates(const AdvanceJob& job) {
  const Setting& setting = job.setting;
  const std::size_t keep =
      setting.step > 0 ? job.target.size() : candidates_of(setting.budget_bytes, job.target.size());
  Setting global;
  global.compressor = Compressor::kTopk;
  global.keep = static_cast<std::uint32_t>(std::max<std::size_t>(keep, setting.floor));
  global.rotation = setting.rotation;
  global.allocation = Allocation::kGlobal;
  global.floor = setting.floor;
  return select_topk({job.target, job.estimate, job.pieces, global, job.scratch, job.with_curve},
                     global.keep);
}

// The largest elements of each piece that has a share of `floor`, into scratch.floor_entries.
std::vector<dzq::Floor> find_floors(const AdvanceJob& job, std::uint32_t floor) {
  CompressScratch& scratch = job.scratch;
  scratch.floor_entries.clear();
  std::vector<dzq::Floor> floors;
  if (floor == 0) return floors;
  share_out(floor, job.setting.rotation, job.pieces, scratch.shares);
  kernels::Entries own;
  for (std::size_t l = 0; l < job.pieces.size(); ++l) {
    const Piece& piece = job.pieces[l];
    const auto position = [&](std::size_t index) {
      return std::ranges::lower_bound(scratch.entries.indices, index) -
             scratch.entries.indices.begin();
    };
    const auto first = position(piece.offset), last = position(piece.offset + piece.size);
    if (scratch.shares[l] == 0 || first == last) continue;
    own.indices.assign(scratch.entries.indices.begin() + first,
                       scratch.entries.indices.begin() + last);
    own.values.assign(scratch.entries.values.begin() + first,
                      scratch.entries.values.begin() + last);
    kernels::keep_largest(scratch.shares[l], own, scratch.select);
    const auto [least, most] =
        std::ranges::minmax(own.values, {}, [](float v) { return std::abs(v); });
    kernels::Entries& all = scratch.floor_entries;
    floors.push_back({piece, all.size(), all.size() + own.size(), std::abs(least), std::abs(most)});
    all.indices.insert(all.indices.end(), own.indices.begin(), own.indices.end());
    all.values.insert(all.values.end(), own.values.begin(), own.values.end());
  }
  return floors;
}

dzq::Message compose(const AdvanceJob& job, dzq::Candidates candidates) {
  const Setting& setting = job.setting;
  if (setting.step > 0) {
    candidates.pieces = find_floors(job, setting.floor);
    dzq::Composer composer(std::move(candidates));
    return std::move(composer.compose(dzq::step_code_of(setting.step)));
  }
  const std::uint64_t affordable = setting.budget_bytes / kFloorShareOfBudget / kFloorBytesEach;
  for (std::uint64_t floor = std::min<std::uint64_t>(setting.floor, affordable);; floor /= 2) {
    candidates.pieces = find_floors(job, static_cast<std::uint32_t>(floor));
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
  if (job.target.empty()) return result;
  KIMESH_CHECK((setting.step > 0) != (setting.budget_bytes > 0), "a step or a budget");
  KIMESH_CHECK(setting.budget_bytes == 0 ||
                   setting.budget_bytes >= smallest_message_bytes(setting, job.target.size()),
               "a budget of at least the smallest message");
  auto selected = collect_candidates(job);
  if (!selected) return selected.error();
  kernels::Entries& entries = job.scratch.entries;
  const kernels::Energies& energies = selected->energies;
  dzq::Candidates candidates{job.target.size(), entries, job.scratch.floor_entries, {}};
  candidates.rounding =
      energies.target < kNearestEnergyMax && energies.difference < kNearestEnergyMax
          ? setting.rounding
          : Rounding::kTowardsZero;
  candidates.coder = setting.coder;
  for (const float value : entries.values)
    candidates.largest = std::max(candidates.largest, std::abs(value));
  dzq::Message message = compose(job, std::move(candidates));
  if (message.bytes.empty()) message.elements = {};
  kernels::Unfilled<float> values;
  const Status finite = dzq::dequantise(message.head, message.elements, values);
  KIMESH_CHECK(finite.ok(), "levels of finite elements are finite");
  result.bytes = std::move(message.bytes);
  result.kept = values.size();
  const kernels::Added added =
      kernels::add_entries(job.target, message.elements.indices, values, job.estimate);
  result.wanted_energy = energies.target;
  result.missing_energy = std::max(0.0, energies.difference - added.removed) + added.left;
  result.curve = std::move(selected->curve);
  return result;
}

Status validate_dzq(Form form, std::span<const std::byte> bytes, std::size_t size) {
  kernels::Entries entries;
  return dzq::read(coder_of(form), bytes, size, entries);
}

Status apply_dzq(Form form, std::span<const std::byte> bytes, std::span<float> estimate) {
  kernels::Entries entries;
  if (Status good = dzq::read(coder_of(form), bytes, estimate.size(), entries); !good) return good;
  for (std::size_t i = 0; i < entries.size(); ++i)
    estimate[entries.indices[i]] += entries.values[i];
  return ok_status();
}

}  // namespace kimesh
