// Kimad+ (Xin, Ilin, Yang, Canini, Richtárik: Kimad, 2023), in two steps.
//
// Among messages: a link carries M messages in a phase, and has M budgets for them. Those whose
// curves are known share theirs: one threshold over all their elements says which are sent, every
// message has its floor, and none takes more than what all of it costs dense, or than the hops of
// its path have time for (in a ring one budget: what one message takes longer all wait for). A
// message without a curve has one budget. So has every message while the link's rate is
// only a lower bound: there a budget says how much may be risked, and risk is not passed on.
//
// Among the layers of a message, `allocator` says how:
// - threshold: topk takes the largest elements of the message wherever they are, once every layer
//   has its floor (Allocation::kGlobal). An element costs 8 bytes everywhere, so this is the
//   optimum, of the true difference and not of the last curve.
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
// One layer's, in any order; never empty.
using Menu = std::vector<MenuItem>;

// Which item of each menu to take so that Σ error is least and Σ cost <= budget. What the items
// cost above the cheapest of their menu is counted in `bins` equal parts of what the budget holds
// above all the cheapest, and rounded up: the budget is never passed, and where those costs are
// whole bins the answer is the optimum (errors are added in float32). What rounding left over is
// then spent on single better items. Where the budget does not hold them, the cheapest are taken.
// Requires bins >= 1. Time O(menus · items · bins), memory 4 · menus · bins bytes.
[[nodiscard]] std::vector<std::uint32_t> knapsack(std::span<const Menu> menus, double budget,
                                                  unsigned bins);

// Shares (Setting::shares) of `keep` elements among the pieces of a message by knapsack, over menus
// of at most `ratios` items a piece: its part of `floor` (share_out), then counts on a geometric
// grid up to all of it, in whole bins where a bin has one element or more. What is left over goes
// to where the curve falls steepest. Sums to keep. Requires floor <= keep <= the sum of the sizes.
[[nodiscard]] std::vector<std::uint32_t> knapsack_shares(const Curve& curve, std::uint32_t keep,
                                                         std::uint32_t floor,
                                                         std::uint32_t rotation, unsigned ratios,
                                                         unsigned bins);

}  // namespace kimesh
