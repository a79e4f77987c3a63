// A part of a vector that gets its own share of the kept elements: the slice of a layer in a shard.
#pragma once

#include <cstddef>

namespace kimesh {

struct Piece {
  std::size_t offset = 0, size = 0;
};

}  // namespace kimesh
