// dzq: a dead-zone quantiser with one step for all elements, entropy coded.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "compose.h"
#include "cost.h"
#include "kimesh/codec/allocation.h"
#include "kimesh/codec/difference.h"
#include "kimesh/codec/select.h"
#include "kimesh/util/check.h"

namespace kimesh {
namespace {

// Floors get at most half of a budget, at two bytes an element. Where they need more, the floor is
// halved until they fit.
constexpr std::uint64_t kFloorShareOfBudget = 2, kFloorBytesEach = 2;

// Above this energy a value that is rounded up, or its sum with the estimate, might overflow
// float32.
constexpr double kNearestEnergyMax = 1e70;

// The most elements that a budget can hold: each takes a sign and a gap, which is longer the
// sparser they are. Where gaps are shorter because elements cluster, the budget buys finer steps
// instead.
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

// The smallest end of a dead zone that a message with this step can have.
float least_dead_zone(float asked_step, Rounding rounding) {
  const bool nearest = rounding == Rounding::kNearest;
  const double step = dzq::step_of(dzq::step_code_of(asked_step));
  const auto zone = static_cast<float>(nearest ? step / 2 : step);
  return std::max(zone, std::numeric_limits<float>::denorm_min());
}

// Fills scratch.entries with every element that a message can carry. `step` is 0 where the setting
// has a budget in bytes.
Result<PassSummary> collect_candidates(const AdvanceJob& job, float step) {
  const Setting& setting = job.setting;
  if (step > 0) return job.difference.select_reaching(job, least_dead_zone(step, setting.rounding));
  const std::size_t candidates = candidates_of(setting.budget.amount, job.size());
  const auto keep = static_cast<std::uint32_t>(std::max<std::size_t>(candidates, setting.floor));
  Setting global;
  global.rotation = setting.rotation;
  global.allocation = Allocation::kGlobal;
  global.floor = setting.floor;
  return select_topk({job.difference, job.pieces, global, job.scratch, job.with_curve}, keep);
}

// The largest elements of each piece that has a share of `floor`, into scratch.floor_entries.
Result<std::vector<dzq::Floor>> find_floors(const AdvanceJob& job, std::uint32_t floor) {
  CompressScratch& scratch = job.scratch;
  scratch.floor_entries.clear();
  std::vector<dzq::Floor> floors;
  if (floor == 0) return floors;
  scratch.shares.resize(job.pieces.size());
  share_out(floor, job.setting.rotation, job.pieces, scratch.shares);
  kernels::Entries& all = scratch.floor_entries;
  kernels::Entries own;
  for (std::size_t l = 0; l < job.pieces.size(); ++l) {
    const Piece& piece = job.pieces[l];
    if (scratch.shares[l] == 0) continue;
    const std::size_t first = first_from(piece.offset, scratch.entries);
    const std::size_t last = first_from(piece.offset + piece.size, scratch.entries);
    const std::size_t before = all.size();
    if (last - first < scratch.shares[l]) {
      const Status found = job.difference.select_piece(job, piece, scratch.shares[l], own);
      if (!found) return found.error();
      append(own, 0, own.size(), all);
    } else {
      append_largest(scratch.shares[l], scratch.entries, first, last, all, scratch.select);
    }
    if (all.size() == before) continue;
    const auto [least, most] = std::ranges::minmax(std::span(all.values).subspan(before), {},
                                                   [](float v) { return std::abs(v); });
    floors.push_back({piece, before, all.size(), std::abs(least), std::abs(most)});
  }
  return floors;
}

// Gives the candidates their floors, which ends the selection. Its keys are freed: they take as
// much memory as the marks of a message of all candidates, which is made next.
Status add_floors(const AdvanceJob& job, std::uint32_t floor, dzq::Candidates& candidates) {
  auto floors = find_floors(job, floor);
  if (!floors) return floors.error();
  candidates.pieces = std::move(*floors);
  auto& keys = job.scratch.select.keys;
  std::remove_reference_t<decltype(keys)>().swap(keys);
  return ok_status();
}

Result<dzq::Message> compose(const AdvanceJob& job, float step, dzq::Candidates candidates) {
  const Setting& setting = job.setting;
  if (step > 0) {
    if (Status added = add_floors(job, setting.floor, candidates); !added) return added.error();
    dzq::Composer composer(std::move(candidates));
    (void)composer.measure(dzq::step_code_of(step));
    return std::move(composer.finish());
  }
  const std::uint64_t affordable = setting.budget.amount / kFloorShareOfBudget / kFloorBytesEach;
  for (std::uint64_t floor = std::min<std::uint64_t>(setting.floor, affordable);; floor /= 2) {
    const Status added = add_floors(job, static_cast<std::uint32_t>(floor), candidates);
    if (!added) return added.error();
    dzq::Composer composer(candidates);
    dzq::Message message = dzq::fill(composer, setting.budget.amount);
    if (!message.bytes.empty() || floor == 0) return message;
  }
}

dzq::Candidates candidates_from(const AdvanceJob& job, const kernels::Energies& energies) {
  const kernels::Entries& entries = job.scratch.entries;
  dzq::Candidates candidates{job.size(), entries, job.scratch.floor_entries, {}};
  candidates.rounding =
      energies.target < kNearestEnergyMax && energies.difference < kNearestEnergyMax
          ? job.setting.rounding
          : Rounding::kTowardsZero;
  for (const float value : entries.values)
    candidates.largest = std::max(candidates.largest, std::abs(value));
  return candidates;
}

Result<Content> decode_dzq(std::span<const std::byte> payload, std::size_t size) {
  kernels::Entries entries;
  if (Status good = dzq::read(payload, size, entries); !good) return good.error();
  return Content{AddEntries{std::move(entries)}};
}

class Dzq final : public Codec {
 public:
  void describe(Keys& keys) override {
    keys.refuse({"indices", "values"}, "compressor: dzq, which has a format of its own");
    keys.number("step", step_, {kStepMin, kStepMax}, "width of a bin, instead of bits");
  }
  CodecTraits traits() const override {
    return {.conservative = true,
            .rounds = true,
            .meets_budgets = true,
            .on_devices = true,
            .has_curves = true,
            .has_floors = true};
  }
  std::span<const WireForm> forms() const override {
    static const WireForm kForms[] = {
        {Form::kDzq, "dzq", decode_dzq, "a head, then entropy coded elements: src/dzq/message.h"}};
    return kForms;
  }
  std::size_t bytes_max(std::size_t kept, std::size_t) const override {
    return kOneBytes + kElementBytesMax * kept;
  }
  std::size_t bytes_about(std::size_t kept, std::size_t) const override {
    return kOneBytes +
           static_cast<std::size_t>(std::ceil(kElementBytesAbout * static_cast<double>(kept)));
  }
  std::size_t bytes_min(std::size_t size) const override { return size == 0 ? 0 : kOneBytes; }
  std::string_view size_key() const override { return "step"; }
  bool has_own_size() const override { return step_.has_value(); }

  // One step for all messages: each gains the same from its last byte.
  std::vector<double> divide(const SharedBudget& shared) const override {
    const double step = dzq::step_within(shared.curves, shared.total, shared.rounding);
    std::vector<double> parts;
    for (std::size_t m = 0; m < shared.curves.size(); ++m) {
      const double wanted =
          step > 0 ? dzq::cost_of(*shared.curves[m], step, shared.rounding).bytes : 0;
      parts.push_back(std::max(wanted, static_cast<double>(bytes_about(shared.floors[m], 0))));
    }
    return parts;
  }
  std::vector<double> missing_within(const Curve& curve, std::span<const double> payload_bytes,
                                     Rounding rounding) const override {
    return dzq::missing_within(curve, payload_bytes, rounding);
  }
  Result<Advanced> advance(const AdvanceJob& job) const override;

 private:
  static constexpr double kStepMin = 1e-30;  // differences that float32 holds with all its digits
  static constexpr double kStepMax = 1e30;
  // Bytes of a head and any one element; the most that a further element takes: two symbols of 12
  // bits, a sign, and two numbers of 35 bits; and the mean of an element, measured at 1 % of
  // residuals.
  static constexpr std::size_t kOneBytes = 20, kElementBytesMax = 12;
  static constexpr double kElementBytesAbout = 1.5;

  std::optional<double> step_;
};

Result<Advanced> Dzq::advance(const AdvanceJob& job) const {
  const bool has_budget = job.setting.budget.kind == Budget::Kind::kBytes;
  const float step = has_budget ? 0 : static_cast<float>(step_.value_or(0));
  Advanced result;
  result.form = Form::kDzq;
  if (job.size() == 0) return result;
  KIMESH_CHECK(has_budget || step > 0, "a step or a budget");
  auto selected = collect_candidates(job, step);
  if (!selected) return selected.error();
  auto composed = compose(job, step, candidates_from(job, selected->energies));
  if (!composed) return composed.error();
  dzq::Message& message = *composed;
  if (message.bytes.empty()) message.elements = {};
  // The values take the memory of the candidates, which are not needed any more.
  kernels::UninitializedVector<float>& values = job.scratch.entries.values;
  const Status finite = dzq::dequantise(message.head, message.elements, values);
  KIMESH_CHECK(finite.ok(), "levels of finite elements are finite");
  const auto added = job.difference.add(message.elements.indices, values, false);
  if (!added) return added.error();
  const kernels::Energies& energies = selected->energies;
  result.bytes = std::move(message.bytes);
  result.kept = values.size();
  job.scratch.entries.clear();
  result.piece_kept = count_by_piece(message.elements.indices, job.pieces);
  result.wanted_energy = energies.target;
  result.energy_to_send = energies.difference;
  result.missing_energy = std::max(0.0, energies.difference - added->removed) + added->left;
  result.curve = std::move(selected->curve);
  return result;
}

}  // namespace

Kind<Codec> dzq_codec() {
  return {"dzq", "a dead-zone quantiser with one step for all layers, entropy coded",
          make_options<Dzq, Codec>};
}

}  // namespace kimesh
