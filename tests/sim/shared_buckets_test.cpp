// policy: auto behind interfaces that all links of a node share, with a token bucket each way.
// Messages that the bucket holds pass at line speed, so that each link seems fast.
#include <gtest/gtest.h>

#include "kimesh/compress/codecs.h"
#include "tests/quadratic_mesh/mesh.h"
#include "tests/sanitized.h"

namespace kimesh::test::shared_buckets_test {
namespace {

constexpr double kRate = 1e6;  // bit/s
constexpr std::size_t kBucketBytes = 16'000;
constexpr Round kLate = 60, kEnd = 150, kLateRounds = kEnd - kLate;
constexpr Duration kGradient = std::chrono::milliseconds(50);

Mesh mesh_behind_buckets(std::uint64_t seed, Round rounds) {
  MeshSpec spec = auto_spec("parameter_server");
  spec.seed = seed;
  spec.dimension = 400'000;
  spec.rate_bits_per_s = kRate;
  spec.core.look_ahead = spec.core.overlap = Use::kChosen;
  spec.core.stop_rounds = rounds;
  spec.optimizer =
      options_of_text<OptimizerOptions>("{kind: sgd, lr: 0.02, momentum: 0.9, nesterov: true}");
  return Mesh(spec);
}

void run(Mesh& mesh) {
  for (LinkSpec& link : mesh.setup.links) link.rate.reset();
  for (SimulatedNode& node : mesh.setup.nodes) {
    node.uplink_bits_per_s = node.downlink_bits_per_s = kRate;
    node.interface_bucket_bytes = kBucketBytes;
  }
  mesh.setup.costs.gradient = kGradient;
  mesh.run();
  ASSERT_TRUE(mesh.done()) << mesh.ends();
}

// The time of rounds [begin, end) over that of their gradients.
double length(const Mesh& mesh, Round begin, Round end) {
  const auto& reports = mesh.reports[0];
  return to_seconds(reports[end - 1].ended - reports[begin].begun) /
         (static_cast<double>(end - begin) * to_seconds(kGradient));
}

// Seen to fail where bits followed rates, where rounds that messages had made too long were a
// reason to overlap, and where rounds shorter than a gradient, after a long one, counted as usual.
// With one seed of eight rounds of uneven length make bits so few that the loss rises, and messages
// are large for a long time after.
TEST(SharedBuckets, EvenMessagesComeToWhatInterfacesCarry) {
  constexpr std::uint64_t kSeeds = seeds_of(8);
  std::uint64_t long_ones = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Mesh mesh = mesh_behind_buckets(seed, kEnd + 10);
    run(mesh);
    long_ones += length(mesh, kLate, kEnd) < 1.2 ? 0 : 1;
    EXPECT_LE(long_ones, kSeeds / 8) << "seed " << seed;
    EXPECT_LT(length(mesh, kLate, kEnd), 3) << "seed " << seed;
    double bytes = 0;
    for (Round round = kLate; round < kEnd; ++round)
      for (const LinkReport& link : mesh.reports[0][round].links)
        bytes += static_cast<double>(link.bytes);
    const double carries = static_cast<double>(kLateRounds) * kRate / 8 * to_seconds(kGradient);
    EXPECT_GT(bytes / carries, 0.6) << "seed " << seed;
  }
}

}  // namespace
}  // namespace kimesh::test::shared_buckets_test
