// The k largest elements of a difference, in three steps: a sample gives a lower bound that
// probably leaves a few more than k; one pass collects the elements that reach it; a radix
// selection finds the k largest of these exactly.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "kimesh/kernels/collect.h"
#include "kimesh/util/check.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "largest_cpu.cpp"
#include "simd_dispatch.h"
#include "simd_lanes.h"

HWY_BEFORE_NAMESPACE();
namespace kimesh::kernels::HWY_NAMESPACE {
namespace {

// The key of a float is its bits without the sign. As signed integers, keys order like magnitudes.
constexpr std::uint32_t kMagnitudeBits = 0x7fffffff;

using SignedWords = hn::Vec<hn::RebindToSigned<decltype(kWords)>>;
constexpr hn::RebindToSigned<hn::ScalableTag<float>> kSigned;

HWY_INLINE SignedWords keys_of(Floats x) {
  return hn::BitCast(kSigned, hn::And(hn::BitCast(kWords, x), hn::Set(kWords, kMagnitudeBits)));
}

void magnitude_keys(const float* values, std::size_t size, std::uint32_t* keys) {
  std::size_t i = 0;
  for (; i + kLanes <= size; i += kLanes)
    hn::StoreU(hn::BitCast(kWords, keys_of(hn::LoadU(kFloats, values + i))), kWords, keys + i);
  for (; i < size; ++i) keys[i] = std::bit_cast<std::uint32_t>(values[i]) & kMagnitudeBits;
}

// Stores the smallest and the largest of `size` >= 1 keys in range[0] and range[1].
void key_range(const std::uint32_t* keys, std::size_t size, std::uint32_t* range) {
  std::uint32_t least = keys[0], most = keys[0];
  SignedWords low = hn::Set(kSigned, static_cast<std::int32_t>(least)), high = low;
  std::size_t i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    const SignedWords key = hn::BitCast(kSigned, hn::LoadU(kWords, keys + i));
    low = hn::Min(low, key);
    high = hn::Max(high, key);
  }
  for (; i < size; ++i) {
    least = std::min(least, keys[i]);
    most = std::max(most, keys[i]);
  }
  std::int32_t lanes[2 * kLanes];
  hn::StoreU(low, kSigned, lanes);
  hn::StoreU(high, kSigned, lanes + kLanes);
  for (std::size_t l = 0; l < kLanes; ++l) {
    least = std::min(least, static_cast<std::uint32_t>(lanes[l]));
    most = std::max(most, static_cast<std::uint32_t>(lanes[kLanes + l]));
  }
  range[0] = least;
  range[1] = most;
}

// Moves the keys in [least, most] to the front, and returns their number. Works in place: the write
// position never passes the read position.
std::size_t keep_between(std::uint32_t* keys, std::size_t size, std::uint32_t least,
                         std::uint32_t most) {
  const SignedWords below = hn::Set(kSigned, static_cast<std::int32_t>(least) - 1);
  const SignedWords high = hn::Set(kSigned, static_cast<std::int32_t>(most));
  std::size_t out = 0, i = 0;
  for (; i + kLanes <= size; i += kLanes) {
    const Words x = hn::LoadU(kWords, keys + i);
    const SignedWords key = hn::BitCast(kSigned, x);
    const auto between = hn::AndNot(hn::Gt(key, high), hn::Gt(key, below));
    out += store_hits(hn::RebindMask(kFloats, between), x, keys + out);
  }
  for (; i < size; ++i)
    if (keys[i] >= least && keys[i] <= most) keys[out++] = keys[i];
  return out;
}

// Moves the entries above `key`, and the first `ties` entries that equal it, to the front in their
// order. Returns their number. Works in place, as keep_between.
std::size_t keep_above(std::uint32_t* indices, float* values, std::size_t size, std::uint32_t key,
                       std::size_t ties) {
  const SignedWords kth = hn::Set(kSigned, static_cast<std::int32_t>(key));
  std::size_t out = 0, i = 0;
  const auto one_by_one = [&](std::size_t end) {
    for (; i < end; ++i) {
      const std::uint32_t own = std::bit_cast<std::uint32_t>(values[i]) & kMagnitudeBits;
      const bool tied = own == key && ties > 0;
      ties -= tied ? 1 : 0;
      if (own <= key && !tied) continue;
      indices[out] = indices[i];
      values[out++] = values[i];
    }
  };
  while (i + kLanes <= size) {
    const Floats x = hn::LoadU(kFloats, values + i);
    const SignedWords keys = keys_of(x);
    if (ties > 0 && !hn::AllFalse(kSigned, hn::Eq(keys, kth))) {
      one_by_one(i + kLanes);
      continue;
    }
    const Words positions = hn::LoadU(kWords, indices + i);
    out += store_hits(hn::RebindMask(kFloats, hn::Gt(keys, kth)), positions, x, indices + out,
                      values + out);
    i += kLanes;
  }
  one_by_one(size);
  return out;
}

}  // namespace
}  // namespace kimesh::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kimesh::kernels {
namespace {

HWY_EXPORT(magnitude_keys);
HWY_EXPORT(key_range);
HWY_EXPORT(keep_between);
HWY_EXPORT(keep_above);

constexpr std::size_t kWholeSampleMax = 4096;  // shorter vectors are their own sample
constexpr std::uint32_t kLeastNonzeroKey = 1;
constexpr std::uint32_t kInfinityBits = 0x7f800000;  // a NaN has more, and is no lower bound

struct Kth {
  std::uint32_t key = 0;  // the k-th largest key
  std::size_t ties = 0;   // the number of elements with this key among the k largest
};

// The number of keys in each of 1024 equal parts of a range.
class RangeCounts {
 public:
  static constexpr std::size_t kParts = 1024;

  RangeCounts(std::span<const std::uint32_t> keys, std::uint32_t least, unsigned shift) {
    std::size_t i = 0;
    for (; i + kTables <= keys.size(); i += kTables)  // in turn, as MagnitudeHistogram does
      for (std::size_t table = 0; table < kTables; ++table)
        ++tables_[table][(keys[i + table] - least) >> shift];
    for (; i < keys.size(); ++i) ++tables_[0][(keys[i] - least) >> shift];
  }
  [[nodiscard]] std::size_t of(std::size_t part) const {
    std::size_t count = 0;
    for (const auto& table : tables_) count += table[part];
    return count;
  }

 private:
  static constexpr std::size_t kTables = 4;
  std::array<std::array<std::uint32_t, kParts>, kTables> tables_{};
};

// Radix selection: divides the range of the keys into equal parts, and goes on with the part that
// holds the k-th largest key. Takes four rounds at most, however many keys are equal. Overwrites
// the keys. Requires 1 <= k <= keys.size().
Kth kth_largest(std::span<std::uint32_t> keys, std::size_t k) {
  constexpr std::size_t kFew = 64;
  for (;;) {
    if (keys.size() <= kFew) {
      std::ranges::nth_element(keys, keys.begin() + static_cast<std::ptrdiff_t>(k - 1),
                               std::greater<>());
      const std::uint32_t key = keys[k - 1];
      const auto larger = std::ranges::count_if(keys, [&](auto other) { return other > key; });
      return {key, k - static_cast<std::size_t>(larger)};
    }
    std::array<std::uint32_t, 2> range;
    HWY_DYNAMIC_DISPATCH(key_range)(keys.data(), keys.size(), range.data());
    const auto [least, most] = range;
    if (least == most) return {least, k};
    const auto width = static_cast<unsigned>(std::bit_width(most - least));
    const unsigned shift = width > 10 ? width - 10 : 0;
    const RangeCounts counts(keys, least, shift);
    std::uint32_t part = (most - least) >> shift;
    for (std::size_t count = counts.of(part); count < k; count = counts.of(--part)) k -= count;
    const std::uint32_t first = least + (part << shift);
    const std::uint32_t last = std::min(most, first + ((1u << shift) - 1));
    keys = keys.first(HWY_DYNAMIC_DISPATCH(keep_between)(keys.data(), keys.size(), first, last));
  }
}

std::uint32_t key_of(float value) {
  return std::bit_cast<std::uint32_t>(std::abs(value));
}

// The values with keys above the returned one, and its first ties, are the k largest, zeros left
// out. Requires values.
Kth kth_of(std::span<const float> values, std::size_t k, SelectScratch& scratch) {
  if (k == 0) return {std::numeric_limits<std::int32_t>::max(), 0};
  if (values.size() <= k) return {};  // drops zeros only
  scratch.keys.resize(values.size());
  HWY_DYNAMIC_DISPATCH(magnitude_keys)(values.data(), values.size(), scratch.keys.data());
  Kth kth = kth_largest(scratch.keys, k);
  if (kth.key == 0) kth.ties = 0;
  return kth;
}

// Removes all other entries from the position `first` on.
void keep_from(std::size_t first, const Kth& kth, Entries& entries) {
  const std::size_t kept = HWY_DYNAMIC_DISPATCH(keep_above)(
      entries.indices.data() + first, entries.values.data() + first, entries.size() - first,
      kth.key, kth.ties);
  entries.resize(first + kept);
}

std::span<std::uint32_t> copied(std::span<const std::uint32_t> from,
                                UninitializedVector<std::uint32_t>& scratch) {
  scratch.resize(from.size());
  std::ranges::copy(from, scratch.begin());
  return scratch;
}

}  // namespace

Bracket::Bracket(std::span<const float> target, std::span<const float> estimate, std::size_t k,
                 SelectScratch& scratch)
    : scratch_(scratch), whole_(target.size() < kWholeSampleMax), rank_(static_cast<double>(k)) {
  if (k == 0) return;
  sample_magnitudes(target, estimate, scratch.sample);
  if (!whole_)
    rank_ *= static_cast<double>(scratch.sample.size()) / static_cast<double>(target.size());
  look();
}

// Takes the rank in the sample with a margin of six standard deviations of a random sample, since
// neighbours in a cache line are alike. A wrong bound costs time only.
void Bracket::look() {
  const double safe = whole_ ? rank_ : std::ceil(rank_ + 6 * std::sqrt(rank_) + 6);
  key_ = kLeastNonzeroKey;
  if (safe > static_cast<double>(scratch_.sample.size())) return;
  const auto keys = copied(scratch_.sample, scratch_.keys);
  key_ = std::max(kth_largest(keys, static_cast<std::size_t>(safe)).key, kLeastNonzeroKey);
}

float Bracket::lower() const {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  return key_ == 0 ? kInfinity : std::bit_cast<float>(std::min(key_, kInfinityBits));
}
bool Bracket::takes_all() const {
  return key_ == kLeastNonzeroKey;
}

void Bracket::widen() {
  const std::uint32_t before = key_;
  rank_ = 16 * rank_ + 64;
  look();
  if (key_ == before || whole_) key_ = kLeastNonzeroKey;  // ties: other ranks have the same key
}

Energies collect_topk(std::span<const float> target, std::span<const float> estimate, std::size_t k,
                      std::uint32_t index_base, Entries& entries, SelectScratch& scratch) {
  KIMESH_CHECK(target.size() == estimate.size(), "a difference has the size of both sides");
  const std::size_t before = entries.size();
  for (Bracket bracket(target, estimate, k, scratch);; bracket.widen()) {
    const Energies energies =
        collect(target, estimate, bracket.lower(), index_base, entries, nullptr);
    const bool enough = entries.size() - before >= k || bracket.takes_all();
    if (enough || !energies.finite()) {
      keep_largest(k, entries, scratch, before);
      return energies;
    }
    entries.resize(before);
  }
}

void keep_largest(std::size_t k, Entries& entries, SelectScratch& scratch, std::size_t first) {
  KIMESH_CHECK(first <= entries.size(), "a position of the entries");
  if (entries.size() == first) return;
  const Kth kth = kth_of(std::span<const float>(entries.values).subspan(first), k, scratch);
  keep_from(first, kth, entries);
}

void append_largest(std::size_t k, const Entries& from, std::size_t first, std::size_t last,
                    Entries& to, SelectScratch& scratch) {
  KIMESH_CHECK(first <= last && last <= from.size() && &from != &to, "a part of other entries");
  if (first == last) return;
  Kth kth = kth_of(std::span<const float>(from.values).subspan(first, last - first), k, scratch);
  constexpr std::size_t kBlock = 4096;  // entries: a block stays in the first cache
  for (std::size_t begin = first; begin < last; begin += kBlock) {
    const std::size_t before = to.size();
    append(from, begin, std::min(begin + kBlock, last), to);
    keep_from(before, kth, to);
    if (kth.ties == 0) continue;
    kth.ties -= static_cast<std::size_t>(
        std::ranges::count(std::span(to.values).subspan(before), kth.key, key_of));
  }
}

}  // namespace kimesh::kernels
#endif  // HWY_ONCE
