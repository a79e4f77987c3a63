#include "kimesh/bandwidth/sample.h"

#include <algorithm>

namespace kimesh {

std::size_t chunk_count(std::size_t bytes) {
  if (bytes > kChunksPerMessage * kChunkBytesMax)
    return (bytes + kChunkBytesMax - 1) / kChunkBytesMax;
  return std::clamp<std::size_t>(bytes / kChunkBytesMin, 1, kChunksPerMessage);
}

}  // namespace kimesh
