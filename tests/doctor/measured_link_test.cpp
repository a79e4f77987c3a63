#include "src/doctor/measured_link.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace kimesh::measured_link_test {
namespace {

// What a link of so many bytes/s with a fixed cost tells of a message.
LinkSample sample_of(std::size_t bytes, double bytes_per_s, Duration fixed) {
  LinkSample sample;
  sample.bytes = bytes;
  sample.chunks = static_cast<std::uint16_t>(chunk_count(bytes));
  sample.elapsed = fixed + from_seconds(static_cast<double>(bytes) / bytes_per_s);
  sample.tail_bytes = bytes / 2;
  sample.tail_time = from_seconds(static_cast<double>(bytes / 2) / bytes_per_s);
  sample.round_trip = fixed;
  return sample;
}

struct Measured {
  LinkSpeed speed;
  double seconds = 0;
};
Measured measure(double bytes_per_s, Duration fixed) {
  MeasuredLink link;
  Measured measured;
  while (const auto size = link.next_payload()) {
    EXPECT_LE(*size, kProbePayloadMax);
    link.sent();
    const LinkSample sample = sample_of(*size, bytes_per_s, fixed);
    measured.seconds += to_seconds(sample.elapsed);
    link.acked(sample);
  }
  measured.speed = link.speed();
  return measured;
}

// Seen to fail where the time of the next message did not count.
TEST(MeasuredLink, TellsTheRateOfSlowAndFastLinksWithinSeconds) {
  using std::chrono::microseconds;
  for (const double rate : {6e3, 125e3, 12.5e6, 1.25e9})
    for (const Duration fixed : {Duration(microseconds(50)), Duration(microseconds(20'000))}) {
      const Measured measured = measure(rate, fixed);
      EXPECT_NEAR(measured.speed.bytes_per_s / rate, 1, 0.1) << rate;
      EXPECT_LT(measured.seconds, 8) << rate;
      EXPECT_EQ(measured.speed.round_trip, fixed);
    }
}

TEST(MeasuredLink, EndsThoughNothingIsMeasured) {
  MeasuredLink link;
  unsigned messages = 0;
  while (link.next_payload() && messages < 1'000) {
    link.sent();
    link.acked(std::nullopt);
    ++messages;
  }
  EXPECT_LT(messages, 20u);
  EXPECT_EQ(link.speed().bytes_per_s, 0);
}

TEST(ProbeContent, ComesBackAndTakesNothingThatCannotBe) {
  const ProbeContent content{1e9, LinkSpeed{5e6, 0.25, false, std::chrono::milliseconds(3)}};
  const ProbeContent back = ProbeContent::from_control(content.to_control());
  ASSERT_TRUE(back.speed.has_value());
  EXPECT_EQ(back.sent_s, 1e9);
  EXPECT_EQ(back.speed->bytes_per_s, 5e6);
  EXPECT_EQ(back.speed->relative_error, 0.25);
  EXPECT_FALSE(back.speed->lower_bound);
  EXPECT_EQ(back.speed->round_trip, std::chrono::milliseconds(3));
  EXPECT_FALSE(ProbeContent::from_control(ProbeContent{1, {}}.to_control()).speed.has_value());
  for (const double wild : {std::nan(""), std::numeric_limits<double>::infinity(), -1.0, 1e300}) {
    const ProbeContent safe = ProbeContent::from_control({wild, 1, wild, wild, wild, wild});
    EXPECT_TRUE(std::isfinite(safe.sent_s));
    EXPECT_TRUE(std::isfinite(safe.speed->bytes_per_s));
    EXPECT_LE(safe.speed->relative_error, 1);
    EXPECT_GE(safe.speed->round_trip, Duration{0});
  }
}

}  // namespace
}  // namespace kimesh::measured_link_test
