// What messages in fixed widths cost.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "cost.h"
#include "message.h"
#include "spread.h"

namespace kimesh::dzq {
namespace {

// Bins of Magnitudes, and the steps that are tried for the finest one of use.
constexpr double kBinsAnOctave = 32, kTriedFactor = 1.1892;

// Elements of like magnitude: their number, and the sums of their magnitudes and of the squares.
struct Bin {
  double count = 0, sum = 0, squares = 0;
  [[nodiscard]] float mean() const { return static_cast<float>(sum / count); }
};

// The magnitudes of all messages, without those that no step of use sends.
std::vector<Bin> bins_of(std::span<const Curve* const> curves, double largest) {
  std::vector<Bin> bins(static_cast<std::size_t>(kBinsAnOctave * std::log2(kFixedWidest)) + 1);
  for (const Curve* curve : curves)
    for (const PieceCurve& piece : *curve)
      for_parts(piece, [&](double count, double magnitude, double width) {
        if (!(magnitude > largest / kFixedWidest)) return;
        const double octaves = std::max(std::log2(largest / magnitude), 0.0);
        Bin& bin = bins[static_cast<std::size_t>(kBinsAnOctave * octaves)];
        bin.count += count;
        bin.sum += count * magnitude;
        bin.squares += count * (magnitude * magnitude + width * width / 12);
      });
  std::erase_if(bins, [](const Bin& bin) { return bin.count == 0; });
  return bins;
}

// Σ of squares that the elements outside of the dead zone bring, and that they leave out.
struct Outside {
  double brought = 0, left = 0;
};

Outside outside(const Quantiser& quantiser, std::span<const Bin> bins) {
  Outside sum;
  for (const Bin& bin : bins) {
    const float mean = bin.mean();
    if (double{mean} < quantiser.dead_zone()) break;
    const double sent = quantiser.magnitude(quantiser.level(mean));
    const double left = bin.squares - 2 * sent * bin.sum + sent * sent * bin.count;
    sum.left += left;
    sum.brought += bin.squares - left;
  }
  return sum;
}

// The head with the growth of which the elements leave out least, before their centroids are known.
Head head_for(double step, Rounding rounding, std::span<const Bin> bins) {
  Head head{Coding::kFixedWidth, 0, rounding, step_code_of(step), kFixedDeadZone, {}, {}};
  double least = std::numeric_limits<double>::infinity();
  std::uint32_t best = 0;
  for (head.growth = 0; head.growth < kGrowths; ++head.growth) {
    const double left = outside(Quantiser(head, 0), bins).left;
    if (left >= least) continue;
    least = left;
    best = head.growth;
  }
  head.growth = best;
  return head;
}

// With values at the centroids of level 0 and of all levels above it.
Quantiser quantiser_for(double step, Rounding rounding, std::span<const Bin> bins) {
  Head head = head_for(step, rounding, bins);
  if (rounding == Rounding::kTowardsZero) return Quantiser(head, 0);
  const Quantiser edges(head, 0);
  std::array<double, 2> places{}, counts{};
  for (const Bin& bin : bins) {
    const float mean = bin.mean();
    if (double{mean} < edges.dead_zone()) break;
    const std::uint32_t level = edges.level(mean);
    places[level == 0 ? 0 : 1] += bin.count * edges.place(mean, level);
    counts[level == 0 ? 0 : 1] += bin.count;
  }
  for (std::size_t q = 0; q < 2; ++q)
    if (counts[q] > 0) head.centroids[q] = centroid_code(places[q] / counts[q]);
  return Quantiser(head, 0);
}

// Bytes of the gaps before `sent` elements that are spread evenly over `all`: one each, and one for
// every kGapMax elements between two.
double gap_bytes(double sent, double all) {
  if (sent <= 0) return all / kGapMax;
  const double longer = std::pow(std::max(1 - sent / all, 0.0), kGapMax);
  return sent / (1 - longer);
}

// The step beyond which fixed widths leave out more, since magnitudes over the last bin are cut
// off.
double finest_of(std::span<const Bin> bins, double largest) {
  double most = 0, best = largest;
  for (double step = largest; step > largest / kFixedWidest; step /= kTriedFactor) {
    const Quantiser quantiser(head_for(step, Rounding::kTowardsZero, bins), 0);
    const double brought = outside(quantiser, bins).brought;
    if (brought <= most) continue;
    most = brought;
    best = step;
  }
  return best;
}

Cost cost_with(std::span<const Curve* const> curves, std::span<const Bin> bins, double step,
               Rounding rounding) {
  Cost cost;
  for (const Curve* curve : curves) {
    cost.bytes += fixed_bytes_about(*curve, step);
    for (const PieceCurve& piece : *curve)
      cost.missing_energy += piece.missing_energy(reaching(piece, step));
  }
  cost.missing_energy += outside(quantiser_for(step, rounding, bins), bins).left;
  return cost;
}

}  // namespace

double fixed_bytes_about(const Curve& curve, double step) {
  constexpr double kValueBytes = 0.5;
  double all_sent = 0, gaps = 0;
  for (const PieceCurve& piece : curve) {
    const double sent = reaching(piece, step);
    all_sent += sent;
    gaps += gap_bytes(sent, piece.size);
  }
  return all_sent > 0 ? kHeadBytes + kValueBytes * all_sent + gaps : 0;
}

StepCosts fixed_costs(std::span<const Curve* const> curves, Rounding rounding) {
  StepCosts costs = entropy_costs(curves, rounding);
  if (costs.largest == 0) return costs;
  std::vector<Bin> bins = bins_of(curves, costs.largest);
  costs.finest = finest_of(bins, costs.largest);
  costs.of = [its = std::vector(curves.begin(), curves.end()), bins = std::move(bins),
              rounding](double step) { return cost_with(its, bins, step, rounding); };
  return costs;
}

}  // namespace kimesh::dzq
