#include "cost.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kimesh/rans/rans.h"
#include "magnitudes.h"
#include "spread.h"

namespace kimesh::dzq {
namespace {

// missing_within() first computes the costs of steps that are kStepFactor apart. Where a size lies
// between two costs whose bytes differ by more than kAlikeBytes, it bisects the two steps, at most
// kHalvings times, and interpolates in the end. Error feedback leaves many elements just below a
// dead zone, so that a step 3 % finer can take several times the bytes.
constexpr double kStepFactor = 1.4142, kAlikeBytes = 1.25;
constexpr int kHalvings = 6;

// The bits that name `chosen` of `all` elements: all times the binary entropy of their ratio.
double position_bits(double chosen, double all) {
  if (chosen <= 0 || chosen >= all) return 0;
  const double share = chosen / all;
  return -all * (share * std::log2(share) + (1 - share) * std::log2(1 - share));
}

// The elements of one level: their number, and the sum and sum of squares of their distances from
// the inner edge of the bin, in steps.
struct Level {
  double count = 0, sum = 0, squares = 0;
};

class Levels {
 public:
  Levels(double step, double dead_zone) : step_(step), dead_zone_(dead_zone) {}

  void add(double count, double magnitude, double width) {
    const double level = std::floor((magnitude - dead_zone_) / step_);
    sent_ += count;
    if (width > step_ / 2 || level >= static_cast<double>(low_.size())) {
      high_bits_ += count * std::log2(std::max(width / step_, 1.0) / count);
      high_ += count;
      return;
    }
    const double place = (magnitude - dead_zone_) / step_ - level;
    Level& its = low_[static_cast<std::size_t>(level)];
    its.count += count;
    its.sum += count * place;
    its.squares += count * (place * place + width * width / (12 * step_ * step_));
  }

  [[nodiscard]] double bits() const {
    if (sent_ == 0) return 0;
    double bits = high_bits_ + high_ * std::log2(sent_);
    for (const Level& level : low_)
      if (level.count > 0) bits += level.count * std::log2(sent_ / level.count);
    return bits + sent_;  // a bit for each sign
  }

  [[nodiscard]] double missing_energy(Rounding rounding) const {
    const bool nearest = rounding == Rounding::kNearest;
    double missing = high_ / (nearest ? 12 : 3);
    for (const Level& level : low_)
      if (level.count > 0)
        missing += level.squares - (nearest ? level.sum * level.sum / level.count : 0);
    return missing * step_ * step_;
  }

 private:
  double step_, dead_zone_;
  std::array<Level, 64> low_{};
  double high_ = 0, high_bits_ = 0, sent_ = 0;
};

double dead_zone_for(const Curve& curve, double step, Rounding rounding) {
  double elements = 0;
  for (const PieceCurve& piece : curve) elements += piece.size;
  const std::uint32_t sixteenths = dead_zone_of(rounding, elements, [&](double steps) {
    double sum = 0;
    for (const PieceCurve& piece : curve) sum += reaching(piece, steps * step);
    return sum;
  });
  return step * sixteenths / 16;
}

struct StepCost {
  double step = 0;
  Cost cost;
};
struct Bracket {
  StepCost coarse, fine;
};

// The energy that a message of `bytes` leaves out, linear in the bytes between the two costs. Where
// two similar steps have very different costs, most of the elements between have one magnitude, and
// each adds the same bytes and the same energy. Requires at least the bytes of the coarse step.
double interpolated(const Bracket& steps, double bytes) {
  const Cost &coarse = steps.coarse.cost, &fine = steps.fine.cost;
  const double share = (bytes - coarse.bytes) / (fine.bytes - coarse.bytes);
  return std::lerp(coarse.missing_energy, fine.missing_energy, std::min(share, 1.0));
}

// The same, after bisecting the steps.
double missing_between(const StepCosts& costs, Bracket steps, double bytes) {
  for (int halving = 0; halving < kHalvings; ++halving) {
    auto& [coarse, fine] = steps;
    if (bytes >= fine.cost.bytes || fine.cost.bytes <= kAlikeBytes * coarse.cost.bytes) break;
    const double step = std::sqrt(coarse.step * fine.step);
    const StepCost middle{step, costs.of(step)};
    if (middle.cost.bytes <= coarse.cost.bytes)
      coarse.step = step;
    else
      (middle.cost.bytes > bytes ? fine : coarse) = middle;
  }
  return interpolated(steps, bytes);
}

}  // namespace

Cost cost_of(const Curve& curve, double step, Rounding rounding) {
  const double dead_zone = dead_zone_for(curve, step, rounding);
  Cost estimate;
  Levels levels(step, dead_zone);
  double bits = 0;
  for (const PieceCurve& piece : curve) {
    double sent = 0;
    for_parts(piece, [&](double count, double magnitude, double width) {
      if (magnitude < dead_zone) return;
      levels.add(count, magnitude, width);
      sent += count;
    });
    bits += position_bits(sent, piece.size);
    estimate.missing_energy += piece.missing_energy(sent);
  }
  estimate.missing_energy += levels.missing_energy(rounding);
  bits += levels.bits();
  if (bits > 0) estimate.bytes = kHeadBytes + bits / 8;
  return estimate;
}

StepCosts entropy_costs(std::span<const Curve* const> curves, Rounding rounding) {
  StepCosts costs;
  for (const Curve* curve : curves) {
    costs.largest = std::max(costs.largest, largest_of(*curve));
    costs.energy += energy_of(*curve);
  }
  costs.finest = costs.largest / rans::kLevelMax;
  costs.of = [its = std::vector(curves.begin(), curves.end()), rounding](double step) {
    Cost sum;
    for (const Curve* curve : its) {
      const Cost cost = cost_of(*curve, step, rounding);
      sum.bytes += cost.bytes;
      sum.missing_energy += cost.missing_energy;
    }
    return sum;
  };
  return costs;
}

double step_within(const StepCosts& costs, double bytes) {
  if (costs.largest == 0) return 0;
  double low = std::log2(costs.finest), high = std::log2(2 * costs.largest);
  constexpr double kPrecision = 1.0 / 256;  // octaves; about 0.3 % of the bytes
  while (high - low > kPrecision) {
    const double middle = (low + high) / 2;
    (costs.of(std::exp2(middle)).bytes > bytes ? low : high) = middle;
  }
  return std::exp2(high);
}

std::vector<double> missing_within(const StepCosts& costs, std::span<const double> payload_bytes) {
  std::vector<double> missing(payload_bytes.size(), costs.energy);
  if (costs.largest == 0 || payload_bytes.empty()) return missing;
  const double most = *std::ranges::max_element(payload_bytes);
  // A head alone leaves everything out.
  StepCost coarse{costs.largest * kStepFactor, {kHeadBytes, costs.energy}};
  while (coarse.step > costs.finest && coarse.cost.bytes < most) {
    const double step = std::max(coarse.step / kStepFactor, costs.finest);
    const StepCost fine{step, costs.of(step)};
    if (fine.cost.bytes <= coarse.cost.bytes) {
      coarse.step = step;
      continue;
    }
    for (std::size_t i = 0; i < missing.size(); ++i)
      if (payload_bytes[i] >= coarse.cost.bytes)
        missing[i] = missing_between(costs, {coarse, fine}, payload_bytes[i]);
    coarse = fine;
  }
  return missing;
}

}  // namespace kimesh::dzq
