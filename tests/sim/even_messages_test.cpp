// Where data are unlike, all messages of a mesh have the same bits an element.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kimesh/compress/codecs.h"
#include "kimesh/util/digest.h"
#include "tests/quadratic_mesh/mesh.h"

namespace kimesh::test::even_messages_test {
namespace {

constexpr Round kRounds = 60, kSettled = 20;
constexpr double kRate = 2e6;  // bit/s; the links of the first node carry a quarter

MeshSpec choosing(const std::string& kind, double heterogeneity, std::uint64_t seed) {
  MeshSpec spec = auto_spec(kind);
  spec.nodes = 5;
  spec.seed = seed;
  spec.heterogeneity = heterogeneity;
  spec.rate_bits_per_s = kRate;
  spec.core.look_ahead = spec.core.overlap = Use::kChosen;
  spec.core.stop_rounds = kRounds;
  return spec;
}

void run(Mesh& mesh) {
  for (std::size_t i = 0; i < mesh.plan.links.size(); ++i)
    if (mesh.plan.links[i].from == 0) mesh.setup.links[i].rate = RateTrace{{{0.0, kRate / 4}}};
  mesh.run();
  ASSERT_TRUE(mesh.done()) << mesh.ends();
}

// The largest number of bits an element over the smallest, of all messages that nodes chose in the
// round.
double spread(const Mesh& mesh, Round round) {
  std::vector<double> bits;
  for (ChannelIndex channel = 0; channel < mesh.plan.channels.size(); ++channel) {
    const auto setting = mesh.decisions.setting(channel, round);
    const std::size_t elements = mesh.plan.elements(channel);
    if (setting)
      bits.push_back(static_cast<double>(bytes_of(*setting, elements)) /
                     static_cast<double>(elements));
  }
  const auto [least, most] = std::ranges::minmax(bits);
  return most / least;
}

double mean_spread(const Mesh& mesh) {
  double sum = 0;
  for (Round round = kSettled; round + 1 < kRounds; ++round) sum += spread(mesh, round);
  return sum / (kRounds - 1 - kSettled);
}

// Seen to fail where every link filled its own budget.
TEST(EvenMessages, HaveTheSameBitsAnElementOnLinksOfUnlikeRates) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    Mesh unlike(choosing("parameter_server", 30, seed));
    run(unlike);
    EXPECT_LT(mean_spread(unlike), 1.1);
    for (const auto& reports : unlike.reports) {
      EXPECT_GT(reports[kSettled].verdict.even_bits, 0);
      EXPECT_EQ(reports[kSettled].verdict, unlike.reports[0][kSettled].verdict);
    }
  }
}

// Seen to fail with even messages on every mesh.
TEST(EvenMessages, AreOnlyThoseOfUnlikeDataThatNobodySumsOnTheWay) {
  for (const auto& [kind, heterogeneity] : {std::pair("parameter_server", 0.0), {"tree", 30.0}}) {
    SCOPED_TRACE(kind);
    Mesh mesh(choosing(kind, heterogeneity, 1));
    run(mesh);
    EXPECT_EQ(mesh.reports[0][kRounds - 2].verdict.even_bits, 0);
    EXPECT_GT(mean_spread(mesh), 1.5) << "each link has a budget";
  }
}

// The log of settings alone says their sizes. Not seen to fail.
TEST(EvenMessages, AreRepeatedByAReplayOverOtherLinks) {
  Mesh first(choosing("parameter_server", 30, 2));
  run(first);
  MeshSpec faster = choosing("parameter_server", 30, 2);
  faster.rate_bits_per_s *= 3;
  Mesh again(faster);
  again.setup.replay = &first.decisions;
  again.run();
  ASSERT_TRUE(again.done()) << again.ends();
  EXPECT_EQ(digest_floats(again.simulator->owners_parameters()),
            digest_floats(first.simulator->owners_parameters()));
}

}  // namespace
}  // namespace kimesh::test::even_messages_test
