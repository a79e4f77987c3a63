#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "kimesh/rans/model.h"
#include "kimesh/rans/rans.h"
#include "streams.h"

namespace kimesh::rans {
namespace {

Error malformed(std::string what) {
  return {ErrorCode::kMalformed, std::move(what)};
}

// The next symbol of a state: its index among the tables of gaps or of levels, the offset in its
// interval, and its frequency.
struct Slot {
  std::uint32_t index, offset, frequency;
};
std::uint32_t index_of(std::size_t table, std::size_t symbol) {
  return static_cast<std::uint32_t>(table % kScales * kSymbols + symbol);
}

// Tables for few elements: cheap to renew; a symbol is found by comparison with all starts.
class SearchedTables {
 public:
  void renew(std::size_t table, const Ranges& ranges) {
    ranges_[table] = ranges;
    for (std::size_t s = 0; s < kSymbols; ++s)
      starts_[table][s] = static_cast<std::int16_t>(ranges[s].start);
  }
  [[nodiscard]] Slot find(std::uint32_t table, std::uint32_t place) const {
    std::int16_t symbols = 0;
    for (const std::int16_t start : starts_[table])
      symbols = static_cast<std::int16_t>(symbols + (start <= static_cast<std::int16_t>(place)));
    const auto symbol = static_cast<std::uint32_t>(symbols - 1);
    const Range range = ranges_[table][symbol];
    return {index_of(table, symbol), place - range.start, range.frequency};
  }

 private:
  AllRanges ranges_;
  std::array<std::array<std::int16_t, kSymbols>, kTables> starts_;
};

// Tables for many elements: an entry for each of the kProbabilityOne places.
class LookedUpTables {
 public:
  LookedUpTables() : entries_(kTables * std::size_t{kProbabilityOne}) {}
  void renew(std::size_t table, const Ranges& ranges) {
    for (std::uint32_t s = 0; s < kSymbols; ++s) {
      const Range range = ranges[s];
      const std::uint32_t first =
          std::uint32_t{range.frequency} << (kIndexBits + kProbabilityBits) | index_of(table, s);
      std::uint32_t* const entries = &entries_[table * kProbabilityOne + range.start];
      for (std::uint32_t j = 0; j < range.frequency; ++j) entries[j] = first | j << kIndexBits;
    }
  }
  [[nodiscard]] Slot find(std::uint32_t table, std::uint32_t place) const {
    const std::uint32_t entry = entries_[table * kProbabilityOne + place];
    return {entry % (1u << kIndexBits), (entry >> kIndexBits) % kProbabilityOne,
            entry >> (kIndexBits + kProbabilityBits)};
  }

 private:
  static constexpr unsigned kIndexBits = 8;
  static_assert(kScales * kSymbols == 1 << kIndexBits);
  static_assert(kProbabilityOne - kSymbols < 1u << (32 - kProbabilityBits - kIndexBits));

  kernels::UninitializedVector<std::uint32_t> entries_;
};

struct Stream {
  std::uint64_t state = 0;
  Mean gaps, levels;
  std::size_t next = 0;  // index of the next element
};

template <typename Tables>
class Decoder {
 public:
  Decoder(std::span<const std::byte> bytes, const DecodeParameters& parameters, Elements& elements)
      : split_(parameters.count), elements_(elements) {
    for (std::size_t t = 0; t < kTables; ++t) tables_.renew(t, initial_tables().ranges[t]);
    for (std::size_t l = 0; l < split_.streams; ++l) {
      streams_[l] = {0, Mean(initial_gap(parameters.count, parameters.size)), Mean(kInitialLevel),
                     split_.begin(l)};
      std::memcpy(&streams_[l].state, bytes.data(), parameters.state_bytes);
      bytes = bytes.subspan(parameters.state_bytes);
    }
    flow_.words = bytes.data();
    end_ = flow_.words + bytes.size();
  }

  // Writes gaps where the indices will be.
  template <bool kMarked>
  Status run() {
    std::size_t next_renewal = split_.first_renewal();
    for (std::size_t round = 0; round < split_.rounds();) {
      if (round == next_renewal) {
        renew();
        next_renewal *= 2;
      }
      const std::size_t before = round;
      round = run_fast<kMarked>(round, std::min(next_renewal, split_.each));
      if (round > before) continue;
      for (std::size_t l = 0; l < split_.width(round); ++l)
        element<kMarked, true>(streams_[l], flow_);
      if (flow_.failed) return malformed("coded elements that end too early");
      ++round;
    }
    return check_end();
  }

 private:
  static constexpr std::size_t kElementWordsMax = 8;

  // What changes with every element.
  struct Flow {
    const std::byte* words = nullptr;  // the next word to refill a state with
    std::uint32_t all_levels = 0;
    bool failed = false;
  };

  // The decoded element, and the state behind its raw bits.
  struct Rest {
    std::uint64_t state;
    std::uint32_t gap, level, sign;
  };

  // A popped symbol; `place` is its index among the counts of all tables.
  struct PoppedSymbol : SymbolPart {
    std::uint32_t place = 0;
  };

  // The symbols of an element (index among the tables of their kind) and their numbers of raw bits.
  struct ElementSymbols {
    std::uint64_t state;
    std::uint32_t gap, level, gap_bits, level_bits;
  };

  // Decodes whole rounds while there are enough words for any round, so that nothing is checked;
  // streams and flow are copied to let the compiler keep them in registers. Returns the next round.
  template <bool kMarked>
  std::size_t run_fast(std::size_t round, std::size_t end) {
    if (split_.streams < kStreams) return round;
    constexpr std::size_t kRoundBytesMax = kStreams * kElementWordsMax * sizeof(std::uint32_t);
    std::array<Stream, kStreams> streams = streams_;
    Flow flow = flow_;
    for (; round < end && left(flow) >= kRoundBytesMax; ++round) fast_round<kMarked>(streams, flow);
    streams_ = streams;
    flow_ = flow;
    return round;
  }

  // Pops the symbols of all streams first, so that the loads from the tables overlap. A round that
  // has an escape or more raw bits than one refill gives is decoded again by the slow path.
  template <bool kMarked>
  void fast_round(std::array<Stream, kStreams>& streams, Flow& flow) {
    std::array<ElementSymbols, kStreams> all;
    unsigned most = 0;
#pragma GCC unroll 4
    for (std::size_t l = 0; l < kStreams; ++l) {
      ElementSymbols& its = all[l];
      its.state = streams[l].state;
      start(streams[l].gaps, 0, its.state, its.gap, its.gap_bits);
      its.level_bits = 0;
      if constexpr (kMarked)
        start(streams[l].levels, kScales, its.state, its.level, its.level_bits);
      most = std::max(most, its.gap_bits + its.level_bits);
    }
    if (most >= kRawBitsMax) [[unlikely]] {
      flow = unusual_round<kMarked>(streams, flow);
      return;
    }
#pragma GCC unroll 4
    for (std::size_t l = 0; l < kStreams; ++l) finish<kMarked>(streams[l], all[l], flow);
  }

  void start(const Mean& mean, std::uint32_t first_table, std::uint64_t& state,
             std::uint32_t& index, std::uint32_t& bits) const {
    const Scale scale = mean.scale();
    const Slot slot = tables_.find(first_table + scale.table,
                                   static_cast<std::uint32_t>(state % kProbabilityOne));
    state = (state >> kProbabilityBits) * slot.frequency + slot.offset;
    index = slot.index;
    bits = scale.shift + kMoreBits[slot.index % kSymbols];
  }

  template <bool kMarked>
  void finish(Stream& stream, const ElementSymbols& its, Flow& flow) {
    const std::size_t i = stream.next++;
    std::uint64_t x = filled<false>(its.state, flow);
    const std::uint32_t gap = value_of(its.gap, its.gap_bits, x);
    ++seen_[its.gap];
    elements_.indices[i] = gap;
    stream.gaps.add(gap);
    x >>= its.gap_bits;
    if constexpr (kMarked) {
      const std::uint32_t level = value_of(its.level, its.level_bits, x >> 1);
      ++seen_[std::size_t{kScales} * kSymbols + its.level];
      elements_.marks[i] = level << 1 | static_cast<std::uint32_t>(x & 1);
      stream.levels.add(level);
      flow.all_levels |= level;
      x >>= 1 + its.level_bits;
    }
    stream.state = filled<false>(x, flow);
  }

  static std::uint32_t value_of(std::uint32_t index, std::uint32_t bits, std::uint64_t x) {
    const std::uint64_t top = kContinuations[index % kSymbols].top;
    return static_cast<std::uint32_t>(top << bits | low_bits(x, bits)) & kNumberMax;
  }

  template <bool kMarked>
  [[gnu::noinline]] Flow unusual_round(std::array<Stream, kStreams>& streams, Flow flow) {
    for (Stream& stream : streams) element<kMarked, false>(stream, flow);
    return flow;
  }

  template <bool kMarked, bool kChecked>
  void element(Stream& stream, Flow& flow) {
    const std::size_t i = stream.next++;
    std::uint64_t x = stream.state;
    const PoppedSymbol gap = pop_symbol(x, stream.gaps, 0);
    const PoppedSymbol level = kMarked ? pop_symbol(x, stream.levels, kScales) : PoppedSymbol{};
    x = filled<kChecked>(x, flow);
    const unsigned gap_bits = gap.raw_bits(), level_bits = kMarked ? 1 + level.raw_bits() : 0;
    // More than 31 raw bits are popped again below; a damaged message may ask for more than 64.
    Rest rest{x >> (gap_bits + level_bits) % 64, gap.value(low_bits(x, gap_bits)), 0, 0};
    if constexpr (kMarked) {
      rest.sign = x >> gap_bits & 1;
      rest.level = level.value(low_bits(x >> (gap_bits + 1), level.raw_bits()));
    }
    if (gap.escapes() || level.escapes() || gap_bits + level_bits > kRawBitsMax)
      rest = pop_long<kMarked, kChecked>(x, gap, level, flow);
    else
      rest.state = filled<kChecked>(rest.state, flow);
    if (!gap.escapes()) ++seen_[gap.place];
    stream.state = rest.state;
    stream.gaps.add(rest.gap);
    elements_.indices[i] = rest.gap;
    if constexpr (kMarked) {
      if (!level.escapes()) ++seen_[level.place];
      stream.levels.add(rest.level);
      flow.all_levels |= rest.level;
      elements_.marks[i] = rest.level << 1 | rest.sign;
    }
  }

  void renew() {
    for (std::size_t t = 0; t < kTables; ++t) {
      const auto its = std::span(seen_).subspan(t * kSymbols, kSymbols);
      if (std::ranges::count(its, 0u) == kSymbols) continue;
      for (std::uint32_t s = 0; s < kSymbols; ++s) counts_[t].add(s, its[s]);
      std::ranges::fill(its, 0u);
      tables_.renew(t, counts_[t].ranges());
    }
  }

  PoppedSymbol pop_symbol(std::uint64_t& x, const Mean& mean, std::uint32_t first_table) {
    const Scale scale = mean.scale();
    const Slot slot =
        tables_.find(first_table + scale.table, static_cast<std::uint32_t>(x % kProbabilityOne));
    x = (x >> kProbabilityBits) * slot.frequency + slot.offset;
    return {{slot.index % kSymbols, scale.shift}, first_table * kSymbols + slot.index};
  }

  template <bool kChecked>
  std::uint64_t filled(std::uint64_t x, Flow& flow) const {
    bool wanted = x < kStateMin;
    std::uint32_t word = 0;
    if constexpr (kChecked) {
      if (!wanted) return x;
      wanted = left(flow) >= sizeof(word);
      if (!wanted) {
        flow.failed |= split_.streams > 1;
        return x;
      }
    }
    // Branch-free, because refills are unpredictable.
    std::memcpy(&word, flow.words, sizeof(word));
    flow.words += wanted ? sizeof(word) : 0;
    return wanted ? x << kWordBits | word : x;
  }
  [[nodiscard]] std::size_t left(const Flow& flow) const {
    return static_cast<std::size_t>(end_ - flow.words);
  }

  static std::uint32_t pop_raw(std::uint64_t& x, unsigned bits) {
    const std::uint64_t raw = low_bits(x, bits);
    x >>= bits;
    return static_cast<std::uint32_t>(raw);
  }

  // Pops the raw bits part by part, with a refill behind each.
  template <bool kMarked, bool kChecked>
  Rest pop_long(std::uint64_t x, const PoppedSymbol& gap, const PoppedSymbol& level, Flow& flow) {
    Rest rest{x, 0, 0, 0};
    rest.gap = pop_tail<kChecked>(rest.state, gap, flow);
    if constexpr (kMarked) {
      rest.sign = pop_raw(rest.state, 1);
      rest.state = filled<kChecked>(rest.state, flow);
      rest.level = pop_tail<kChecked>(rest.state, level, flow);
    }
    return rest;
  }

  template <bool kChecked>
  std::uint32_t pop_tail(std::uint64_t& x, const PoppedSymbol& part, Flow& flow) {
    std::uint32_t value;
    if (part.escapes()) {
      const unsigned length = pop_raw(x, kLengthBits);
      x = filled<kChecked>(x, flow);
      value = ((pop_raw(x, length) | 1u << length) - 1) & kNumberMax;
      ++seen_[part.place / kSymbols * kSymbols + symbol_of(value, part.shift)];
    } else {
      value = part.value(pop_raw(x, part.raw_bits()));
    }
    x = filled<kChecked>(x, flow);
    return value;
  }

  Status check_end() const {
    if (flow_.failed) return malformed("coded elements that end too early");
    if (flow_.words != end_) return malformed("coded elements that leave bytes over");
    for (std::size_t l = 0; l < split_.streams; ++l)
      if (streams_[l].state != split_.last_state()) return malformed("a state that ends elsewhere");
    if (flow_.all_levels > kLevelMax) return malformed("a level over the largest");
    return ok_status();
  }

  const Split split_;
  Elements& elements_;
  const std::byte* end_;  // behind the last word
  Flow flow_;
  std::array<Stream, kStreams> streams_;
  AllCounts counts_ = initial_tables().counts;                         // up to the last renewal
  std::array<std::uint32_t, std::size_t{kTables} * kSymbols> seen_{};  // since then
  Tables tables_;
};

template <typename Tables>
Status run(std::span<const std::byte> bytes, const DecodeParameters& parameters,
           Elements& elements) {
  Decoder<Tables> decoder(bytes, parameters, elements);
  return parameters.with_marks ? decoder.template run<true>() : decoder.template run<false>();
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

Status decode(std::span<const std::byte> bytes, const DecodeParameters& parameters,
              Elements& elements) {
  // The sign of each mark takes a bit; positions alone may take none.
  if (parameters.with_marks && parameters.count > 8 * bytes.size())
    return malformed("more elements than the bytes can hold");
  if (bytes.size() < stream_count(parameters.count) * parameters.state_bytes)
    return malformed("coded elements without their states");
  elements.indices.resize(parameters.count);
  elements.marks.resize(parameters.with_marks ? parameters.count : 0);
  const Status decoded = stream_count(parameters.count) == 1
                             ? run<SearchedTables>(bytes, parameters, elements)
                             : run<LookedUpTables>(bytes, parameters, elements);
  if (!decoded) return decoded;
  return gaps_to_indices(elements.indices, parameters.size);
}

}  // namespace kimesh::rans
