#include "tests/residual/residual.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>

#include "kimesh/util/random.h"

namespace kimesh::test {
namespace {

// How loud a tensor is, and how unlike its rows and its columns are. Fitted to captured.json.
struct Loudness {
  double rms = 1, row_spread = 0, column_spread = 0;
};

constexpr Loudness kEmbedding{7.8, 1.7, 0.4}, kPositions{6.9, 0.4, 0.3};
constexpr Loudness kFirstAttentionIn{1.05, 1.0, 0.3}, kAttentionIn{0.36, 1.9, 1.0};
constexpr Loudness kAttentionOut{0.75, 0.45, 1.3};
constexpr Loudness kMlpIn{0.31, 3.4, 0.6}, kMlpOut{0.4, 0.4, 2.6};
constexpr Loudness kNorm{1.0, 0, 1.4}, kBias{0.75, 0, 1.0};
constexpr Loudness kLastNorm{3.0, 0, 1.0}, kHead{10.6, 2.3, 1.1};

// Rows of the embedding that no batch of late has used.
constexpr double kSilence = 1e-3;

struct Tensor {
  Loudness loudness;
  std::size_t rows = 1, columns = 1;
  std::size_t silent_rows = 0;  // the last of them
};

constexpr std::size_t kBlocks = 4, kVocabulary = 64, kPositionCount = 64, kWidthMin = 8;

// Elements of the tensors below at this width, with the smallest embedding.
std::size_t elements_at(std::size_t width) {
  constexpr std::size_t kRows = 2 * kVocabulary + kPositionCount + kBlocks * 13 + 2;
  return kBlocks * 12 * width * width + kRows * width;
}

std::size_t width_for(std::size_t size) {
  auto width = static_cast<std::size_t>(std::sqrt(static_cast<double>(size) / (kBlocks * 12)));
  while (width > kWidthMin && elements_at(width) > size) --width;
  return std::max(width, kWidthMin);
}

void add_block(const Loudness& attention_in, std::size_t width, std::vector<Tensor>& tensors) {
  tensors.insert(tensors.end(), {{kNorm, 1, width},
                                 {kNorm, 1, width},
                                 {attention_in, 3 * width, width},
                                 {kBias, 1, 3 * width},
                                 {kAttentionOut, width, width},
                                 {kBias, 1, width},
                                 {kNorm, 1, width},
                                 {kNorm, 1, width},
                                 {kMlpIn, 4 * width, width},
                                 {kBias, 1, 4 * width},
                                 {kMlpOut, width, 4 * width},
                                 {kBias, 1, width}});
}

// At least `size` elements. What the width leaves over becomes silent rows.
std::vector<Tensor> tensors_for(std::size_t size) {
  const std::size_t width = width_for(size);
  const std::size_t least = elements_at(width);
  const std::size_t spare = size > least ? size - least : 0;
  std::vector<Tensor> tensors = {{kEmbedding, kVocabulary + spare / width, width, spare / width},
                                 {kPositions, kPositionCount, width}};
  for (std::size_t block = 0; block < kBlocks; ++block)
    add_block(block == 0 ? kFirstAttentionIn : kAttentionIn, width, tensors);
  tensors.insert(tensors.end(), {{kLastNorm, 1, width},
                                 {kLastNorm, 1, width},
                                 {kHead, kVocabulary, width},
                                 {kBias, 1, width}});
  return tensors;
}

// Lognormal, bounded above: EF21 has sent what was loudest, so that rows are quiet rather than
// loud. 1 in the mean of squares; the last `silent` far below.
std::vector<float> scales(std::size_t count, std::size_t silent, double spread, Random random) {
  std::vector<double> drawn(count);
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double wide = std::exp(spread * random.normal());
    drawn[i] = wide / (1 + wide);
    if (i < count - silent)
      sum += drawn[i] * drawn[i];
    else
      drawn[i] *= kSilence;
  }
  const double rms = std::sqrt(sum / static_cast<double>(count - silent));
  std::vector<float> result;
  for (const double scale : drawn) result.push_back(static_cast<float>(scale / rms));
  return result;
}

// Standard normals (Box-Muller) in float32, from a word each: quicker than Random::normal, whose 53
// bits nobody needs here.
void fill_normal(std::span<float> out, Random& random) {
  for (std::size_t i = 0; i < out.size(); i += 2) {
    const float uniform = (static_cast<float>(random.next_u32() >> 8) + 0.5F) * 0x1p-24F;
    const float angle =
        static_cast<float>(random.next_u32() >> 8) * 0x1p-23F * std::numbers::pi_v<float>;
    const float radius = std::sqrt(-2 * std::log(uniform));
    out[i] = radius * std::cos(angle);
    if (i + 1 < out.size()) out[i + 1] = radius * std::sin(angle);
  }
}

// `out` may end before the tensor does.
void fill(const Tensor& tensor, std::span<float> out, std::uint64_t seed, std::uint32_t layer) {
  const auto stream = [&](std::uint32_t part) { return Random(seed, layer, part, Purpose::kTest); };
  const Loudness& loudness = tensor.loudness;
  const auto rows = scales(tensor.rows, tensor.silent_rows, loudness.row_spread, stream(1));
  const auto columns = scales(tensor.columns, 0, loudness.column_spread, stream(2));
  const auto rms = static_cast<float>(loudness.rms);
  Random random = stream(0);
  for (std::size_t row = 0; row * tensor.columns < out.size(); ++row) {
    const std::size_t start = row * tensor.columns;
    const auto part = out.subspan(start, std::min(tensor.columns, out.size() - start));
    fill_normal(part, random);
    for (std::size_t j = 0; j < part.size(); ++j) part[j] *= rms * rows[row] * columns[j];
  }
}

template <typename Draw>
Residual independent(std::size_t size, std::uint64_t seed, const Draw& draw) {
  Residual residual{AlignedBuffer(size), {}};
  if (size > 0) residual.pieces.push_back({0, size});
  Random random(seed, 0, 3, Purpose::kTest);
  draw(residual.values.span(), random);
  return residual;
}

// Exponential, mean 1; never 0, by which somebody divides: 23 bits and a half are exact.
float exponential(Random& random) {
  return -std::log((static_cast<float>(random.next_u32() >> 9) + 0.5F) * 0x1p-23F);
}

}  // namespace

Residual make_residual(std::size_t size, std::uint64_t seed) {
  Residual residual{AlignedBuffer(size), {}};
  std::size_t offset = 0;
  for (const Tensor& tensor : tensors_for(size)) {
    const std::size_t count = std::min(tensor.rows * tensor.columns, size - offset);
    if (count == 0) break;
    const auto layer = static_cast<std::uint32_t>(residual.pieces.size());
    fill(tensor, residual.values.span().subspan(offset, count), seed, layer);
    residual.pieces.push_back({offset, count});
    offset += count;
  }
  return residual;
}

Residual gaussian(std::size_t size, std::uint64_t seed) {
  return independent(size, seed, fill_normal);
}

Residual laplace(std::size_t size, std::uint64_t seed) {
  return independent(size, seed, [](std::span<float> out, Random& random) {
    for (float& x : out) {
      const float magnitude = exponential(random) / std::numbers::sqrt2_v<float>;
      x = (random.next_u32() & 1) != 0 ? -magnitude : magnitude;
    }
  });
}

Residual heavy_tailed(std::size_t size, std::uint64_t seed) {
  return independent(size, seed, [](std::span<float> out, Random& random) {
    fill_normal(out, random);
    // Half of chi-squared with 2 degrees of freedom is an exponential.
    for (float& x : out) x /= std::sqrt(exponential(random));
  });
}

}  // namespace kimesh::test
