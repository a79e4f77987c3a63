#include "block_codec.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kimesh/util/check.h"

namespace kimesh {
namespace {

// The magnitude of a piece's element of this rank, the largest elements first.
double magnitude_of_rank(const PieceCurve& piece, double rank) {
  const auto after = std::ranges::lower_bound(piece.points, rank, {}, &CurvePoint::kept);
  return after == piece.points.end() ? 0 : after->magnitude;
}

// The scale of a block follows from its largest element, and rounding errors are spread evenly over
// a level. The mean square of the blocks' largest elements is about the square of the element whose
// rank is size / (kRarer · block_elements): within a third for normal, Laplace distributed and
// trained elements.
double missing_by_levels(const PieceCurve& piece, double level_max, double block_elements,
                         Rounding rounding) {
  // The mean square of a rounding error is scale² over this.
  const double error_divisor = rounding == Rounding::kNearest ? 12 : 3;
  constexpr double kRarer = 1.4;
  const double elements = piece.points.back().kept;  // that are not 0
  const double scale = magnitude_of_rank(piece, piece.size / (kRarer * block_elements)) / level_max;
  return elements * scale * scale / error_divisor;
}

// Σ(|x| − m)² over the piece, where m is the mean magnitude of the elements that are larger than
// `limit`, or of the others. A block is coded with its own means, and leaves out less.
double missing_by_means(const PieceCurve& piece, double limit) {
  double large_elements = 0, large_magnitudes = 0, small_magnitudes = 0;
  for (std::size_t i = 1; i < piece.points.size(); ++i) {
    const double count = piece.points[i].kept - piece.points[i - 1].kept;
    const double energy = piece.points[i - 1].missing_energy - piece.points[i].missing_energy;
    const bool is_large = piece.points[i].magnitude > limit;
    large_elements += is_large ? count : 0;
    (is_large ? large_magnitudes : small_magnitudes) += std::sqrt(std::max(count * energy, 0.0));
  }
  const auto kept_energy = [](double magnitudes, double elements) {
    return elements > 0 ? magnitudes * magnitudes / elements : 0;
  };
  return piece.points.front().missing_energy - kept_energy(large_magnitudes, large_elements) -
         kept_energy(small_magnitudes, piece.size - large_elements);
}

double root_mean_square(const PieceCurve& piece) {
  return piece.size > 0 ? std::sqrt(piece.points.front().missing_energy / piece.size) : 0;
}

double missing_by(kernels::BlockFormat blocks, const PieceCurve& piece, Rounding rounding) {
  using kernels::BlockFormat;
  const auto elements = static_cast<double>(kernels::block_elements(blocks));
  switch (blocks) {
    case BlockFormat::kBfloat16:
      break;
    case BlockFormat::kSign:
      return missing_by_means(piece, std::numeric_limits<double>::infinity());
    case BlockFormat::kSign2:
      return missing_by_means(piece, root_mean_square(piece));
    case BlockFormat::kInt8:
      return missing_by_levels(piece, 127, elements, rounding);
    case BlockFormat::kInt4:
      return missing_by_levels(piece, 7, elements, rounding);
  }
  KIMESH_CHECK(false, "blocks with a scale");
  return 0;
}

}  // namespace

std::vector<double> BlockCodec::missing_within(const Curve& curve,
                                               std::span<const double> payload_bytes,
                                               Rounding rounding) const {
  const double whole = energy_of(curve);
  double missing = 0;
  std::size_t size = 0;
  for (const PieceCurve& piece : curve) {
    const double most = piece.missing_energy(0);
    missing += std::clamp(missing_by(blocks_, piece, rounding), 0.0, most);
    size += piece.size;
  }
  const auto bytes = static_cast<double>(kernels::quantised_bytes(blocks_, size));
  std::vector<double> all;
  for (const double payload : payload_bytes) all.push_back(payload < bytes ? whole : missing);
  return all;
}

Result<Advanced> BlockCodec::advance(const AdvanceJob& job) const {
  Advanced result;
  result.form = form_;
  result.bytes.resize(kernels::quantised_bytes(blocks_, job.size()));
  auto quantised = job.difference.quantise(job, blocks_, job.setting.rounding, result.bytes,
                                           result.missing_energy);
  if (!quantised) return quantised.error();
  result.kept = job.size();
  result.wanted_energy = quantised->energies.target;
  result.energy_to_send = quantised->energies.difference;
  result.curve = std::move(quantised->curve);
  return result;
}

void BlockCodec::refuse_indices(Keys& keys) {
  keys.refuse({"indices"}, "a compressor that sends every element");
}

void BlockCodec::refuse_formats(Keys& keys) const {
  keys.refuse({"indices", "values"},
              "compressor: " + kind_name() + ", which has a format of its own");
}

Result<Content> decode_as(kernels::BlockFormat blocks, std::span<const std::byte> payload,
                          std::size_t size) {
  if (!kernels::is_quantised(blocks, payload, size))
    return malformed(std::to_string(payload.size()) + " bytes that are no blocks of " +
                     std::to_string(size) + " elements");
  return Content{AddBlocks{blocks, payload}};
}

}  // namespace kimesh
