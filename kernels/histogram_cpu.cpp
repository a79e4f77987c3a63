#include <algorithm>
#include <array>
#include <bit>

#include "kimesh/kernels/histogram.h"
#include "kimesh/util/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "histogram_cpu.cpp"
#include "simd_dispatch.h"
#include "simd_lanes.h"

HWY_BEFORE_NAMESPACE();
namespace kimesh::kernels::HWY_NAMESPACE {
namespace {

// Reads one line in each of `groups` groups of 2^stride_bits lines, and writes its magnitude bits
// as words, shifted so that the bins of histogram.h begin at multiples of 2^20. Widens the range of
// magnitude bits: range[0] is the least, minus 1; range[1] is the most.
void line_words(const float* target, const float* estimate, std::size_t first_group,
                std::size_t groups, unsigned stride_bits, std::uint32_t* words,
                std::uint32_t* range) {
  constexpr std::size_t kLine = 16;
  Words least = hn::Set(kWords, range[0]), most = hn::Set(kWords, range[1]);
  for (std::size_t g = 0; g < groups; ++g, words += kLine) {
    const auto hash = static_cast<std::uint32_t>(first_group + g) * 2654435761u;
    const std::size_t pick = (std::uint64_t{hash} << stride_bits) >> 32;  // its upper bits
    const std::size_t begin = ((g << stride_bits) + pick) * kLine;
    for (std::size_t j = 0; j < kLine; j += kLanes) {
      Floats x = hn::LoadU(kFloats, target + begin + j);
      if (estimate != nullptr) x = hn::Sub(x, hn::LoadU(kFloats, estimate + begin + j));
      const Words bits = hn::And(hn::BitCast(kWords, x), hn::Set(kWords, 0x7fffffffu));
      least = hn::Min(least, hn::Sub(bits, hn::Set(kWords, 1u)));
      most = hn::Max(most, bits);
      hn::StoreU(hn::Add(bits, hn::Set(kWords, (1u << 20) - 1)), kWords, words + j);
    }
  }
  std::uint32_t lanes[2 * kLanes];
  hn::StoreU(least, kWords, lanes);
  hn::StoreU(most, kWords, lanes + kLanes);
  for (std::size_t l = 0; l < kLanes; ++l) {
    range[0] = std::min(range[0], lanes[l]);
    range[1] = std::max(range[1], lanes[kLanes + l]);
  }
}

}  // namespace
}  // namespace kimesh::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kimesh::kernels {
namespace {

HWY_EXPORT(line_words);

constexpr std::size_t kLine = 16;     // elements of a cache line
constexpr std::size_t kChunk = 2048;  // words that stay in the first-level cache
// The smallest vectors of which a half, a quarter and an eighth of the lines are counted.
constexpr std::array<std::size_t, 3> kSampledMin = {std::size_t{1} << 18, std::size_t{1} << 20,
                                                    std::size_t{1} << 22};
// Successive increments of one bin wait for one another, so that neighbours go to different tables.
// A short vector uses one table, since all tables are cleared for each vector.
constexpr std::size_t kTables = 4, kManyTablesMin = 16384;
// A table holds a sum of words for each bin, with count and distances in one number: each word adds
// kOne, its bin in the bits from 20 on, and its distance from the bin's edge in the bits below. At
// most as many words are added as keep the sum of distances below kOne.
constexpr std::uint64_t kOne = std::uint64_t{1} << 40;
constexpr std::size_t kTalliedMax = std::size_t{1} << 20;
constexpr std::uint32_t kAboveEdge = (1u << kMagnitudeBinBits) - 1;

}  // namespace

std::size_t MagnitudeHistogram::first_bin() const {
  return met_.most == 0 ? 1 : (met_.least >> kMagnitudeBinBits) + 1;
}
std::size_t MagnitudeHistogram::end_bin() const {
  return ((met_.most + kAboveEdge) >> kMagnitudeBinBits) + 1;
}

void MagnitudeHistogram::for_each_bin_met(auto&& visit) {
  visit(0);
  for (std::size_t b = first_bin(); b < end_bin(); ++b) visit(b);
}

void MagnitudeHistogram::reset(std::size_t size, Counts counts) {
  if (tables_.empty()) {
    tables_.resize(kTables * kMagnitudeBins);
    bins_.resize(kMagnitudeBins);
  }
  flush();
  for_each_bin_met([&](std::size_t b) { bins_[b] = {}; });
  met_ = {};
  const auto reached = std::ranges::upper_bound(kSampledMin, size) - kSampledMin.begin();
  stride_bits_ = counts == Counts::kAll ? 0 : static_cast<unsigned>(reached);
  table_mask_ = size < kManyTablesMin ? 0 : kTables - 1;
  groups_ = 0;
}

void MagnitudeHistogram::add(std::span<const float> target, std::span<const float> estimate) {
  KIMESH_CHECK(estimate.empty() || estimate.size() == target.size(), "one size, or no estimate");
  const float* e = estimate.empty() ? nullptr : estimate.data();
  const std::size_t group = kLine << stride_bits_;
  const std::size_t groups = target.size() / group;
  alignas(64) std::array<std::uint32_t, kChunk> words;
  std::array<std::uint32_t, 2> range = {met_.least, met_.most};
  for (std::size_t g = 0; g < groups; g += kChunk / kLine) {
    const std::size_t now = std::min(kChunk / kLine, groups - g);
    HWY_DYNAMIC_DISPATCH(line_words)
    (target.data() + g * group, e == nullptr ? e : e + g * group, groups_, now, stride_bits_,
     words.data(), range.data());
    groups_ += now;
    met_ = {range[0], range[1]};  // before the tally, which may clear the tables
    tally(std::span(words).first(now * kLine));
  }
  // The elements behind the last whole group are all counted.
  const std::size_t begin = groups * group;
  for (std::size_t j = begin; j < target.size(); ++j) {
    const float difference = e == nullptr ? target[j] : target[j] - e[j];
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(difference) & 0x7fffffff;
    range = {std::min(range[0], bits - 1), std::max(range[1], bits)};
    words[j - begin] = bits + kAboveEdge;
  }
  met_ = {range[0], range[1]};
  tally(std::span(words).first(target.size() - begin));
}

void MagnitudeHistogram::tally(std::span<const std::uint32_t> words) {
  if (tallied_ + words.size() > kTalliedMax) flush();
  tallied_ += words.size();
  std::uint64_t* const tables = tables_.data();
  const std::size_t mask = table_mask_;
  const auto put = [&](std::size_t i, std::size_t table) {
    const std::uint64_t word = words[i];
    tables[(table & mask) * kMagnitudeBins + (word >> kMagnitudeBinBits)] += kOne + word;
  };
  std::size_t i = 0;
  for (; i + kTables <= words.size(); i += kTables)
    for (std::size_t table = 0; table < kTables; ++table) put(i + table, table);
  for (; i < words.size(); ++i) put(i, 0);
}

void MagnitudeHistogram::flush() {
  for_each_bin_met([&](std::size_t b) {
    const std::uint64_t each = kOne + (std::uint64_t{b} << kMagnitudeBinBits);  // no distances
    for (std::size_t table = 0; table <= table_mask_; ++table) {
      std::uint64_t& number = tables_[table * kMagnitudeBins + b];
      if (number == 0) continue;
      bins_[b].count += number / each;
      bins_[b].above_edge += number % each;
      number = 0;
    }
  });
  tallied_ = 0;
}

std::span<const MagnitudeBin> MagnitudeHistogram::bins() {
  flush();
  return bins_;
}

}  // namespace kimesh::kernels
#endif  // HWY_ONCE
