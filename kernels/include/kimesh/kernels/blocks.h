// Several passes over vectors, a block at a time.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kimesh/kernels/memory.h"

namespace kimesh::kernels {

// Calls pass(begin, size) for each block of [0, size), in order. On the host what a block's passes
// share stays in the core's cache. A device has one block, since each pass is launched anew.
template <typename Pass>
void for_each_block(const Memory& memory, std::size_t size, Pass pass) {
  constexpr std::size_t kHostBlock = 2048;  // floats: four blocks are a core's 32 KiB of L1
  const std::size_t block = memory.on_host() ? kHostBlock : size;
  for (std::size_t begin = 0; begin < size; begin += block)
    pass(begin, std::min(block, size - begin));
}

}  // namespace kimesh::kernels
