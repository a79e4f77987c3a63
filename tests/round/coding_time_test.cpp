#include "src/round/coding_time.h"

#include <gtest/gtest.h>

namespace kimesh::coding_time_test {
namespace {

constexpr double kFixed = 2e-3, kPerByte = 1e-7;

CodingTime of(std::initializer_list<double> sizes) {
  CodingTime time;
  for (const double bytes : sizes) time.add(bytes, kFixed + kPerByte * bytes);
  return time;
}

// Seen to fail with the time of all over the bytes, which is ten times as much for 2 kB.
TEST(CodingTime, LeavesOutWhatEveryMessageTakes) {
  EXPECT_EQ(CodingTime().per_byte(), 0);
  EXPECT_NEAR(of({2e3, 3e3, 5e3, 9e3}).per_byte(), kPerByte, 1e-12);
  EXPECT_NEAR(of({2e3, 2e3, 2e3, 2e3, 9e3, 2e3, 2e3, 2e3}).per_byte(), kPerByte, 1e-12);
}

// Seen to fail where pairs of any sizes count, and where one slope is enough.
TEST(CodingTime, IsThatOfAllBytesWhereSizesTellNothing) {
  EXPECT_DOUBLE_EQ(of({4e3}).per_byte(), kFixed / 4e3 + kPerByte);
  EXPECT_DOUBLE_EQ(of({2e3, 9e3}).per_byte(), kFixed / 9e3 + kPerByte) << "the lower of two";
  CodingTime alike;
  for (int i = 0; i < 8; ++i) alike.add(4e3 + i, i % 2 == 0 ? 1e-3 : 2e-3);
  EXPECT_NEAR(alike.per_byte(), 1e-3 / 4e3, 1e-9);
}

// Seen to fail without the bounds, and with the time of all bytes.
TEST(CodingTime, IsNotMovedByAMessageThatWaitedForACore) {
  CodingTime time = of({2e3, 3e3, 4e3, 6e3, 7e3, 9e3, 12e3});
  time.add(5e3, 30e-3);
  EXPECT_NEAR(time.per_byte(), kPerByte, kPerByte / 3);
  CodingTime falling;
  for (const double bytes : {1e3, 2e3, 3e3, 4e3}) falling.add(bytes, 1e-3 - 1e-7 * bytes);
  EXPECT_EQ(falling.per_byte(), 0);
}

}  // namespace
}  // namespace kimesh::coding_time_test
