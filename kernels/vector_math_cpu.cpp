#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "kernels/vector_math.h"
#include "kimesh/util/check.h"

namespace kimesh::kernels {
namespace {

constexpr std::uint32_t kMagnitudeBits = 0x7fffffff;
constexpr std::uint32_t kInfinityBits = 0x7f800000;  // NaN: above
constexpr std::size_t kLanes = 8;
// Three blocks of floats stay in the first-level cache while several loops walk them.
constexpr std::size_t kBlock = 2048;
static_assert(kBlock % kLanes == 0, "a block begins in lane 0");

// Element j of a vector always goes to lane j % 8, and the lanes are added in one order.
class LaneSum {
 public:
  void add_squares(std::span<const float> x) {  // the elements before these filled whole lanes
    const std::size_t whole = x.size() / kLanes * kLanes;
    add_lanes(x.first(whole));
    if (whole == x.size()) return;
    std::array<float, kLanes> tail{};  // zeros change no sum
    std::ranges::copy(x.subspan(whole), tail.begin());
    add_lanes(tail);
  }
  [[nodiscard]] double total() const {
    return ((lanes_[0] + lanes_[1]) + (lanes_[2] + lanes_[3])) +
           ((lanes_[4] + lanes_[5]) + (lanes_[6] + lanes_[7]));
  }

 private:
  void add_lanes(std::span<const float> x) {
    std::array<double, kLanes> lanes = lanes_;  // a copy, so that the sums stay in registers
    for (std::size_t i = 0; i < x.size(); i += kLanes)
      for (std::size_t j = 0; j < kLanes; ++j)
        lanes[j] += static_cast<double>(x[i + j]) * static_cast<double>(x[i + j]);
    lanes_ = lanes;
  }

  std::array<double, kLanes> lanes_{};
};

bool is_finite(float x) {
  return (std::bit_cast<std::uint32_t>(x) & kMagnitudeBits) < kInfinityBits;
}

// As is_finite for all at once, in a form that every compiler vectorises: what reaches infinity
// carries into the top bit.
bool all_finite(std::span<const float> x) {
  std::uint32_t carry = 0;
  for (const float value : x)
    carry |= (std::bit_cast<std::uint32_t>(value) & kMagnitudeBits) + (0x80000000 - kInfinityBits);
  return carry >> 31 == 0;
}

}  // namespace

double energy(std::span<const float> x) {
  LaneSum sum;
  sum.add_squares(x);
  return sum.total();
}

std::optional<std::size_t> first_not_finite(std::span<const float> x) {
  for (std::size_t begin = 0; begin < x.size(); begin += kBlock) {
    const auto block = x.subspan(begin, std::min(kBlock, x.size() - begin));
    if (all_finite(block)) continue;
    const auto found = std::ranges::find_if_not(block, is_finite);
    return begin + static_cast<std::size_t>(found - block.begin());
  }
  return std::nullopt;
}

Difference subtract(std::span<const float> target, std::span<const float> estimate,
                    std::span<float> difference) {
  KIMESH_CHECK(target.size() == estimate.size() && target.size() == difference.size(),
               "a difference has the size of both sides");
  LaneSum wanted, missing;
  bool finite = true;
  for (std::size_t begin = 0; begin < target.size(); begin += kBlock) {
    const std::size_t size = std::min(kBlock, target.size() - begin);
    const float* t = target.data() + begin;
    const float* e = estimate.data() + begin;
    float* d = difference.data() + begin;
    for (std::size_t j = 0; j < size; ++j) d[j] = t[j] - e[j];
    finite &= all_finite({d, size});
    wanted.add_squares({t, size});
    missing.add_squares({d, size});
  }
  return {finite, wanted.total(), missing.total()};
}

}  // namespace kimesh::kernels
