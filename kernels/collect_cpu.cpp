#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "kimesh/kernels/collect.h"
#include "kimesh/kernels/sparse.h"
#include "kimesh/util/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collect_cpu.cpp"
#include "simd_dispatch.h"
#include "simd_lanes.h"

HWY_BEFORE_NAMESPACE();
namespace kimesh::kernels::HWY_NAMESPACE {
namespace {

// Prefetches what is read soon: the hardware prefetcher stops at the end of a page.
HWY_INLINE void prefetch(const float* target, const float* estimate, std::size_t from) {
  constexpr std::size_t kAhead = 512, kLine = 16;
  for (std::size_t j = from; j < from + kGroup; j += kLine) {
    hwy::Prefetch(target + j + kAhead);
    hwy::Prefetch(estimate + j + kAhead);
  }
}

// Computes the differences of a group, and which of them reach `lower`.
HWY_INLINE Hits look(const float* target, const float* estimate, Floats lower, float* differences) {
  const Floats difference = hn::Sub(hn::LoadU(kFloats, target), hn::LoadU(kFloats, estimate));
  hn::StoreU(difference, kFloats, differences);
  return hn::Ge(hn::Abs(difference), lower);
}

// Adds a group to both energies. The values are loaded from memory again: a conversion with a load
// needs no shuffle, unlike one between registers.
HWY_INLINE void add_energies(const float* target, const float* differences, SquareSum& wanted,
                             SquareSum& missing) {
  for (std::size_t j = 0; j < kGroup; j += kPartialSums) {
    wanted.add_lanes(target + j);
    missing.add_lanes(differences + j);
  }
}

// Bit i stands for lane i.
HWY_INLINE std::uint64_t bits_of(Hits hits) {
  std::uint8_t bytes[8] = {};
  hn::StoreMaskBits(kFloats, hits, bytes);
  if (kLanes <= 8) return bytes[0];
  return bytes[0] | std::uint64_t{bytes[1]} << 8;
}

// Stores the hits of a group one by one, for groups with a few hits. The first two are stored
// without a branch, whether they exist or not, because their number is unpredictable.
HWY_INLINE std::size_t take_marked(std::uint64_t marks, const float* differences,
                                   std::uint32_t position, std::uint32_t* indices, float* values) {
  const auto count = static_cast<std::size_t>(std::popcount(marks));
  const auto take = [&](std::size_t i) {
    const auto j = static_cast<std::uint32_t>(std::countr_zero(marks)) % std::uint32_t{kGroup};
    marks &= marks - 1;
    indices[i] = position + j;
    values[i] = differences[j];
  };
  take(0);
  take(1);
  for (std::size_t i = 2; HWY_UNLIKELY(i < count); ++i) take(i);
  return count;
}

// Stores the hits of a group register by register, for vectors with many hits, where branches on
// single hits would be mispredicted.
template <bool kMany>
HWY_INLINE std::size_t collect_groups(const float* target, const float* estimate, std::size_t size,
                                      float lower_magnitude, std::uint32_t index_base,
                                      std::uint32_t* indices, float* values, double* sums) {
  alignas(64) float differences[kGroup];
  SquareSum wanted(sums), missing(sums + kPartialSums);
  const Floats lower = hn::Set(kFloats, lower_magnitude);
  // Computed once: in the loop g++ 12 would assemble an Iota from single numbers.
  Words positions = hn::Iota(kWords, index_base);
  const Words step = hn::Set(kWords, static_cast<std::uint32_t>(kLanes));
  std::size_t count = 0;
  for (std::size_t group = 0; group < size; group += kGroup) {
    prefetch(target, estimate, group);
    std::uint64_t marks = 0;
    for (std::size_t j = 0; j < kGroup; j += kLanes) {
      const Hits hits = look(target + group + j, estimate + group + j, lower, differences + j);
      if (kMany) {
        const Floats difference = hn::LoadU(kFloats, differences + j);
        count += store_hits(hits, positions, difference, indices + count, values + count);
        positions = hn::Add(positions, step);
      } else {
        marks |= bits_of(hits) << j;
      }
    }
    add_energies(target + group, differences, wanted, missing);
    if (!kMany)
      count += take_marked(marks, differences, index_base + static_cast<std::uint32_t>(group),
                           indices + count, values + count);
  }
  wanted.store(sums);
  missing.store(sums + kPartialSums);
  return count;
}

// Appends the elements that reach `lower`, and adds to the sums of both energies. `size` is a
// multiple of kGroup. Returns the number of entries. The entries have room for one register more.
std::size_t collect_few(const float* target, const float* estimate, std::size_t size, float lower,
                        std::uint32_t index_base, std::uint32_t* indices, float* values,
                        double* sums) {
  return collect_groups<false>(target, estimate, size, lower, index_base, indices, values, sums);
}
std::size_t collect_many(const float* target, const float* estimate, std::size_t size, float lower,
                         std::uint32_t index_base, std::uint32_t* indices, float* values,
                         double* sums) {
  return collect_groups<true>(target, estimate, size, lower, index_base, indices, values, sums);
}

}  // namespace
}  // namespace kimesh::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kimesh::kernels {
namespace {

HWY_EXPORT(collect_few);
HWY_EXPORT(collect_many);

constexpr std::size_t kGroup = 64;
constexpr std::size_t kChunk = 4096;  // elements between two checks of the room for entries
constexpr std::size_t kSlack = 64;    // room for whole registers that are stored
// With more hits than this in a chunk the next one is expected to have many, too.
constexpr std::size_t kManyHits = kChunk / 16;
constexpr std::size_t kPartialSums = 8;

double total(const double* sums) {
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

// Collects in chunks. Owns the end of the entries until finish().
class Collector {
 public:
  // `size` is that of the whole span that add() collects.
  Collector(float lower, std::uint32_t index_base, std::size_t size, Entries& entries)
      : lower_(lower),
        index_base_(index_base),
        entries_(entries),
        count_(entries.size()),
        most_(count_ + size + kGroup + kSlack) {}

  // Collects at most kChunk elements, a multiple of kGroup, at `position` of the span.
  void add(const float* target, const float* estimate, std::size_t size, std::size_t position) {
    if (entries_.size() < count_ + size + kSlack) grow(count_ + size + kSlack);
    const auto collect = many_ ? HWY_DYNAMIC_DISPATCH(collect_many)  //
                               : HWY_DYNAMIC_DISPATCH(collect_few);
    const std::size_t hits =
        collect(target, estimate, size, lower_, index_base_ + static_cast<std::uint32_t>(position),
                entries_.indices.data() + count_, entries_.values.data() + count_, sums_.data());
    many_ = hits > kManyHits;
    count_ += hits;
  }
  Energies finish() {
    entries_.resize(count_);
    return {total(sums_.data()), total(sums_.data() + kPartialSums)};
  }

 private:
  // Doubles the room, but takes no more than the whole span may need, where a vector would take up
  // to twice as much. Where the entries of many spans are collected, room still grows by a quarter
  // at least, so that few of them are copied.
  void grow(std::size_t needed) {
    const std::size_t now = entries_.size();
    const std::size_t room = std::max(std::min(2 * now, std::max(most_, now + now / 4)), needed);
    entries_.indices.reserve(room);
    entries_.values.reserve(room);
    entries_.resize(room);
  }

  float lower_;
  std::uint32_t index_base_;
  Entries& entries_;
  std::size_t count_;
  std::size_t most_;  // the most entries that the whole span can need room for
  bool many_ = false;
  std::array<double, 2 * kPartialSums> sums_{};
};

// Scattered elements: their cache lines are prefetched.
constexpr std::size_t kAddAhead = 32;

// Independent partial sums, so that additions overlap.
class AddedSums {
 public:
  static constexpr std::size_t kWays = 4;

  void add(std::size_t position, double removed, double left) {
    removed_[position % kWays] += removed * removed;
    left_[position % kWays] += left * left;
  }
  // All values are whole differences: nothing is left.
  void add(std::span<const float> removed) {
    std::array<double, kWays> sums = removed_;
    const std::size_t whole = removed.size() / kWays * kWays;
    for (std::size_t c = 0; c < whole; c += kWays)
      for (std::size_t way = 0; way < kWays; ++way) {
        const auto x = static_cast<double>(removed[c + way]);
        sums[way] += x * x;
      }
    removed_ = sums;
    for (std::size_t c = whole; c < removed.size(); ++c) add(c, static_cast<double>(removed[c]), 0);
  }
  [[nodiscard]] Added total() const {
    return {(removed_[0] + removed_[1]) + (removed_[2] + removed_[3]),
            (left_[0] + left_[1]) + (left_[2] + left_[3])};
  }

 private:
  std::array<double, kWays> removed_{}, left_{};
};

}  // namespace

bool Energies::finite() const {
  return std::isfinite(target) && std::isfinite(difference);
}
Energies& Energies::operator+=(const Energies& other) {
  target += other.target;
  difference += other.difference;
  return *this;
}

Energies collect(std::span<const float> target, std::span<const float> estimate, float lower,
                 std::uint32_t index_base, Entries& entries, MagnitudeHistogram* histogram) {
  KIMESH_CHECK(lower > 0, "zeros are never collected");
  KIMESH_CHECK(target.size() == estimate.size(), "a difference has the size of both sides");
  KIMESH_CHECK(target.size() + index_base <= std::numeric_limits<std::uint32_t>::max(),
               "positions fit 32 bits");
  Collector collector(lower, index_base, target.size(), entries);
  const std::size_t whole = target.size() / kGroup * kGroup;
  for (std::size_t begin = 0; begin < whole; begin += kChunk) {
    const std::size_t size = std::min(kChunk, whole - begin);
    collector.add(target.data() + begin, estimate.data() + begin, size, begin);
    if (histogram != nullptr)
      histogram->add(target.subspan(begin, size), estimate.subspan(begin, size));
  }
  if (whole < target.size()) {  // padded with zeros, which change no sum and are no entries
    std::array<float, kGroup> t{}, e{};
    std::ranges::copy(target.subspan(whole), t.begin());
    std::ranges::copy(estimate.subspan(whole), e.begin());
    collector.add(t.data(), e.data(), kGroup, whole);
    if (histogram != nullptr) histogram->add(target.subspan(whole), estimate.subspan(whole));
  }
  return collector.finish();
}

void sample_magnitudes(std::span<const float> target, std::span<const float> estimate,
                       std::vector<std::uint32_t>& magnitude_bits) {
  constexpr std::size_t kLine = 16, kWholeMax = 4096, kShare = 256, kAhead = 16;
  constexpr std::uint32_t kMagnitudeBits = 0x7fffffff;
  const std::size_t size = target.size();
  const bool whole = size < kWholeMax;
  const std::size_t wanted = std::clamp<std::size_t>(size / kShare, 1024, 65536);
  const std::size_t lines = whole ? (size + kLine - 1) / kLine : wanted / kLine;
  const std::size_t stride = whole ? 1 : size / wanted;
  const auto begin_of = [&](std::size_t q) {
    const auto hash = static_cast<std::uint32_t>(q) * 2654435761u;  // Knuth, TAOCP 3, 6.4
    return (q * stride + (hash >> 8) % stride) * kLine;
  };
  magnitude_bits.resize(whole ? size : lines * kLine);
  for (std::size_t q = 0; q < lines; ++q) {
    if (!whole && q + kAhead < lines) {
      hwy::Prefetch(&target[begin_of(q + kAhead)]);
      hwy::Prefetch(&estimate[begin_of(q + kAhead)]);
    }
    const std::size_t begin = begin_of(q);
    for (std::size_t j = 0; j < std::min(kLine, size - begin); ++j)
      magnitude_bits[q * kLine + j] =
          std::bit_cast<std::uint32_t>(target[begin + j] - estimate[begin + j]) & kMagnitudeBits;
  }
}

Added add_entries(std::span<const float> target, std::span<const std::uint32_t> indices,
                  std::span<const float> values, std::span<float> estimate) {
  AddedSums sums;
  for (std::size_t c = 0; c < indices.size(); ++c) {
    const std::uint32_t ahead = indices[std::min(c + kAddAhead, indices.size() - 1)];
    hwy::Prefetch(&target[ahead]);
    hwy::Prefetch(&estimate[ahead]);
    const std::uint32_t j = indices[c];
    const float before = target[j] - estimate[j];
    estimate[j] += values[c];
    sums.add(c, static_cast<double>(before),
             static_cast<double>(target[j]) - static_cast<double>(estimate[j]));
  }
  return sums.total();
}

Added add_whole_entries(std::span<const std::uint32_t> indices, std::span<const float> values,
                        std::span<float> estimate) {
  add_sparse(std::as_bytes(indices), std::as_bytes(values), estimate);
  AddedSums sums;
  sums.add(values);
  return sums.total();
}

}  // namespace kimesh::kernels
#endif  // HWY_ONCE
