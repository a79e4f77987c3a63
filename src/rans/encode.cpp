#include <cstring>

#include "kimesh/rans/model.h"
#include "kimesh/rans/rans.h"
#include "kimesh/util/check.h"
#include "streams.h"

namespace kimesh::rans {
namespace {

// An element as the first pass hands it to the second: the places of both symbols among all tables,
// and the raw bits of both numbers with the sign. Where the raw bits are more than kRawBitsMax or a
// symbol is the escape, the shifts of both numbers stand in place of the raw bits.
struct Code {
  static constexpr unsigned kPlaceBits = 9, kBitsBits = 6;
  static_assert(kTables * kSymbols == 1 << kPlaceBits);
  static constexpr unsigned kBitsAt = 2 * kPlaceBits, kRawAt = kBitsAt + kBitsBits;
  static constexpr std::uint32_t kLong =
      (1u << kBitsBits) - 1;  // stands in place of the number of bits

  std::uint64_t all;

  [[nodiscard]] std::size_t gap() const { return all % (1u << kPlaceBits); }
  [[nodiscard]] std::size_t level() const { return all >> kPlaceBits & ((1u << kPlaceBits) - 1); }
  [[nodiscard]] unsigned bits() const { return all >> kBitsAt & kLong; }
  [[nodiscard]] std::uint64_t raw() const { return all >> kRawAt; }
  [[nodiscard]] unsigned gap_shift() const { return raw() & 31; }
  [[nodiscard]] unsigned level_shift() const { return static_cast<unsigned>(raw() >> 5); }
};

// The steps of all tables between two renewals, indexed by table * kSymbols + symbol.
constexpr std::size_t kTableSteps = std::size_t{kTables} * kSymbols;

std::span<Step, kSymbols> steps_of(Step* all, std::size_t table) {
  return std::span<Step, kSymbols>(all + table * kSymbols, kSymbols);
}

const std::array<Step, kTableSteps>& initial_steps() {
  static const std::array<Step, kTableSteps> all = [] {
    std::array<Step, kTableSteps> made;
    for (std::size_t t = 0; t < kTables; ++t)
      fill_steps(initial_tables().ranges[t], steps_of(made.data(), t));
    return made;
  }();
  return all;
}

// The number of bits behind the length of an escape.
unsigned escape_length(std::uint32_t v) {
  return static_cast<unsigned>(31 - std::countl_zero(v + 1));
}

struct Input {
  std::span<const std::uint32_t> indices, marks;
  [[nodiscard]] std::uint32_t gap(std::size_t i) const {
    return i == 0 ? indices[0] : indices[i] - indices[i - 1] - 1;
  }
};

// The first pass, from the first element to the last: computes the symbols of each element, the
// steps of the tables at each renewal, and the number of bits of the whole.
class Modeller {
 public:
  Modeller(const Input& input, std::size_t size, Scratch& scratch)
      : input_(input), split_(input.indices.size()), scratch_(scratch) {
    scratch.codes.resize(split_.count);
    codes_ = scratch.codes.data();
    scratch.steps.assign(initial_steps().begin(), initial_steps().end());
    steps_ = scratch.steps.data();
    for (std::size_t t = 0; t < kTables; ++t) find_rare(t);
    for (std::size_t l = 0; l < kStreams; ++l)
      streams_[l] = {Mean(initial_gap(split_.count, size)), Mean(kInitialLevel), split_.begin(l)};
  }

  template <bool kMarked>
  std::uint64_t run() {
    std::size_t begin = 0;
    for (std::size_t end = split_.first_renewal(); end < split_.rounds(); end *= 2) {
      run_rounds<kMarked>(begin, end);
      renew();
      begin = end;
    }
    run_rounds<kMarked>(begin, split_.rounds());
    for (std::size_t t = 0; t < kTables; ++t) cost_ += cost_of(seen(t), steps_of(steps_, t));
    // The state of one of several streams starts with 31 bits and is written as 64, of which 47 are
    // in use on average.
    const std::uint64_t states = split_.streams == 1 ? 0 : split_.streams * (31 + 64 - 47);
    return raw_bits_ + (cost_ >> kCostBits) + states;
  }

 private:
  struct Stream {
    Mean gaps, levels;
    std::size_t next = 0;  // index of the next element
  };

  // A number as it is coded: the place of its symbol (or of the escape) among all tables, the shift
  // of its scale, and the number of raw bits.
  struct Coded {
    std::uint32_t place, shift, bits;
  };

  void renew() {
    const std::size_t all = scratch_.steps.size();
    scratch_.steps.resize(all + kTableSteps);
    Step* const last = scratch_.steps.data() + all - kTableSteps;
    steps_ = last + kTableSteps;
    std::copy(last, last + kTableSteps, steps_);
    for (std::size_t t = 0; t < kTables; ++t) {
      const auto its = seen(t);
      if (std::ranges::count(its, 0u) == kSymbols) continue;
      cost_ += cost_of(its, steps_of(last, t));
      for (std::uint32_t s = 0; s < kSymbols; ++s) counts_[t].add(s, its[s]);
      std::ranges::fill(its, 0u);
      fill_steps(counts_[t].ranges(), steps_of(steps_, t));
      find_rare(t);
    }
  }

  [[nodiscard]] std::span<std::uint32_t, kSymbols> seen(std::size_t table) {
    return std::span<std::uint32_t, kSymbols>(&seen_[table * kSymbols], kSymbols);
  }

  void find_rare(std::size_t table) {
    for (std::uint32_t s = 0; s < kSymbols; ++s) {
      const std::size_t place = table * kSymbols + s;
      const bool rare = steps_[place].frequency == 0;
      coded_[place] = static_cast<std::uint8_t>(rare ? kEscape : s);
    }
  }

  // Streams are copied to let the compiler keep them in registers.
  template <bool kMarked>
  void run_rounds(std::size_t begin, std::size_t end) {
    std::array<Stream, kStreams> streams = streams_;
    std::uint64_t raw_bits = 0;
    for (std::size_t round = begin; round < end; ++round)
      split_.for_streams(round, [&](std::size_t l) { raw_bits += element<kMarked>(streams[l]); });
    streams_ = streams;
    raw_bits_ += raw_bits;
  }

  // Returns the number of raw bits of the element.
  template <bool kMarked>
  std::uint32_t element(Stream& stream) {
    const std::size_t i = stream.next++;
    const std::uint32_t gap = input_.gap(i);
    const Coded first = number(gap, stream.gaps, 0);
    std::uint64_t places = first.place;
    std::uint32_t bits = first.bits;
    std::uint64_t raw = low_bits(gap, first.bits % 64);
    Coded second{};
    if constexpr (kMarked) {
      const std::uint32_t mark = input_.marks[i];
      second = number(mark >> 1, stream.levels, kScales);
      places |= std::uint64_t{second.place} << Code::kPlaceBits;
      raw |= (low_bits(mark >> 1, second.bits % 64) << 1 | (mark & 1)) << first.bits % 64;
      bits += 1 + second.bits;
    }
    if (bits <= kRawBitsMax) [[likely]] {
      codes_[i] = places | std::uint64_t{bits} << Code::kBitsAt | raw << Code::kRawAt;
      return bits;
    }
    raw = second.shift << 5 | first.shift;
    codes_[i] = places | std::uint64_t{Code::kLong} << Code::kBitsAt | raw << Code::kRawAt;
    return long_bits<kMarked>(i, gap, first, second);
  }

  Coded number(std::uint32_t v, Mean& mean, std::uint32_t first_table) {
    const Scale scale = mean.scale();
    const std::uint32_t table = first_table + scale.table;
    const std::uint32_t place = table * kSymbols + symbol_of(v, scale.shift);
    ++seen_[place];
    mean.add(v);
    const std::uint32_t symbol = coded_[place];
    return {table * kSymbols + symbol, scale.shift, scale.shift + kMoreBits[symbol]};
  }

  template <bool kMarked>
  [[nodiscard]] std::uint32_t long_bits(std::size_t i, std::uint32_t gap, const Coded& first,
                                        const Coded& second) const {
    std::uint32_t bits = tail_bits(first, gap);
    if constexpr (kMarked) bits += 1 + tail_bits(second, input_.marks[i] >> 1);
    return bits;
  }
  static std::uint32_t tail_bits(const Coded& coded, std::uint32_t v) {
    return coded.place % kSymbols == kEscape ? kLengthBits + escape_length(v) : coded.bits;
  }

  const Input& input_;
  const Split split_;
  Scratch& scratch_;
  std::uint64_t* codes_;
  Step* steps_;  // those of the last renewal
  std::array<Stream, kStreams> streams_;
  AllCounts counts_ = initial_tables().counts;     // up to the last renewal
  std::array<std::uint32_t, kTableSteps> seen_{};  // since then
  std::array<std::uint8_t, kTableSteps>
      coded_;  // by place: the symbol, or the escape where its frequency is 0
  std::uint64_t cost_ = 0, raw_bits_ = 0;
};

// The second pass, from the last element to the first: pushes the elements on the states and
// collects the words that the states emit.
class Pusher {
 public:
  Pusher(const Input& input, Scratch& scratch)
      : input_(input), split_(input.indices.size()), scratch_(scratch) {
    states_.fill(split_.last_state());
    for (std::size_t l = 0; l < kStreams; ++l) ends_[l] = split_.begin(l + 1);
  }

  template <bool kMarked>
  void run() {
    // Tables were renewed at the round first_renewal, then each time the number of rounds doubled.
    std::size_t epoch = scratch_.steps.size() / kTableSteps - 1;
    for (std::size_t end = split_.rounds();; --epoch) {
      const std::size_t begin = epoch == 0 ? 0 : split_.first_renewal() << (epoch - 1);
      run_epoch<kMarked>(begin, end, scratch_.steps.data() + epoch * kTableSteps);
      if (epoch == 0) break;
      end = begin;
    }
  }

  // Returns state_bytes.
  unsigned write(std::vector<std::byte>& bytes) const {
    unsigned state_bytes = sizeof(std::uint64_t);
    if (split_.streams == 1)
      while (state_bytes > 1 && states_[0] >> (8 * (state_bytes - 1)) == 0) --state_bytes;
    std::size_t end = bytes.size();
    bytes.resize(end + split_.streams * state_bytes + words_ * sizeof(std::uint32_t));
    for (std::size_t l = 0; l < split_.streams; ++l, end += state_bytes)
      std::memcpy(bytes.data() + end, &states_[l], state_bytes);
    for (std::size_t w = words_; w-- > 0; end += sizeof(std::uint32_t))
      std::memcpy(bytes.data() + end, &scratch_.words[w], sizeof(std::uint32_t));
    return state_bytes;
  }

 private:
  static constexpr std::size_t kElementWordsMax = 8;

  template <bool kMarked>
  void run_epoch(std::size_t begin, std::size_t end, const Step* steps) {
    for (std::size_t round = end; round-- > begin;) {
      if (scratch_.words.size() < words_ + kStreams * kElementWordsMax)
        scratch_.words.resize(2 * scratch_.words.size() + 64 * kStreams * kElementWordsMax);
      split_.for_streams_down(round, [&](std::size_t l) {
        states_[l] = element<kMarked>(states_[l], --ends_[l], steps);
      });
    }
  }

  template <bool kMarked>
  std::uint64_t element(std::uint64_t x, std::size_t i, const Step* steps) {
    const Code code{scratch_.codes[i]};
    if (code.bits() == Code::kLong) [[unlikely]]
      x = push_long<kMarked>(x, i);
    else
      x = push_raw(x, code.raw(), code.bits());
    const Step& gap = steps[code.gap()];
    if constexpr (!kMarked) return gap.push(shed(x, gap.frequency, kProbabilityBits));
    const Step& level = steps[code.level()];
    const std::uint64_t both = std::uint64_t{gap.frequency} * level.frequency;
    return gap.push(level.push(shed(x, both, 2 * kProbabilityBits)));
  }

  template <bool kMarked>
  std::uint64_t push_long(std::uint64_t x, std::size_t i) {
    const Code code{scratch_.codes[i]};
    if constexpr (kMarked) {
      x = push_tail(x, {static_cast<std::uint32_t>(code.level() % kSymbols), code.level_shift()},
                    input_.marks[i] >> 1);
      x = push_raw(x, input_.marks[i] & 1, 1);
    }
    return push_tail(x, {static_cast<std::uint32_t>(code.gap() % kSymbols), code.gap_shift()},
                     input_.gap(i));
  }

  // Emits a word where the state has no room for a symbol of `frequency` in 2^bits.
  std::uint64_t shed(std::uint64_t x, std::uint64_t frequency, unsigned bits) {
    scratch_.words[words_] = static_cast<std::uint32_t>(x);
    const bool full = x >= frequency << (kStateBits - bits);
    words_ += full;
    return full ? x >> kWordBits : x;
  }
  std::uint64_t push_raw(std::uint64_t x, std::uint64_t raw, unsigned bits) {
    return shed(x, 1, bits) << bits | raw;
  }
  std::uint64_t push_tail(std::uint64_t x, SymbolPart part, std::uint32_t v) {
    if (!part.escapes()) return push_raw(x, low_bits(v, part.raw_bits()), part.raw_bits());
    const unsigned length = escape_length(v);
    return push_raw(push_raw(x, low_bits(v + 1, length), length), length, kLengthBits);
  }

  const Input& input_;
  const Split split_;
  Scratch& scratch_;
  std::array<std::uint64_t, kStreams> states_;
  std::array<std::size_t, kStreams> ends_;  // by stream: the element behind the next one
  std::size_t words_ = 0;
};

}  // namespace

std::uint64_t measure(std::span<const std::uint32_t> indices, std::span<const std::uint32_t> marks,
                      std::size_t size, Scratch& scratch) {
  KIMESH_CHECK(!indices.empty() && indices.back() < size && size <= kSizeMax,
               "elements of the vector");
  KIMESH_CHECK(marks.empty() || marks.size() == indices.size(), "a mark for each or none");
  const Input input{indices, marks};
  Modeller modeller(input, size, scratch);
  return marks.empty() ? modeller.run<false>() : modeller.run<true>();
}

unsigned write(std::span<const std::uint32_t> indices, std::span<const std::uint32_t> marks,
               Scratch& scratch, std::vector<std::byte>& bytes) {
  KIMESH_CHECK(scratch.codes.size() == indices.size(), "what was measured");
  const Input input{indices, marks};
  Pusher pusher(input, scratch);
  marks.empty() ? pusher.run<false>() : pusher.run<true>();
  return pusher.write(bytes);
}

unsigned encode(std::span<const std::uint32_t> indices, std::span<const std::uint32_t> marks,
                std::size_t size, Scratch& scratch, std::vector<std::byte>& bytes) {
  [[maybe_unused]] const std::uint64_t bits = measure(indices, marks, size, scratch);
  return write(indices, marks, scratch, bytes);
}

}  // namespace kimesh::rans
