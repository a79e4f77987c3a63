#include <cstring>
#include <string>

#include "src/compress/families.h"
#include "src/compress/rans.h"
#include "src/compress/rans_lanes.h"
#include "src/compress/rans_model.h"

namespace kimesh::rans {
namespace {

// What a state tells of its next symbol.
struct Slot {
  std::uint32_t symbol, offset, frequency;
};

// Tables for few elements: cheap to make, a symbol is found by comparing with all starts.
class SearchedTables {
 public:
  SearchedTables() { renew(usual().ranges); }
  void renew(const AllRanges& ranges) {
    ranges_ = ranges;
    for (std::size_t t = 0; t < kTables; ++t)
      for (std::size_t s = 0; s < kSymbols; ++s)
        starts_[t][s] = static_cast<std::int16_t>(ranges[t][s].start);
  }
  [[nodiscard]] Slot find(std::uint32_t table, std::uint32_t place) const {
    std::int16_t symbols = 0;
    for (const std::int16_t start : starts_[table])
      symbols = static_cast<std::int16_t>(symbols + (start <= static_cast<std::int16_t>(place)));
    const auto symbol = static_cast<std::uint32_t>(symbols - 1);
    const Range range = ranges_[table][symbol];
    return {symbol, place - range.start, range.frequency};
  }

 private:
  AllRanges ranges_;
  std::array<std::array<std::int16_t, kSymbols>, kTables> starts_;
};

// Tables for many elements, with an entry for each place.
class LookedUpTables {
 public:
  LookedUpTables() : entries_(kTables * std::size_t{kProbabilityOne}) { fill_all(usual().ranges); }
  void renew(const AllRanges& ranges) { fill_all(ranges); }
  [[nodiscard]] Slot find(std::uint32_t table, std::uint32_t place) const {
    const std::uint32_t entry = entries_[table * kProbabilityOne + place];
    return {entry % (1u << kSymbolBits), (entry >> kSymbolBits) % kProbabilityOne,
            entry >> (kSymbolBits + kProbabilityBits)};
  }

 private:
  static constexpr unsigned kSymbolBits = 8;
  static_assert(kProbabilityOne - kSymbols < 1u << (32 - kProbabilityBits - kSymbolBits));

  void fill_all(const AllRanges& ranges) {
    for (std::size_t t = 0; t < kTables; ++t) {
      if (std::ranges::equal(ranges[t], ranges_[t])) continue;
      ranges_[t] = ranges[t];
      for (std::uint32_t s = 0; s < kSymbols; ++s) {
        const Range range = ranges[t][s];
        const std::uint32_t first =
            std::uint32_t{range.frequency} << (kSymbolBits + kProbabilityBits) | s;
        std::uint32_t* const entries = &entries_[t * kProbabilityOne + range.start];
        for (std::uint32_t j = 0; j < range.frequency; ++j) entries[j] = first | j << kSymbolBits;
      }
    }
  }

  kernels::Unfilled<std::uint32_t> entries_;
  AllRanges ranges_{};
};

struct Lane {
  std::uint64_t state = 0;
  Mean gaps, levels;
};

template <typename Tables>
class Decoder {
 public:
  Decoder(std::span<const std::byte> bytes, const Plan& plan, Elements& elements)
      : split_(plan.count), elements_(elements) {
    lanes_.fill({0, Mean(usual_gap(plan.count, plan.size)), Mean(kUsualLevel)});
    for (std::size_t l = 0; l < split_.lanes; ++l) {
      std::memcpy(&lanes_[l].state, bytes.data(), plan.state_bytes);
      bytes = bytes.subspan(plan.state_bytes);
    }
    words_ = bytes;
  }

  // Gaps take the indices' places.
  template <bool kMarked>
  Status run() {
    std::size_t next_renewal = split_.first_renewal();
    for (std::size_t round = 0; round < split_.rounds(); ++round) {
      if (round == next_renewal) {
        renew();
        next_renewal *= 2;
      }
      const bool many_words = words_.size() >= kLanes * kElementWordsMax * sizeof(std::uint32_t);
      if (many_words && split_.width(round) == kLanes) {
        for (std::size_t l = 0; l < kLanes; ++l)
          element<kMarked, false>(lanes_[l], split_.begin(l) + round);
      } else {
        for (std::size_t l = 0; l < split_.width(round); ++l)
          element<kMarked, true>(lanes_[l], split_.begin(l) + round);
        if (failed_) return malformed("coded elements that end too early");
      }
    }
    return check_end();
  }

 private:
  static constexpr std::size_t kElementWordsMax = 8;

  template <bool kMarked, bool kChecked>
  void element(Lane& lane, std::size_t i) {
    std::uint64_t x = lane.state;
    const Begun gap = take(x, lane.gaps, 0);
    const Begun level = kMarked ? take(x, lane.levels, kScales) : Begun{};
    x = filled<kChecked>(x);
    const unsigned gap_bits = gap.raw_bits(), level_bits = kMarked ? 1 + level.raw_bits() : 0;
    std::uint32_t gap_value, level_value = 0, sign = 0;
    if (gap.escapes() || level.escapes() || gap_bits + level_bits > kRawBitsMax) [[unlikely]] {
      gap_value = take_tail<kChecked>(x, gap);
      if constexpr (kMarked) {
        sign = take_raw(x, 1);
        x = filled<kChecked>(x);
        level_value = take_tail<kChecked>(x, level);
      }
    } else {
      gap_value = gap.value(low_bits(x, gap_bits));
      if constexpr (kMarked) {
        const std::uint64_t rest = x >> gap_bits;
        sign = rest & 1;
        level_value = level.value(low_bits(rest >> 1, level.raw_bits()));
      }
      x = filled<kChecked>(x >> (gap_bits + level_bits));
    }
    lane.state = x;
    lane.gaps.add(gap_value);
    elements_.indices[i] = gap_value;
    if constexpr (kMarked) {
      lane.levels.add(level_value);
      all_levels_ |= level_value;
      elements_.marks[i] = level_value << 1 | sign;
    }
  }

  void renew() {
    AllRanges ranges;
    for (std::size_t t = 0; t < kTables; ++t) ranges[t] = counts_[t].ranges();
    tables_.renew(ranges);
  }

  Begun take(std::uint64_t& x, const Mean& mean, std::uint32_t first_table) {
    const Scale scale = mean.scale();
    const std::uint32_t table = first_table + scale.table;
    const Slot slot = tables_.find(table, static_cast<std::uint32_t>(x % kProbabilityOne));
    x = (x >> kProbabilityBits) * slot.frequency + slot.offset;
    if (slot.symbol != kEscape) counts_[table].add(slot.symbol);
    return {slot.symbol, scale.shift, table};
  }

  template <bool kChecked>
  std::uint64_t filled(std::uint64_t x) {
    if (x >= kStateMin) return x;
    if constexpr (kChecked) {
      if (words_.size() < sizeof(std::uint32_t)) {
        failed_ |= split_.lanes > 1;
        return x;
      }
    }
    std::uint32_t word;
    std::memcpy(&word, words_.data(), sizeof(word));
    words_ = words_.subspan(sizeof(word));
    return x << kWordBits | word;
  }

  static std::uint32_t take_raw(std::uint64_t& x, unsigned bits) {
    const std::uint64_t raw = low_bits(x, bits);
    x >>= bits;
    return static_cast<std::uint32_t>(raw);
  }

  // With the words that it takes behind each part.
  template <bool kChecked>
  std::uint32_t take_tail(std::uint64_t& x, Begun begun) {
    std::uint32_t value;
    if (begun.escapes()) {
      const unsigned length = take_raw(x, kLengthBits);
      x = filled<kChecked>(x);
      value = ((take_raw(x, length) | 1u << length) - 1) & kNumberMax;
      counts_[begun.table].add(symbol_of(value, begun.shift));
    } else {
      value = begun.value(take_raw(x, begun.raw_bits()));
    }
    x = filled<kChecked>(x);
    return value;
  }

  Status check_end() const {
    if (failed_) return malformed("coded elements that end too early");
    if (!words_.empty()) return malformed("coded elements that leave bytes over");
    for (std::size_t l = 0; l < split_.lanes; ++l)
      if (lanes_[l].state != split_.last_state()) return malformed("a state that ends elsewhere");
    if (all_levels_ > kLevelMax) return malformed("a level over the largest");
    return ok_status();
  }

  const Split split_;
  Elements& elements_;
  std::span<const std::byte> words_;  // those not yet taken
  std::uint32_t all_levels_ = 0;
  bool failed_ = false;
  std::array<Lane, kLanes> lanes_;
  AllCounts counts_ = usual().counts;
  Tables tables_;
};

template <typename Tables>
Status run(std::span<const std::byte> bytes, const Plan& plan, Elements& elements) {
  Decoder<Tables> decoder(bytes, plan, elements);
  return plan.with_marks ? decoder.template run<true>() : decoder.template run<false>();
}

Status gaps_to_indices(std::span<std::uint32_t> gaps, std::size_t size) {
  std::uint64_t next = 0;
  for (std::uint32_t& gap : gaps) {
    next += gap;
    gap = static_cast<std::uint32_t>(next++);
  }
  if (next > size) return malformed("an index past the last of " + std::to_string(size));
  return ok_status();
}

}  // namespace

Status decode(std::span<const std::byte> bytes, const Plan& plan, Elements& elements) {
  // Each mark has its sign's bit; positions alone may take none.
  if (plan.with_marks && plan.count > 8 * bytes.size())
    return malformed("more elements than the bytes can hold");
  if (bytes.size() < lanes_of(plan.count) * plan.state_bytes)
    return malformed("coded elements without their states");
  elements.indices.resize(plan.count);
  elements.marks.resize(plan.with_marks ? plan.count : 0);
  const Status decoded = lanes_of(plan.count) == 1 ? run<SearchedTables>(bytes, plan, elements)
                                                   : run<LookedUpTables>(bytes, plan, elements);
  if (!decoded) return decoded;
  return gaps_to_indices(elements.indices, plan.size);
}

}  // namespace kimesh::rans
