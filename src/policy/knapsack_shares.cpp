// Divides elements among layers by knapsack, with menus that are read from the curves.
#include <algorithm>
#include <cmath>
#include <queue>

#include "kimesh/codec/allocation.h"
#include "kimesh/policy/kimad_plus.h"
#include "kimesh/util/check.h"

namespace kimesh {
namespace {

// The number of elements of a curve that are not 0, rounded up.
std::uint32_t nonzeros(const PieceCurve& curve) {
  const double count = curve.points.empty() ? 0 : std::ceil(curve.points.back().kept);
  return std::min(curve.size, static_cast<std::uint32_t>(count));
}

// The numbers of elements of a layer that are on its menu; the floor is the first.
std::vector<std::uint32_t> counts_of(const PieceCurve& curve, std::uint32_t floor,
                                     std::uint32_t left, unsigned ratios, unsigned bins) {
  std::vector<std::uint32_t> counts{floor};
  const std::uint32_t most = nonzeros(curve);
  if (most <= floor || left == 0 || ratios < 2) return counts;
  const double top = std::min(most - floor, left);
  const double bin = static_cast<double>(left) / bins;
  const double least = std::min(std::max(bin, 1.0), top);
  const double step = ratios > 2 ? std::pow(top / least, 1.0 / (ratios - 2)) : 1;
  for (unsigned i = 0; i + 1 < ratios; ++i) {
    const bool last = i + 2 == ratios;
    double above = last ? top : least * std::pow(step, i);
    // Whole bins lose nothing to rounding. The whole layer stays on the menu unrounded.
    if (bin >= 1 && above >= bin && !last) above = std::floor(above / bin) * bin;
    const std::uint32_t count = floor + static_cast<std::uint32_t>(above);
    if (count > counts.back()) counts.push_back(count);
  }
  return counts;
}

// Gives `left` elements to the layers whose curve is steepest at their present number.
void give(const Curve& curve, std::uint32_t left, std::vector<std::uint32_t>& shares) {
  struct Offer {
    double each = 0;
    std::size_t layer = 0;
    std::uint32_t until = 0;  // elements up to this number are worth `each`
    bool operator<(const Offer& other) const { return each < other.each; }
  };
  std::priority_queue<Offer> offers;
  const auto offer = [&](std::size_t l) {
    const auto& points = curve[l].points;
    const auto after =
        std::ranges::upper_bound(points, static_cast<double>(shares[l]), {}, &CurvePoint::kept);
    if (after == points.begin() || after == points.end()) return;
    const CurvePoint &high = *(after - 1), &low = *after;
    const double each = (high.missing_energy - low.missing_energy) / (low.kept - high.kept);
    const auto until = static_cast<std::uint32_t>(std::ceil(low.kept));
    offers.push({each, l, std::min(until, curve[l].size)});
  };
  for (std::size_t l = 0; l < curve.size(); ++l) offer(l);
  for (; left > 0 && !offers.empty();) {
    const Offer best = offers.top();
    offers.pop();
    const std::uint32_t more = std::min(left, best.until - shares[best.layer]);
    shares[best.layer] += more;
    left -= more;
    if (more > 0) offer(best.layer);
  }
  // Only zeros are left, as the last round measured them.
  for (std::size_t l = 0; l < curve.size() && left > 0; ++l) {
    const std::uint32_t more = std::min(left, curve[l].size - shares[l]);
    shares[l] += more;
    left -= more;
  }
}

}  // namespace

std::vector<std::uint32_t> knapsack_shares(const Curve& curve, std::uint32_t keep,
                                           std::uint32_t floor, std::uint32_t rotation,
                                           unsigned ratios, unsigned bins) {
  std::vector<Piece> pieces;
  std::size_t offset = 0;
  for (const PieceCurve& piece : curve) {
    pieces.push_back({offset, piece.size});
    offset += piece.size;
  }
  KIMESH_CHECK(floor <= keep && keep <= offset, "at least the floor is kept, and at most all");
  std::vector<std::uint32_t> shares(curve.size());
  share_out(floor, rotation, pieces, shares);
  std::vector<std::vector<std::uint32_t>> counts;
  std::vector<Menu> menus;
  for (std::size_t l = 0; l < curve.size(); ++l) {
    counts.push_back(counts_of(curve[l], shares[l], keep - floor, ratios, bins));
    Menu& menu = menus.emplace_back();
    for (const std::uint32_t count : counts[l])
      menu.push_back({static_cast<double>(count), curve[l].missing_energy(count)});
  }
  const std::vector<std::uint32_t> choice = knapsack(menus, keep, bins);
  std::uint32_t left = keep;
  for (std::size_t l = 0; l < curve.size(); ++l) left -= shares[l] = counts[l][choice[l]];
  give(curve, left, shares);
  return shares;
}

}  // namespace kimesh
