// The levels of a dead-zone quantiser with one step, for kernels that quantise where the vectors
// are: the arithmetic of dzq::Quantiser (src/compress/dzq_message.h), which is the meaning, on
// plain numbers.
#pragma once

#include <cstdint>

namespace kimesh::kernels {

struct LevelGrid {
  double step = 1, inverse = 1;  // 1 / step, rounded
  double dead_zone = 1;          // magnitudes below it have no level
  double relative_dead_zone = 1;
  double unit = 1;                   // step / 32
  double offsets[3] = {32, 32, 32};  // in units: where levels 0, 1 and all above lie in their bins
  std::uint32_t level_max = 0;

  // Requires a magnitude of at least dead_zone.
  [[nodiscard]] constexpr std::uint32_t level(float magnitude) const {
    const double wanted = static_cast<double>(magnitude) * inverse - relative_dead_zone;
    const double most = level_max;
    const auto level = static_cast<std::uint32_t>(wanted < 0 ? 0 : wanted > most ? most : wanted);
    // The product was rounded, perhaps up to the next level.
    const bool over = level > 0 && dead_zone + step * level > static_cast<double>(magnitude);
    return level - (over ? 1 : 0);
  }
  [[nodiscard]] constexpr float magnitude(std::uint32_t level) const {
    return static_cast<float>(unit * (32.0 * level + offsets[level < 2 ? level : 2]));
  }
};

}  // namespace kimesh::kernels
