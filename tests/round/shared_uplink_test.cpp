#include "src/round/shared_uplink.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kimesh/util/random.h"

namespace kimesh::shared_uplink_test {
namespace {

constexpr std::size_t kLinks = 3;
constexpr double kCapacity = 1.2e6;  // bytes/s

// Messages of 40 ms each, one of each link, that travel at these rates at the same time.
void round_of(SharedUplink& uplink, const std::vector<double>& rates, TimePoint now) {
  for (std::size_t link = 0; link < rates.size(); ++link) {
    LinkSample sample;
    sample.elapsed = std::chrono::milliseconds(40);
    sample.tail_time = std::chrono::milliseconds(20);
    sample.bytes = static_cast<std::size_t>(0.04 * rates[link]);
    sample.tail_bytes = sample.bytes / 2;
    uplink.acked(link, sample, now);
  }
  uplink.end_round();
}

template <typename Rates>
bool found(std::uint64_t seed, Rates rates_of) {
  Random random(seed, 0, 0, Purpose::kTest);
  SharedUplink uplink(kLinks);
  TimePoint now(std::chrono::seconds(1));
  for (int round = 0; round < 40; ++round, now += std::chrono::milliseconds(100))
    round_of(uplink, rates_of(random), now);
  return uplink.is_shared();
}

double unlike(Random& random) {
  return std::exp(0.5 * random.normal());
}

// Unlike parts of one capacity. Seen to fail without other links' bytes.
TEST(SharedUplink, IsFoundWhereOneGainsWhatOthersLose) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed)
    EXPECT_TRUE(found(seed,
                      [](Random& random) {
                        std::vector<double> parts(kLinks);
                        for (double& part : parts) part = unlike(random);
                        const double sum = parts[0] + parts[1] + parts[2];
                        for (double& part : parts) part *= kCapacity / sum;
                        return parts;
                      }))
        << "seed " << seed;
}

// One slow link behind a fast uplink, with rates that are nearly steady: nothing to find. Seen to
// fail where small deviations count.
TEST(SharedUplink, IsNotFoundInLinksOfTheirOwnRates) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed)
    EXPECT_FALSE(found(seed,
                       [](Random& random) {
                         std::vector<double> rates{0.1e6, 1e6, 1e6};
                         for (double& rate : rates) rate *= 1 + 0.02 * random.normal();
                         return rates;
                       }))
        << "seed " << seed;
}

// As the round's budgets grow, or with buckets that fill at the same time. Seen to fail with the
// sign of the correlation left out.
TEST(SharedUplink, IsNotFoundWhereAllLinksRiseAndFallTogether) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed)
    EXPECT_FALSE(found(seed,
                       [](Random& random) {
                         const double all = unlike(random);
                         return std::vector<double>{0.4e6 * all, 0.4e6 * all, 0.4e6 * all};
                       }))
        << "seed " << seed;
}

// A link alone has nobody to share with, and a peer's ack may claim any time.
TEST(SharedUplink, BearsEveryAck) {
  SharedUplink alone(1), two(2);
  LinkSample sample;
  sample.bytes = 1000;
  sample.tail_bytes = 4'000'000'000;
  sample.tail_time = Duration(std::int64_t{1} << 62);
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 1000; ++i) two.acked(static_cast<std::size_t>(i) % 2, sample, TimePoint{});
    two.end_round();
    round_of(alone, {round % 2 == 0 ? 1e5 : 9e5}, TimePoint(std::chrono::seconds(round)));
  }
  EXPECT_FALSE(alone.is_shared());
}

}  // namespace
}  // namespace kimesh::shared_uplink_test
