#include "kimesh/codec/curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "tests/compress/vectors.h"
#include "tests/residual/residual.h"

namespace kimesh::curve_test {
namespace {

// What is left when the k largest are sent, from its definition: [k], k = 0 … size.
std::vector<double> missing_by_sorting(std::span<const float> x) {
  std::vector<double> squares;
  for (const float v : x) squares.push_back(double{v} * double{v});
  std::ranges::sort(squares, std::greater<>());
  squares.push_back(0);
  for (std::size_t k = squares.size() - 1; k-- > 0;) squares[k] += squares[k + 1];
  return squares;
}

std::size_t nonzeros(std::span<const float> x) {
  return static_cast<std::size_t>(std::ranges::count_if(x, [](float v) { return v != 0; }));
}

struct VectorKind {
  std::string name;
  std::function<test::Residual(std::size_t, std::uint64_t)> make;
};

const std::vector<VectorKind>& kinds() {
  static const std::vector<VectorKind> all{
      {"gaussian", test::gaussian},
      {"laplace", test::laplace},
      {"heavy-tailed", test::heavy_tailed},
      {"residual",
       [](std::size_t size, std::uint64_t seed) {
         test::Residual made = test::make_residual(size, seed);
         made.pieces = {{0, size}};
         return made;
       }},
      {"ties",
       [](std::size_t size, std::uint64_t seed) {
         test::Residual made = test::gaussian(size, seed);
         for (float& x : made.values.span()) x = std::round(8 * x) / 8;
         return made;
       }},
      {"sparse",
       [](std::size_t size, std::uint64_t seed) {
         test::Residual made = test::gaussian(size, seed);
         Random random = stream(seed);
         for (float& x : made.values.span()) x = random.below(50) == 0 ? x : 0;
         return made;
       }},
  };
  return all;
}

// Whether the curve is within `share` of the truth for every k, or within 1e-4 of the energy. Where
// bins hold single elements a line that cuts their corners is off by more.
void expect_near(const PieceCurve& curve, std::span<const float> x, double share,
                 const std::string& what) {
  const std::size_t count = nonzeros(x);
  if (count < 5000) share = 0.03;
  if (count < x.size() / 10 && x.size() >= 1u << 18) share = 0.02;  // so is the sample smaller
  const std::vector<double> truth = missing_by_sorting(x);
  ASSERT_EQ(curve.size, x.size()) << what;
  for (std::size_t k = 0; k <= x.size(); k += 1 + x.size() / 5000) {
    const double said = curve.missing_energy(static_cast<double>(k));
    ASSERT_NEAR(said, truth[k], share * truth[k] + 1e-4 * truth[0]) << what << ", " << k << " kept";
  }
  for (std::size_t i = 1; i < curve.points.size(); ++i) {
    ASSERT_GT(curve.points[i].kept, curve.points[i - 1].kept) << what;
    ASSERT_LE(curve.points[i].missing_energy, curve.points[i - 1].missing_energy) << what;
    ASSERT_LT(curve.points[i].magnitude, curve.points[i - 1].magnitude) << what;
  }
  ASSERT_EQ(curve.points.back().missing_energy, 0) << what;
}

// Seen to fail with a bin's elements all taken to be at its lower edge.
TEST(Curve, OfAllElementsIsWithinOnePercentForEveryK) {
  for (const VectorKind& kind : kinds())
    for (const std::size_t size : {1000u, 20000u, 300000u})
      for (const std::uint64_t seed : {1u, 2u}) {
        const test::Residual made = kind.make(size, seed);
        const Piece piece{0, size};
        const Curve curve = measure_curve(made.values.span(), std::span(&piece, 1));
        const std::string what =
            kind.name + ", size " + std::to_string(size) + ", seed " + std::to_string(seed);
        expect_near(curve[0], made.values.span(), 0.01, what);
        EXPECT_DOUBLE_EQ(curve[0].points.back().kept,
                         static_cast<double>(nonzeros(made.values.span())))
            << what;
      }
}

// As a step makes it: with samples, whose sizes have their edges at 2^18 and 2^20.
// Seen to fail with the sample's counts not scaled, with what is known of the divided bin counted
// from the sample as well, with the first line of each group in place of the hash, with half of
// what lies above a bin's edge, and without halves.
TEST(Curve, OfASampledPieceIsNearTheTruthForEveryK) {
  CompressScratch scratch;
  for (const VectorKind& kind : kinds())
    for (const std::size_t size : {5000u, 262144u, 600001u, 1048576u, 4194303u})
      for (const std::size_t share : {1000u, 20u}) {
        const test::Residual made = kind.make(size, 3);
        std::vector<float> estimate(size, 0.0f);
        const std::vector<Piece> pieces{{0, size}};
        const Setting setting = topk_setting(size / share);
        auto sent = advance(made.values.span(), estimate, pieces, setting, scratch, true);
        ASSERT_TRUE(sent.ok());
        ASSERT_EQ(sent->curve.size(), 1u);
        expect_near(
            sent->curve[0], made.values.span(), 0.01,
            kind.name + ", size " + std::to_string(size) + ", one in " + std::to_string(share));
      }
}

// However little reaches the threshold, the largest are looked at one by one. Seen to fail with
// those alone that reach it.
TEST(Curve, OfAMessageByAThresholdIsNearTheTruth) {
  constexpr std::size_t kSize = 1 << 19;
  test::Residual made = test::gaussian(kSize, 3);
  made.values.span()[kSize / 3] = 1000;
  const Setting threshold = setting_of("threshold", {{"threshold", "2000"}});
  const Setting step = setting_of("dzq", {{"step", "2000"}});
  for (const Setting& setting : {threshold, step}) {
    CompressScratch scratch;
    std::vector<float> estimate(kSize, 0.0f);
    const std::vector<Piece> pieces{{0, kSize}};
    auto sent = advance(made.values.span(), estimate, pieces, setting, scratch, true);
    ASSERT_TRUE(sent.ok());
    EXPECT_EQ(sent->kept, 0u);
    EXPECT_TRUE(sent->bytes.empty());
    expect_near(sent->curve[0], made.values.span(), 0.01, setting.codec->kind_name());
  }
}

// What a message of many layers leaves out is known better than what each of them does: the errors
// of samples go either way. Random shares of the layers, as policies try them.
TEST(Curve, OfAllLayersIsWithinOnePercent) {
  constexpr std::size_t kSize = 4500000;
  const test::Residual made = test::make_residual(kSize, 5);
  std::vector<float> estimate(kSize, 0.0f);
  CompressScratch scratch;
  Setting setting = topk_setting(kSize / 100);
  setting.allocation = Allocation::kGlobal;
  auto sent = advance(made.values.span(), estimate, made.pieces, setting, scratch, true);
  ASSERT_TRUE(sent.ok());
  std::vector<std::vector<double>> truth;
  double energy = 0;
  for (const Piece& piece : made.pieces) {
    truth.push_back(missing_by_sorting(made.values.span().subspan(piece.offset, piece.size)));
    energy += truth.back()[0];
  }
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Random random = stream(seed);
    const double power = 4 * random.uniform();
    double missing = 0, said = 0;
    for (std::size_t l = 0; l < made.pieces.size(); ++l) {
      const double share = std::pow(random.uniform(), power);
      const auto keep = static_cast<std::size_t>(share * static_cast<double>(made.pieces[l].size));
      missing += truth[l][keep];
      said += sent->curve[l].missing_energy(static_cast<double>(keep));
    }
    ASSERT_NEAR(said, missing, 0.01 * missing + 1e-4 * energy) << "seed " << seed;
  }
}

// Small pieces, some of them of a few elements that share a bin: there a straight line is off by
// at most what the magnitudes of a bin differ by, and never far below.
// Seen to fail with half of what lies above a bin's edge.
TEST(Curve, OfFewElementsIsOffByLessThanABin) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random = stream(seed);
    const std::vector<Piece> pieces = random_pieces(random);
    const std::vector<float> x = random_vector(random, pieces.back().offset + pieces.back().size);
    const Curve curve = measure_curve(x, pieces);
    ASSERT_EQ(curve.size(), pieces.size());
    for (std::size_t l = 0; l < pieces.size(); ++l) {
      const auto piece = std::span(x).subspan(pieces[l].offset, pieces[l].size);
      const std::vector<double> truth = missing_by_sorting(piece);
      // Denormal numbers below 2^-129 have no octaves: they share a bin.
      const double off = truth[0] > 1e-60 ? 0.13 : 1;
      for (std::size_t k = 0; k < truth.size(); ++k) {
        const double said = curve[l].missing_energy(static_cast<double>(k));
        ASSERT_GE(said, 0.99 * truth[k] - off * 1e-12 * truth[0]) << "seed " << seed << ", k " << k;
        ASSERT_LE(said, off < 1 ? (1 + off) * truth[k] + 1e-3 * truth[0] : 1.001 * truth[0])
            << "seed " << seed << ", k " << k;
      }
    }
  }
}

TEST(Curve, OfZerosHasNothingMissing) {
  const std::vector<float> zeros(10, 0.0f);
  const Curve curve = measure_curve(zeros, std::vector<Piece>{{0, 10}});
  EXPECT_EQ(curve[0].points, (std::vector<CurvePoint>{{0, 0, 0}}));
  EXPECT_EQ(curve[0].missing_energy(0), 0);
  EXPECT_EQ(curve[0].missing_energy(7), 0);
}

// What policies read: no element that is left out is above the magnitude, none that is kept below.
TEST(Curve, NamesTheMagnitudeThatDividesWhatIsKept) {
  const test::Residual made = test::laplace(3000, 4);
  const Piece piece{0, 3000};
  const Curve curve = measure_curve(made.values.span(), std::span(&piece, 1));
  std::size_t edges = 0;
  for (const CurvePoint& point : curve[0].points) {
    const auto above = std::ranges::count_if(
        made.values.span(), [&](float x) { return std::abs(x) > point.magnitude; });
    if (std::abs(point.kept - static_cast<double>(above)) < 1e-6) ++edges;
    EXPECT_NEAR(point.kept, static_cast<double>(above), 8);  // halves are modelled
  }
  EXPECT_GT(edges, curve[0].points.size() / 2);
}

}  // namespace
}  // namespace kimesh::curve_test
