// Random inputs of the compressors' tests.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kimesh/compress/compressor.h"
#include "kimesh/util/random.h"
#include "tests/settings.h"

namespace kimesh {

inline Random stream(std::uint64_t seed) {
  return Random(seed, 0, 0, Purpose::kTest);
}

// Of a kind that the stream draws: gaussian, heavy-tailed, full of ties and zeros, or denormal.
inline std::vector<float> random_vector(Random& random, std::size_t size) {
  const std::uint32_t kind = random.below(4);
  std::vector<float> x(size);
  for (float& value : x) {
    const double normal = random.normal();
    if (kind == 0) value = static_cast<float>(normal);
    if (kind == 1) value = static_cast<float>(normal * std::exp(3 * random.normal()));
    if (kind == 2) value = static_cast<float>(random.below(5)) - 2;
    if (kind == 3) value = std::bit_cast<float>(random.below(1000) | random.below(2) << 31);
  }
  return x;
}

// 1 to 8 pieces, some of a single element, some empty; at least one element in all.
inline std::vector<Piece> random_pieces(Random& random) {
  std::vector<Piece> pieces;
  std::size_t offset = 0;
  for (std::uint32_t l = 0, count = 1 + random.below(8); l < count; ++l) {
    const std::uint32_t sizes[] = {0, 1, random.below(50), random.below(5000)};
    const std::size_t size = sizes[random.below(4)] + (l == 0 ? 1 : 0);
    pieces.push_back({offset, size});
    offset += size;
  }
  return pieces;
}

inline Setting random_topk(Random& random, std::size_t size) {
  const std::uint32_t keep = 1 + random.below(static_cast<std::uint32_t>(size));
  const std::uint32_t few = random.below(3) == 0 ? keep : 1 + keep / 20;
  return topk_setting(few, random.next_u32());
}

}  // namespace kimesh
