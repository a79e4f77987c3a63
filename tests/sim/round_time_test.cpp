// policy: auto, where the mesh searches for its round time.
#include <gtest/gtest.h>

#include <algorithm>

#include "kimesh/compress/codecs.h"
#include "kimesh/config/options_of_text.h"
#include "kimesh/util/digest.h"
#include "tests/quadratic_mesh/mesh.h"

namespace kimesh::test::round_time_test {
namespace {

constexpr const char* kKinds[] = {"ring", "parameter_server", "tree", "graph"};
constexpr Round kRounds = 80;

MeshSpec searching(const std::string& kind, double rate_bits_per_s) {
  MeshSpec spec = auto_spec(kind);
  spec.nodes = 4;
  spec.rate_bits_per_s = rate_bits_per_s;
  spec.core.stop_rounds = kRounds;
  return spec;
}

double exchange_s(const Mesh& mesh, Round round) {
  return mesh.reports[0][round].verdict.exchange_s;
}

// Seen to fail with a verdict that keeps the time for the owner of shard 0.
TEST(RoundTime, IsTheSameAtAllNodesAndFollowsTheLinks) {
  for (const char* kind : kKinds) {
    SCOPED_TRACE(kind);
    double slow = 0;
    for (const double rate : {1e6, 1e9}) {
      Mesh mesh(searching(kind, rate));
      mesh.run();
      ASSERT_TRUE(mesh.done()) << mesh.ends();
      for (const auto& reports : mesh.reports)
        for (Round r = 0; r < kRounds; ++r)
          ASSERT_EQ(reports[r].verdict.exchange_s, exchange_s(mesh, r)) << "round " << r;
      const double found = exchange_s(mesh, kRounds - 1);
      EXPECT_GT(found, 0);
      if (slow > 0) {
        EXPECT_LT(found, slow) << "at " << rate;
      }
      slow = found;
    }
  }
}

// Seen to fail with a search that ignores the config's round_time.
TEST(RoundTime, IsLeftAloneWhereTheConfigGivesOne) {
  MeshSpec spec = searching("ring", 1e6);  // faster links carry int4 in less time than is given
  spec.core.policy.round_time = std::chrono::milliseconds(60);
  Mesh mesh(spec);
  mesh.run();
  ASSERT_TRUE(mesh.done()) << mesh.ends();
  for (const RoundReport& report : mesh.reports[0]) EXPECT_EQ(report.verdict.exchange_s, 0);
  const RoundReport& late = mesh.reports[0][kRounds - 2];
  EXPECT_NEAR(to_seconds(late.ended - late.begun), 0.06, 0.006);
}

// Seen to fail where the policy does not know what gradients take: all had 1280 bytes.
TEST(RoundTime, BeginsWithMessagesThatTakeNoLongerThanAGradientOnALinkOf10Mbit) {
  const auto of_first_message = [](std::chrono::microseconds gradient) {
    MeshSpec spec = searching("parameter_server", 1e6);
    spec.dimension = 200'000;
    spec.core.stop_rounds = 8;
    Mesh mesh(spec);
    mesh.setup.costs.gradient = gradient;
    mesh.run();
    EXPECT_TRUE(mesh.done()) << mesh.ends();
    const auto setting = mesh.decisions.setting(0, 0);
    return setting ? setting->budget.payload_bytes() : 0;
  };
  const auto slow = of_first_message(std::chrono::milliseconds(28));
  EXPECT_NEAR(static_cast<double>(slow), kFirstBytesMax, 300) << "less its headers";
  const auto fast = of_first_message(std::chrono::milliseconds(2));
  EXPECT_NEAR(static_cast<double>(fast), 2500, 300);
}

// Links are alike, so that the three reduces of a node are. Seen to fail where the time of an
// encoding held what it had waited for the others: the third message got a fifth of the first.
TEST(RoundTime, IsSharedEquallyByMessagesThatAreMadeOneAfterAnother) {
  MeshSpec spec = searching("parameter_server", 20e6);
  spec.dimension = 200'000;
  spec.core.policy = {policy_options("kimad"), make_codec("dzq")};
  spec.core.policy.round_time = std::chrono::milliseconds(60);
  Mesh mesh(spec);
  mesh.setup.costs.encode_s_per_coded_byte = 1e-6;
  mesh.run();
  ASSERT_TRUE(mesh.done()) << mesh.ends();
  for (const auto& reports : mesh.reports) {
    const RoundReport& late = reports[kRounds - 3];
    const auto sent = [](const LinkReport& link) { return link.bytes; };
    const auto [least, most] = std::ranges::minmax(late.links, {}, sent);
    EXPECT_LT(static_cast<double>(most.bytes), 1.2 * static_cast<double>(least.bytes));
    EXPECT_LT(to_seconds(late.ended - late.begun), 1.15 * 0.06) << "in time";
    EXPECT_GT(to_seconds(late.ended - late.begun), 0.6 * 0.06) << "and that is made use of";
  }
}

// The share of settings with the run's codec, of all nodes' channels in the second half of a run.
double coded_share(const Mesh& mesh, Round stop) {
  double coded = 0, all = 0;
  for (Round round = stop / 2; round + 2 < stop; ++round)
    for (ChannelIndex channel = 0; channel < mesh.plan.channels.size(); ++channel) {
      const std::optional<Setting> setting = mesh.decisions.setting(channel, round);
      if (!setting) continue;
      ++all;
      coded += setting->codec && setting->codec->kind_name() == "dzq" ? 1 : 0;
    }
  return coded / all;
}

// A mesh whose coder is slow.
MeshSpec on_busy_machines(double rate) {
  MeshSpec spec = searching("parameter_server", rate);
  spec.dimension = 200'000;
  // With a larger lr the loss rises again at such delays, and the guard makes messages larger.
  spec.optimizer =
      options_of_text<OptimizerOptions>("{kind: sgd, lr: 0.02, momentum: 0.9, nesterov: true}");
  return spec;
}

// Every second message waits up to `wait` until its receiver gets a core.
void make_busy(Mesh& mesh, Duration wait) {
  mesh.setup.costs.encode_s_per_coded_byte = 1e-5;
  mesh.setup.costs.wait_chance = 0.5;
  mesh.setup.costs.wait = wait;
}

// Of the first node's first link in the second half of a run. `energy`: of its reduces.
struct SecondHalf {
  double bytes = 0, rounds = 0;
  EnergyReport energy;
};
SecondHalf second_half(const Mesh& mesh, Round stop) {
  SecondHalf sums;
  for (const RoundReport& report : mesh.reports[0]) {
    if (report.round < stop / 2 || report.round + 2 >= stop) continue;
    const LinkReport& link = report.links[0];
    sums.bytes += static_cast<double>(link.bytes);
    sums.energy.to_send += link.reduce.to_send;
    sums.energy.missing += link.reduce.missing;
    ++sums.rounds;
  }
  return sums;
}

// More than messages of int4 leave out, as a share of what there is to send: 3.2 % was seen. So
// much delay costs 0.3 % of the rounds.
constexpr double kLeftOutByInt4 = 0.05;

// Where links cost nothing messages leave out next to nothing: they are dense, or blocks of int8
// and int4, a quarter and an eighth as large. So they are where receivers wait for a core, and a
// replay of the choices ends with the same bits. Seen to fail with messages that are always coded.
TEST(RoundTime, IsNotSpentOnCodingWhereLinksAreFast) {
  for (const double rate : {10e6, 10e9}) {
    SCOPED_TRACE(rate);
    MeshSpec spec = on_busy_machines(rate);
    // At 10 Mbit/s the loss comes back once, and the mesh needs 70 rounds to find its exchange.
    const Round stop = rate > 1e9 ? kRounds : 2 * kRounds;
    spec.core.stop_rounds = stop;
    Mesh mesh(spec);
    make_busy(mesh, std::chrono::milliseconds(8));
    mesh.run();
    ASSERT_TRUE(mesh.done()) << mesh.ends();
    const SecondHalf late = second_half(mesh, stop);
    const double bytes = late.bytes / late.rounds, missing = late.energy.missing;
    const double dense = 2 * 4.0 * mesh.spec.dimension / static_cast<double>(mesh.spec.nodes);
    EXPECT_EQ(bytes > 0.2 * dense, rate > 1e9) << bytes / dense;
    EXPECT_TRUE(rate < 1e9 || missing < kLeftOutByInt4 * late.energy.to_send)
        << missing / late.energy.to_send;
    EXPECT_LT(coded_share(mesh, stop), 0.2) << "in rounds that time the coder, and after waits";

    Mesh again(spec);
    again.setup.replay = &mesh.decisions;
    again.run();
    EXPECT_EQ(digest_floats(again.simulator->owners_parameters()),
              digest_floats(mesh.simulator->owners_parameters()));
  }
}

// Receivers that wait for a core take the time, and no shorter exchange changes that. Seen to fail
// where the least time of messages was learnt from the smallest messages alone: 26 and 31 % were
// left out with the two longest waits.
TEST(RoundTime, IsNotShortenedInVain) {
  for (const int wait_us : {8000, 8037, 8074, 8111, 8255, 8292}) {
    MeshSpec spec = on_busy_machines(10e9);
    Mesh mesh(spec);
    make_busy(mesh, std::chrono::microseconds(wait_us));
    mesh.run();
    ASSERT_TRUE(mesh.done()) << mesh.ends();
    const SecondHalf late = second_half(mesh, kRounds);
    EXPECT_LT(late.energy.missing, kLeftOutByInt4 * late.energy.to_send) << wait_us << " us";
  }
}

// At 12.5 Mbit/s messages of signs fit, and those of dzq would leave out less. Seen to fail where
// the policy is not told what delay costs: seven tenths of the messages were coded.
TEST(RoundTime, IsNotSpentOnCodingWhereSignsAreHardlyLater) {
  const auto coded_with = [](double encode_s_per_byte) {
    MeshSpec spec = searching("parameter_server", 12.5e6);
    spec.core.look_ahead = Use::kAlways;
    spec.dimension = 200'000;
    spec.optimizer =
        options_of_text<OptimizerOptions>("{kind: sgd, lr: 0.02, momentum: 0.9, nesterov: true}");
    Mesh mesh(spec);
    mesh.setup.costs.encode_s_per_coded_byte = encode_s_per_byte;
    mesh.run();
    EXPECT_TRUE(mesh.done()) << mesh.ends();
    return coded_share(mesh, kRounds);
  };
  EXPECT_GT(coded_with(5e-8), 0.9) << "a third of a millisecond for a message";
  EXPECT_LT(coded_with(1e-6), 0.5) << "seven milliseconds";
}

// A log of settings is all that a replay needs. Seen to fail with a replay that searches.
TEST(RoundTime, IsNoPartOfAReplay) {
  Mesh first(searching("tree", 5e6));
  first.run();
  ASSERT_TRUE(first.done()) << first.ends();
  Mesh second(searching("tree", 1e6));
  second.setup.replay = &first.decisions;
  second.run();
  ASSERT_TRUE(second.done()) << second.ends();
  EXPECT_EQ(digest_floats(second.simulator->owners_parameters()),
            digest_floats(first.simulator->owners_parameters()));
  EXPECT_EQ(exchange_s(second, kRounds - 1), 0);
}

}  // namespace
}  // namespace kimesh::test::round_time_test
