// Max-min fair sharing of capacities. Emulated links are shared by it, and a node's budgets expect
// it of the links that share the node's cap.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace kimesh {

inline constexpr std::uint32_t kNoGroup = 0xffffffff;

// A flow that can use at most `cap` and crosses up to two shared capacities (its node's uplink, the
// far node's downlink).
struct Flow {
  double cap = 0;  // any unit, the same as the groups'; infinity allowed
  std::array<std::uint32_t, 2> groups{kNoGroup, kNoGroup};
  double weight = 1;  // > 0: what it takes of a capacity that is full, beside others of weight 1
};

// Progressive filling (Bertsekas and Gallager, "Data Networks", 6.5.2): rates rise together until a
// cap or a group is full, each in proportion to its weight. Shapes: rates [flows]. O(flows · rounds
// of filling).
void max_min_shares(std::span<const Flow> flows, std::span<const double> group_capacity,
                    std::span<double> rates);

}  // namespace kimesh
