#include "cost.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "kimesh/rans/rans.h"
#include "magnitudes.h"

namespace kimesh::dzq {
namespace {

// Elements are assumed to be spread evenly over a bin of the curve; each bin is cut into this many
// parts.
constexpr int kPlaces = 4;

constexpr double kHeadBytes = 8;

// Between neighbouring steps whose costs are computed; costs between them are interpolated.
constexpr double kStepFactor = 1.4142;

// Missing energies below this share of the whole are raised to it, so that logarithms stay finite.
constexpr double kLeastShare = 1e-12;

// Calls visit(count, magnitude, width) for equal parts of each bin of the piece, from the largest.
template <typename Visit>
void for_parts(const PieceCurve& piece, Visit visit) {
  for (std::size_t i = 0; i + 1 < piece.points.size(); ++i) {
    const CurvePoint& above = piece.points[i];
    const CurvePoint& below = piece.points[i + 1];
    const double width = (above.magnitude - below.magnitude) / kPlaces;
    const double count = (below.kept - above.kept) / kPlaces;
    for (int part = 0; part < kPlaces; ++part)
      if (count > 0) visit(count, above.magnitude - (part + 0.5) * width, width);
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
  const double share = (above.magnitude - magnitude) / (above.magnitude - below->magnitude);
  return above.kept + share * (below->kept - above.kept);
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
  Cost coarse{kHeadBytes, whole};
  for (double step = largest; step > largest / rans::kLevelMax; step /= kStepFactor) {
    const Cost fine = cost_of(curve, step, rounding);
    if (fine.bytes <= coarse.bytes) continue;
    for (std::size_t i = 0; i < missing.size(); ++i) {
      if (payload_bytes[i] < coarse.bytes) continue;
      const double share =
          std::log(payload_bytes[i] / coarse.bytes) / std::log(fine.bytes / coarse.bytes);
      const double least = whole * kLeastShare;
      const double high = std::log(std::max(coarse.missing_energy, least));
      const double low = std::log(std::max(fine.missing_energy, least));
      missing[i] = std::exp(high + std::min(share, 1.0) * (low - high));
    }
    coarse = fine;
    if (fine.bytes >= most) break;
  }
  return missing;
}

}  // namespace kimesh::dzq
