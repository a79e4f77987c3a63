#include "kimesh/bandwidth/sending_pace.h"

#include <gtest/gtest.h>

namespace kimesh::sending_pace_test {
namespace {

constexpr double kRate = 1e6;  // bytes/s

// A message whose tail had this rate.
LinkSample message(double bytes_per_s, double tail_s = 0.01) {
  LinkSample sample;
  sample.bytes = 40'000;
  sample.tail_time = from_seconds(tail_s);
  sample.tail_bytes = static_cast<std::size_t>(bytes_per_s * tail_s);
  return sample;
}

TEST(SendingPace, IsALittleMoreThanWhatTheLinkIsBelievedToCarry) {
  EXPECT_DOUBLE_EQ(SendingPace().of(kRate), SendingPace::kHeadroomMin * kRate);
  EXPECT_EQ(SendingPace().of(0), 0);
}

// Seen to fail where the first message that is carried at its pace doubles the headroom.
TEST(SendingPace, GrowsOnceSeveralMessagesInARowWereCarriedAtIt) {
  SendingPace pace;
  for (int i = 0; i < 2; ++i) pace.add(message(kRate), kRate);
  EXPECT_DOUBLE_EQ(pace.of(kRate), 1.05 * kRate) << "two may be chance";
  pace.add(message(kRate), kRate);
  EXPECT_DOUBLE_EQ(pace.of(kRate), 1.1 * kRate);
  for (int i = 0; i < 9; ++i) pace.add(message(kRate), kRate);
  EXPECT_DOUBLE_EQ(pace.of(kRate), SendingPace::kHeadroomMax * kRate);
}

// Seen to fail where the headroom stays.
TEST(SendingPace, IsSmallAgainOnceAMessageMetOthers) {
  SendingPace pace;
  for (int i = 0; i < 9; ++i) pace.add(message(kRate), kRate);
  pace.add(message(0.9 * kRate), kRate);
  EXPECT_DOUBLE_EQ(pace.of(kRate), SendingPace::kHeadroomMin * kRate);
}

TEST(SendingPace, LearnsNothingFromMessagesWithoutOneAndFromShortTails) {
  SendingPace pace;
  for (int i = 0; i < 9; ++i) {
    pace.add(message(kRate), 0);
    pace.add(message(kRate, 0.001), kRate);
    LinkSample limited = message(kRate);
    limited.sender_limited = true;
    pace.add(limited, kRate);
  }
  EXPECT_DOUBLE_EQ(pace.of(kRate), SendingPace::kHeadroomMin * kRate);
}

}  // namespace
}  // namespace kimesh::sending_pace_test
