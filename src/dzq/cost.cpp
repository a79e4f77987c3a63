#include "cost.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "kimesh/rans/rans.h"
#include "magnitudes.h"

namespace kimesh::dzq {
namespace {

// The elements of a bin of the curve are assumed to be spread evenly over a part of it (spread_of).
// That part is cut into this many places.
constexpr int kPlaces = 4;

constexpr double kHeadBytes = 8;

// missing_within() first computes the costs of steps that are kStepFactor apart. Where a size lies
// between two costs whose bytes differ by more than kAlikeBytes, it bisects the two steps, at most
// kHalvings times, and interpolates in the end. Error feedback leaves many elements just below a
// dead zone, so that a step 3 % finer can take several times the bytes.
constexpr double kStepFactor = 1.4142, kAlikeBytes = 1.25;
constexpr int kHalvings = 6;

// `count` elements, whose magnitudes are spread evenly over [low, high].
struct Spread {
  double count = 0, low = 0, high = 0;
};

// The elements of the bin between two points of a curve. The curve tells their count and mean
// square. They are taken to fill the part of the bin that begins at one of its edges and has the
// root mean square as its middle: error feedback cuts magnitudes off at the dead zone of the last
// messages, which may be anywhere in a bin.
Spread spread_of(const CurvePoint& above, const CurvePoint& below) {
  const double count = below.kept - above.kept;
  if (!(count > 0)) return {0, below.magnitude, above.magnitude};
  const double energy = above.missing_energy - below.missing_energy;
  const double mean =
      std::clamp(std::sqrt(std::max(energy, 0.0) / count), below.magnitude, above.magnitude);
  return {count, std::max(below.magnitude, 2 * mean - above.magnitude),
          std::min(above.magnitude, 2 * mean - below.magnitude)};
}

// Calls visit(count, magnitude, width) for equal parts of the elements of each bin of the piece,
// from the largest.
template <typename Visit>
void for_parts(const PieceCurve& piece, Visit visit) {
  for (std::size_t i = 0; i + 1 < piece.points.size(); ++i) {
    const Spread spread = spread_of(piece.points[i], piece.points[i + 1]);
    const double width = (spread.high - spread.low) / kPlaces;
    for (int part = 0; part < kPlaces; ++part)
      if (spread.count > 0)
        visit(spread.count / kPlaces, spread.high - (part + 0.5) * width, width);
  }
}

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

// The number of elements of the piece whose magnitude is at least this.
double reaching(const PieceCurve& piece, double magnitude) {
  const auto below =
      std::ranges::upper_bound(piece.points, magnitude, std::greater{}, &CurvePoint::magnitude);
  if (below == piece.points.begin()) return 0;
  const CurvePoint& above = *(below - 1);
  if (below == piece.points.end()) return above.kept;
  const Spread spread = spread_of(above, *below);
  if (magnitude >= spread.high) return above.kept;
  if (magnitude <= spread.low) return below->kept;
  return above.kept + spread.count * (spread.high - magnitude) / (spread.high - spread.low);
}

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

double largest_of(const Curve& curve) {
  double largest = 0;
  for (const PieceCurve& piece : curve)
    if (!piece.points.empty()) largest = std::max(largest, piece.points.front().magnitude);
  return largest;
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
double missing_between(const Curve& curve, Rounding rounding, Bracket steps, double bytes) {
  for (int halving = 0; halving < kHalvings; ++halving) {
    auto& [coarse, fine] = steps;
    if (bytes >= fine.cost.bytes || fine.cost.bytes <= kAlikeBytes * coarse.cost.bytes) break;
    const double step = std::sqrt(coarse.step * fine.step);
    const StepCost middle{step, cost_of(curve, step, rounding)};
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

double step_within(std::span<const Curve* const> curves, double bytes, Rounding rounding) {
  double largest = 0;
  for (const Curve* curve : curves) largest = std::max(largest, largest_of(*curve));
  if (largest == 0) return 0;
  double low = std::log2(largest / rans::kLevelMax), high = std::log2(2 * largest);
  constexpr double kPrecision = 1.0 / 256;  // octaves; about 0.3 % of the bytes
  while (high - low > kPrecision) {
    const double middle = (low + high) / 2;
    double sum = 0;
    for (const Curve* curve : curves) sum += cost_of(*curve, std::exp2(middle), rounding).bytes;
    (sum > bytes ? low : high) = middle;
  }
  return std::exp2(high);
}

std::vector<double> missing_within(const Curve& curve, std::span<const double> payload_bytes,
                                   Rounding rounding) {
  const double whole = energy_of(curve);
  std::vector<double> missing(payload_bytes.size(), whole);
  const double largest = largest_of(curve);
  if (largest == 0 || payload_bytes.empty()) return missing;
  const double most = *std::ranges::max_element(payload_bytes);
  // A head alone leaves everything out.
  StepCost coarse{largest * kStepFactor, {kHeadBytes, whole}};
  for (double step = largest; step > largest / rans::kLevelMax; step /= kStepFactor) {
    const StepCost fine{step, cost_of(curve, step, rounding)};
    if (fine.cost.bytes <= coarse.cost.bytes) continue;
    for (std::size_t i = 0; i < missing.size(); ++i)
      if (payload_bytes[i] >= coarse.cost.bytes)
        missing[i] = missing_between(curve, rounding, {coarse, fine}, payload_bytes[i]);
    coarse = fine;
    if (fine.cost.bytes >= most) break;
  }
  return missing;
}

}  // namespace kimesh::dzq
