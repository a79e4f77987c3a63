#include "tests/residual/statistics.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>

#include "kimesh/util/check.h"

namespace kimesh::test {
namespace {

constexpr std::array kKept = {1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1};
constexpr std::array kQuantiles = {0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999};
constexpr std::array kDensities = {1e-3, 1e-2};
constexpr std::size_t kNeighbours = 8;  // gaps

double square(float x) {
  return static_cast<double>(x) * static_cast<double>(x);
}

std::vector<float> falling_magnitudes(std::span<const float> values) {
  std::vector<float> magnitudes(values.size());
  std::ranges::transform(values, magnitudes.begin(), [](float x) { return std::abs(x); });
  std::ranges::sort(magnitudes, std::greater<>());
  return magnitudes;
}

std::size_t count_of(double share, std::size_t size) {
  const auto count = static_cast<std::size_t>(std::llround(share * static_cast<double>(size)));
  return std::clamp<std::size_t>(count, 1, size);
}

double energy_of(std::span<const float> values) {
  double sum = 0;
  for (const float x : values) sum += square(x);
  return sum;
}

std::vector<AtShare> missing_energy(std::span<const float> falling, double energy) {
  std::vector<AtShare> points;
  for (const double share : kKept) {
    const std::size_t keep = count_of(share, falling.size());
    points.push_back({share, energy_of(falling.subspan(keep)) / energy});
  }
  return points;
}

std::vector<AtShare> quantiles(std::span<const float> falling, double rms) {
  std::vector<AtShare> points;
  for (const double share : kQuantiles) {
    const std::size_t above = count_of(1 - share, falling.size());
    points.push_back({share, static_cast<double>(falling[above - 1]) / rms});
  }
  return points;
}

// Distances from one taken element to the next, 0 when they touch.
std::vector<std::uint32_t> gaps_over(std::span<const float> values, float threshold) {
  std::vector<std::uint32_t> gaps;
  std::uint32_t gap = 0;
  for (const float x : values) {
    if (std::abs(x) >= threshold && x != 0) {
      gaps.push_back(gap);
      gap = 0;
    } else {
      ++gap;
    }
  }
  return gaps;
}

struct Bucket {
  std::size_t symbol = 0;
  unsigned raw_bits = 0;
};

Bucket bucket_of(std::uint32_t gap) {
  if (gap < 8) return {gap, 0};
  const auto octave = static_cast<unsigned>(std::bit_width(gap)) - 1;
  return {8 + (octave - 3) * 4 + ((gap >> (octave - 2)) & 3), octave - 2};
}

constexpr std::size_t kBuckets = 8 + 29 * 4;

// Bits of all symbols that one table codes.
class Table {
 public:
  void add(std::size_t symbol) {
    ++counts_[symbol];
    ++total_;
  }
  [[nodiscard]] double bits() const {
    double sum = 0;
    for (const std::uint64_t count : counts_)
      if (count > 0)
        sum -= static_cast<double>(count) *
               std::log2(static_cast<double>(count) / static_cast<double>(total_));
    return sum;
  }

 private:
  std::array<std::uint64_t, kBuckets> counts_{};
  std::uint64_t total_ = 0;
};

// Gaps of independent draws are geometric.
double uniform_gap_bits(double density) {
  double bits = 0, probability = 0, until = 1;
  std::size_t symbol = 0;
  const auto close = [&] {
    if (probability > 0) bits -= probability * std::log2(probability);
    probability = 0;
  };
  for (std::uint32_t gap = 0; until > 1e-9; ++gap) {
    const Bucket bucket = bucket_of(gap);
    if (bucket.symbol != symbol) close();
    symbol = bucket.symbol;
    probability += until * density;
    bits += until * density * bucket.raw_bits;
    until *= 1 - density;
  }
  close();
  return bits;
}

Clustering clustering(std::span<const float> values, double density, float threshold) {
  const std::vector<std::uint32_t> gaps = gaps_over(values, threshold);
  std::vector<Table> nearby(kBuckets);
  Table all;
  std::uint64_t raw_bits = 0, last_gaps = 0;
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    const Bucket bucket = bucket_of(gaps[i]);
    const auto mean =
        static_cast<std::uint32_t>(last_gaps / std::clamp<std::size_t>(i, 1, kNeighbours));
    all.add(bucket.symbol);
    nearby[bucket_of(mean).symbol].add(bucket.symbol);
    raw_bits += bucket.raw_bits;
    last_gaps += gaps[i];
    if (i >= kNeighbours) last_gaps -= gaps[i - kNeighbours];
  }
  double bits_nearby = 0;
  for (const Table& table : nearby) bits_nearby += table.bits();
  const auto per_index = [&](double bits) {
    return (bits + static_cast<double>(raw_bits)) / static_cast<double>(gaps.size());
  };
  return {density, per_index(all.bits()), per_index(bits_nearby), uniform_gap_bits(density)};
}

}  // namespace

ResidualStatistics measure_residual(std::span<const float> values, std::span<const Piece> pieces) {
  const std::vector<float> falling = falling_magnitudes(values);
  const double energy = energy_of(falling);
  KIMESH_CHECK(energy > 0, "shares of something");
  ResidualStatistics statistics;
  statistics.rms = std::sqrt(energy / static_cast<double>(values.size()));
  statistics.zeros =
      static_cast<double>(std::ranges::count(falling, 0.0F)) / static_cast<double>(falling.size());
  statistics.missing_energy = missing_energy(falling, energy);
  statistics.quantiles = quantiles(falling, statistics.rms);
  for (const Piece& piece : pieces)
    statistics.piece_energy.push_back(energy_of(values.subspan(piece.offset, piece.size)) / energy);
  std::ranges::sort(statistics.piece_energy, std::greater<>());
  for (const double density : kDensities) {
    const float threshold = falling[count_of(density, falling.size()) - 1];
    statistics.clustering.push_back(clustering(values, density, threshold));
  }
  return statistics;
}

}  // namespace kimesh::test
