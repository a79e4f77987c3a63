// A part of the vector that gets its own share of the kept elements: a layer's slice of a shard.
#pragma once

#include <cstddef>

namespace kimesh {

struct Piece {
  std::size_t offset = 0, size = 0;
};

}  // namespace kimesh
