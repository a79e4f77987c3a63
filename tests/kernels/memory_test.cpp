#include "kimesh/kernels/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace kimesh::kernels::memory_test {
namespace {

TEST(HostMemory, GivesZeroedFloatsThatKeepTheirAddress) {
  Memory& memory = host_memory();
  auto made = memory.allocate(1000);
  ASSERT_TRUE(made.ok());
  const MemorySpan floats = made->floats();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(floats.data) % 64, 0u);
  EXPECT_TRUE(std::ranges::all_of(memory.view(floats), [](float x) { return x == 0; }));
  const MemoryBuffer moved = std::move(*made);
  EXPECT_EQ(moved.floats().data, floats.data);
  EXPECT_TRUE(made->empty());
  EXPECT_TRUE(memory.allocate(0)->empty());
}

// What a node does whose objective works in the memory itself: nothing is copied, nothing lost.
TEST(HostMemory, TakesAnUploadOfItsOwnFloatsForWhatItIs) {
  Memory& memory = host_memory();
  std::vector<float> x{1, 2, 3};
  memory.upload(x, MemorySpan(x));
  ASSERT_TRUE(memory.download(ConstMemorySpan(x), x).ok());
  EXPECT_EQ(x, (std::vector<float>{1, 2, 3}));
}

// Seen to fail with the floor left among what the rest is selected from.
TEST(HostMemory, SelectsTheFloorAndThenTheLargestOfTheRest) {
  const std::vector<float> target{9, 8, 7, 6, 1, 2, -5, 0};
  std::vector<float> estimate(8);
  const std::vector<Quota> floor{{0, 4, 1}, {4, 4, 1}};
  SelectScratch scratch;
  Entries entries;
  const DifferencePass pass{ConstMemorySpan(target), MemorySpan(estimate), floor, scratch, true};
  const auto result = host_memory().select_largest(pass, 4, entries);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(std::vector<std::uint32_t>(entries.indices.begin(), entries.indices.end()),
            (std::vector<std::uint32_t>{0, 1, 2, 6}));
  EXPECT_EQ(estimate, (std::vector<float>{9, 8, 7, 0, 0, 0, -5, 0}));
  EXPECT_EQ(result->added.removed, 81 + 64 + 49 + 25);
}

TEST(HostMemory, LeavesTheEstimateAloneWhereADifferenceIsNotFinite) {
  const std::vector<float> target{1, 3e38f};
  std::vector<float> estimate{0, -3e38f};
  const std::vector<Quota> all{{0, 2, 2}};
  SelectScratch scratch;
  Entries entries;
  const DifferencePass pass{ConstMemorySpan(target), MemorySpan(estimate), all, scratch, true};
  for (const auto& result : {host_memory().select_largest(pass, 0, entries),
                             host_memory().select_reaching(pass, 1, entries)}) {
    ASSERT_TRUE(result.ok());
    EXPECT_FALSE(result->energies.finite());
    EXPECT_EQ(estimate, (std::vector<float>{0, -3e38f}));
  }
}

}  // namespace
}  // namespace kimesh::kernels::memory_test
