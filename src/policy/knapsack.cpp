#include <algorithm>
#include <cmath>
#include <limits>

#include "kimesh/policy/kimad_plus.h"
#include "kimesh/util/check.h"

namespace kimesh {
namespace {

constexpr std::size_t kMenuItemsMax = 256;  // a choice is held in a byte

std::uint32_t cheapest_of(const Menu& menu) {
  const auto less = [](const MenuItem& a, const MenuItem& b) {
    return a.cost < b.cost || (a.cost == b.cost && a.error < b.error);
  };
  return static_cast<std::uint32_t>(std::ranges::min_element(menu, less) - menu.begin());
}

// One row of the program: for each number of bins the best error with one more menu, and which item
// that takes. Plain arrays, so that the compiler makes vectors of it: this is where the time goes.
struct Row {
  std::vector<float> error;
  std::vector<std::int32_t> item;

  void offer(std::size_t cost, float item_error, std::int32_t number, const Row& before) {
    const std::size_t count = error.size() - cost;
    const float* const from = before.error.data();
    float* const best = error.data() + cost;
    std::int32_t* const taken = item.data() + cost;
    for (std::size_t b = 0; b < count; ++b) {
      const float offered = from[b] + item_error;
      const bool better = offered < best[b];
      best[b] = better ? offered : best[b];
      taken[b] = better ? number : taken[b];
    }
  }
};

// Bins that an item costs above the cheapest. A product of whole numbers before one division: whole
// bins stay whole.
std::size_t bins_of(double above_cheapest, double left, unsigned bins) {
  return static_cast<std::size_t>(std::ceil(above_cheapest * bins / left));
}

// Takes single better items while the budget holds one: the most error for the cost first.
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
    KIMESH_CHECK(!menus[l].empty() && menus[l].size() <= kMenuItemsMax, "1 to 256 items a menu");
    choice[l] = cheapest_of(menus[l]);
    left -= menus[l][choice[l]].cost;
  }
  if (left < 0) return choice;
  const std::size_t width = std::size_t{bins} + 1;
  Row before{std::vector<float>(width), std::vector<std::int32_t>(width)}, row = before;
  std::vector<std::uint8_t> taken(menus.size() * width);
  const auto bins_above_cheapest = [&](std::size_t l, std::size_t i, std::uint32_t cheapest) {
    const double above = menus[l][i].cost - menus[l][cheapest].cost;
    if (above > left) return width;
    return above > 0 ? bins_of(above, left, bins) : std::size_t{0};
  };
  for (std::size_t l = 0; l < menus.size(); ++l) {
    std::ranges::fill(row.error, std::numeric_limits<float>::infinity());
    for (std::size_t i = 0; i < menus[l].size(); ++i)
      if (const std::size_t cost = bins_above_cheapest(l, i, choice[l]); cost < width)
        row.offer(cost, static_cast<float>(menus[l][i].error), static_cast<std::int32_t>(i),
                  before);
    std::ranges::transform(row.item, taken.begin() + static_cast<std::ptrdiff_t>(l * width),
                           [](std::int32_t item) { return static_cast<std::uint8_t>(item); });
    std::swap(before, row);
  }
  std::size_t bin = bins;
  for (std::size_t l = menus.size(); l-- > 0;) {
    const std::uint32_t item = taken[l * width + bin];
    bin -= bins_above_cheapest(l, item, choice[l]);
    choice[l] = item;
  }
  double rest = budget;
  for (std::size_t l = 0; l < menus.size(); ++l) rest -= menus[l][choice[l]].cost;
  spend_the_rest(menus, rest, choice);
  return choice;
}

}  // namespace kimesh
