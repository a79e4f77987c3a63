#include <algorithm>
#include <cmath>
#include <limits>

#include "kimesh/policy/kimad_plus.h"
#include "kimesh/util/check.h"

namespace kimesh {
namespace {

std::uint32_t cheapest_of(const Menu& menu) {
  const auto less = [](const MenuItem& a, const MenuItem& b) {
    return a.cost < b.cost || (a.cost == b.cost && a.error < b.error);
  };
  return static_cast<std::uint32_t>(std::ranges::min_element(menu, less) - menu.begin());
}

// Computes, for each number of bins, the least error with one more menu. Most of the time is spent
// here: a plain loop over plain arrays, which the compiler vectorises. The chosen items are not
// stored, which would double the work; the way back finds them again.
void offer(std::size_t cost, float item_error, std::span<const float> before,
           std::span<float> after) {
  const std::size_t count = after.size() - cost;
  const float* __restrict const from = before.data();
  float* __restrict const best = after.data() + cost;
  for (std::size_t b = 0; b < count; ++b) {
    const float offered = from[b] + item_error;
    best[b] = offered < best[b] ? offered : best[b];
  }
}

// The bins that an item costs above the cheapest. The product comes before the one division, so
// that whole bins stay whole.
std::size_t bins_of(double above_cheapest, double left, unsigned bins) {
  const auto count = static_cast<std::size_t>(std::ceil(above_cheapest * bins / left));
  return above_cheapest <= left ? std::min<std::size_t>(count, bins) : count;
}

// Takes single better items while the budget holds one, the one that saves most error for its cost
// first.
void spend_the_rest(std::span<const Menu> menus, double rest, std::vector<std::uint32_t>& choice) {
  struct Offer {
    double worth = 0;  // error saved per cost; 0: none
    std::uint32_t item = 0;
    double cost = 0;
  };
  const auto best_of = [&](std::size_t l) {
    Offer best;
    const MenuItem& now = menus[l][choice[l]];
    for (std::size_t i = 0; i < menus[l].size(); ++i) {
      const double cost = menus[l][i].cost - now.cost, saved = now.error - menus[l][i].error;
      if (saved <= 0 || cost > rest) continue;
      const double worth = cost > 0 ? saved / cost : std::numeric_limits<double>::infinity();
      if (worth > best.worth) best = {worth, static_cast<std::uint32_t>(i), cost};
    }
    return best;
  };
  std::vector<Offer> offers(menus.size());
  for (std::size_t l = 0; l < menus.size(); ++l) offers[l] = best_of(l);
  while (!offers.empty()) {
    const auto best = std::ranges::max_element(offers, {}, &Offer::worth);
    if (best->worth <= 0) return;
    const auto l = static_cast<std::size_t>(best - offers.begin());
    if (best->cost <= rest) {
      choice[l] = best->item;
      rest -= best->cost;
    }
    offers[l] = best_of(l);
  }
}

}  // namespace

std::vector<std::uint32_t> knapsack(std::span<const Menu> menus, double budget, unsigned bins) {
  KIMESH_CHECK(bins >= 1, "a budget of bins");
  std::vector<std::uint32_t> choice(menus.size());
  double left = budget;
  for (std::size_t l = 0; l < menus.size(); ++l) {
    KIMESH_CHECK(!menus[l].empty(), "an item on each menu");
    choice[l] = cheapest_of(menus[l]);
    left -= menus[l][choice[l]].cost;
  }
  if (left < 0) return choice;
  const std::size_t width = std::size_t{bins} + 1;
  std::vector<float> best((menus.size() + 1) * width, std::numeric_limits<float>::infinity());
  const auto row = [&](std::size_t l) { return std::span(best).subspan(l * width, width); };
  const auto bins_above_cheapest = [&](std::size_t l, const MenuItem& item) {
    const double above = item.cost - menus[l][choice[l]].cost;
    if (above > left) return width;
    return above > 0 ? bins_of(above, left, bins) : std::size_t{0};
  };
  std::ranges::fill(row(0), 0.0f);
  for (std::size_t l = 0; l < menus.size(); ++l)
    for (const MenuItem& item : menus[l])
      if (const std::size_t cost = bins_above_cheapest(l, item); cost < width)
        offer(cost, static_cast<float>(item.error), row(l), row(l + 1));
  for (std::size_t l = menus.size(), bin = bins; l-- > 0;) {
    const auto made_it = [&](const MenuItem& item) {
      const std::size_t cost = bins_above_cheapest(l, item);
      return cost <= bin && row(l)[bin - cost] + static_cast<float>(item.error) == row(l + 1)[bin];
    };
    const auto item = std::ranges::find_if(menus[l], made_it);
    KIMESH_CHECK(item != menus[l].end(), "the item that made the best error of this many bins");
    bin -= bins_above_cheapest(l, *item);
    choice[l] = static_cast<std::uint32_t>(item - menus[l].begin());
  }
  double rest = budget;
  for (std::size_t l = 0; l < menus.size(); ++l) rest -= menus[l][choice[l]].cost;
  spend_the_rest(menus, rest, choice);
  return choice;
}

}  // namespace kimesh
