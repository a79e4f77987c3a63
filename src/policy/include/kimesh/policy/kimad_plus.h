// Kimad+ (Xin, Ilin, Yang, Canini, Richtárik: Kimad, 2023), in two steps.
//
// Among messages: a link carries M messages in a phase, and has M budgets for them. The messages
// whose curves are known share their budgets as the codec divides them (Codec::divide): topk has
// one threshold over the elements of all of them. Every message keeps its floor. None takes more
// than all of it costs dense, nor more than the slots of its route have time for; in a ring that is
// one budget, since all messages wait for the longest. A message without a curve has one budget. So
// has every message while the link's rate is only a lower bound: then a budget limits a risk, and
// risk is not shared.
//
// Among the layers of a message, `allocator` says how:
// - threshold: topk takes the largest elements of the message wherever they are, once every layer
//   has its floor (Allocation::kGlobal). Every element costs the same, so that this is the optimum,
//   for the difference itself and not for the curve of the last message.
// - knapsack: the paper's dynamic program over a menu of K ratios a layer and a budget in D bins.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kimesh/codec/allocation.h"
#include "kimesh/codec/curve.h"

namespace kimesh {

// One way to send a layer.
struct MenuItem {
  double cost = 0;   // >= 0, in any unit
  double error = 0;  // >= 0
};
// The ways to send one layer, in any order. Never empty.
using Menu = std::vector<MenuItem>;

// Chooses an item of each menu so that Σ error is least and Σ cost <= budget, by dynamic
// programming. The budget above the cheapest items is divided into `bins` equal parts, and what an
// item costs above the cheapest of its menu is rounded up to whole bins: the budget is never
// passed, and the choice is optimal where all these costs are whole bins (errors are added in
// float32). The rest that rounding leaves is spent on single better items. Where the budget does
// not hold the cheapest items, these are chosen. Requires bins >= 1. Time O(menus · items · bins);
// memory 4 · menus · bins bytes.
[[nodiscard]] std::vector<std::uint32_t> knapsack(std::span<const Menu> menus, double budget,
                                                  unsigned bins);

// Divides `keep` elements among the pieces of a message (Setting::shares) by knapsack. The menu of
// a piece has at most `ratios` items: its part of `floor` (share_out), then numbers of elements on
// a geometric grid up to all of the piece, in whole bins where a bin holds an element or more.
// Elements that are left over go where the curve is steepest. The shares sum to `keep`. Requires
// floor <= keep <= the sum of the sizes.
[[nodiscard]] std::vector<std::uint32_t> knapsack_shares(const Curve& curve, std::uint32_t keep,
                                                         std::uint32_t floor,
                                                         std::uint32_t rotation, unsigned ratios,
                                                         unsigned bins);

}  // namespace kimesh
