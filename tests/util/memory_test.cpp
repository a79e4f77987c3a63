#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <type_traits>

#include "kimesh/util/aligned_buffer.h"
#include "kimesh/util/digest.h"
#include "kimesh/util/result.h"

namespace kimesh::memory_test {
namespace {

TEST(AlignedBuffer, IsAlignedAndZero) {
  for (const std::size_t size : {1u, 15u, 16u, 17u, 1000u}) {
    AlignedBuffer buffer(size);
    ASSERT_EQ(buffer.span().size(), size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.span().data()) % kBufferAlignment, 0u);
    for (const float x : buffer.span()) EXPECT_EQ(x, 0.0f);
  }
}

// Seen to fail with the compiler's own move, which leaves the old size beside a null pointer.
TEST(AlignedBuffer, KeepsItsAddressWhenMovedAndLeavesNothingBehind) {
  static_assert(!std::is_copy_constructible_v<AlignedBuffer>);
  AlignedBuffer from(8);
  const float* address = from.span().data();
  AlignedBuffer to(std::move(from));
  EXPECT_EQ(to.span().data(), address);
  EXPECT_TRUE(from.empty());
  from = std::move(to);
  EXPECT_EQ(from.span().data(), address);
  EXPECT_EQ(from.size(), 8u);
  EXPECT_TRUE(to.empty());
  EXPECT_TRUE(AlignedBuffer().empty());
  EXPECT_TRUE(AlignedBuffer(0).empty());
}

TEST(Result, HoldsAValueOrAnError) {
  const Result<int> good = 3;
  const Result<int> bad = Error{ErrorCode::kIo, "the disk is full"};
  EXPECT_EQ(good.value(), 3);
  EXPECT_EQ(bad.error().message, "the disk is full");
  EXPECT_TRUE(ok_status().ok());
}

// Seen to fail with KIMESH_CHECK switched off by NDEBUG: the release build must keep it.
TEST(ResultDeathTest, SaysWhyWhenTheWrongSideIsAsked) {
  const Result<int> bad = Error{ErrorCode::kIo, "the disk is full"};
  EXPECT_DEATH((void)bad.value(), "value\\(\\) of an error: the disk is full");
  const Result<int> good = 3;
  EXPECT_DEATH((void)good.error(), "error\\(\\) of a value");
}

}  // namespace
}  // namespace kimesh::memory_test
