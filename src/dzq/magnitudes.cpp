#include "magnitudes.h"

namespace kimesh::dzq {

MagnitudeCounts::MagnitudeCounts(std::span<const float> values) {
  constexpr std::uint32_t kMagnitudeBits = 0x7fffffff;
  for (const float value : values)
    ++reaching_[(std::bit_cast<std::uint32_t>(value) & kMagnitudeBits) >> kShift];
  for (std::size_t bin = kBins; bin-- > 0;) {
    if (end_ == 0 && reaching_[bin] > 0) end_ = bin + 1;
    reaching_[bin] += reaching_[bin + 1];
  }
}

MagnitudeCounts::Bin MagnitudeCounts::of_rank(std::size_t rank) const {
  const auto reached = [&](std::uint32_t count) { return count >= rank; };
  const auto fewer = std::ranges::partition_point(reaching_, reached);
  const auto bin = static_cast<std::size_t>(fewer - reaching_.begin()) - 1;
  return {static_cast<float>(edge(bin)), static_cast<float>(edge(bin + 1)), *fewer};
}

double MagnitudeCounts::at_least(double magnitude) const {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(magnitude));
  const std::size_t bin = std::min<std::size_t>(bits >> kShift, kBins - 1);
  const double above = reaching_[bin + 1], own = reaching_[bin] - reaching_[bin + 1];
  const double low = edge(bin), high = edge(bin + 1);
  return above + own * std::clamp((high - magnitude) / (high - low), 0.0, 1.0);
}

}  // namespace kimesh::dzq
