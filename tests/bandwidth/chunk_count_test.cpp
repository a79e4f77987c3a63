#include <gtest/gtest.h>

#include <algorithm>

#include "kimesh/bandwidth/sample.h"

namespace kimesh::chunk_count_test {
namespace {

TEST(ChunkCount, MakesAboutEightEqualChunksWithinTheBounds) {
  EXPECT_EQ(chunk_count(0), 1u);
  EXPECT_EQ(chunk_count(1'023), 1u);
  EXPECT_EQ(chunk_count(1'024), 2u);
  EXPECT_EQ(chunk_count(4'096), 8u);
  EXPECT_EQ(chunk_count(8 * kChunkBytesMax), 8u);
  EXPECT_EQ(chunk_count(8 * kChunkBytesMax + 1), 9u);
  for (std::size_t bytes = 1; bytes < 3'000'000; bytes += 997) {
    const std::size_t chunks = chunk_count(bytes);
    EXPECT_LE((bytes + chunks - 1) / chunks, kChunkBytesMax);
    EXPECT_GE(bytes / chunks, std::min(bytes, kChunkBytesMin));
  }
}

}  // namespace
}  // namespace kimesh::chunk_count_test
