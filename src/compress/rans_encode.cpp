#include <cstring>

#include "kimesh/util/check.h"
#include "src/compress/rans.h"
#include "src/compress/rans_lanes.h"
#include "src/compress/rans_model.h"

namespace kimesh::rans {
namespace {

// What the first pass tells the second of an element: which tables and symbols, and the raw bits of
// both numbers and the sign. Where these do not fit or a symbol escapes, how far numbers are
// shifted.
struct Code {
  static constexpr unsigned kPlaceBits = 9, kBitsBits = 6;
  static_assert(kTables * kSymbols == 1 << kPlaceBits);
  static constexpr unsigned kBitsAt = 2 * kPlaceBits, kRawAt = kBitsAt + kBitsBits;
  static constexpr std::uint32_t kLong = (1u << kBitsBits) - 1;  // instead of the number of bits

  std::uint64_t all;

  [[nodiscard]] std::size_t gap() const { return all % (1u << kPlaceBits); }
  [[nodiscard]] std::size_t level() const { return all >> kPlaceBits & ((1u << kPlaceBits) - 1); }
  [[nodiscard]] unsigned bits() const { return all >> kBitsAt & kLong; }
  [[nodiscard]] std::uint64_t raw() const { return all >> kRawAt; }
  [[nodiscard]] unsigned gap_shift() const { return raw() & 31; }
  [[nodiscard]] unsigned level_shift() const { return static_cast<unsigned>(raw() >> 5); }
};

// How a symbol is put on a state, x becoming x / frequency * 2^12 + x % frequency + start, without
// a division (Granlund, Montgomery, 1994): the quotient is the upper half of x * inverse, shifted.
// For a frequency of 1 it is x - 1, which `added` makes good.
struct Step {
  std::uint64_t inverse = 0;
  std::uint32_t added = 0;
  std::uint16_t frequency = 0;
  std::uint8_t shift = 0;

  [[nodiscard]] std::uint64_t push(std::uint64_t x) const {
    __extension__ using Wide = unsigned __int128;
    const auto upper = static_cast<std::uint64_t>(static_cast<Wide>(x) * inverse >> 64);
    return x + added + (upper >> shift) * (kProbabilityOne - frequency);
  }
};

// Exact for x < 2^63. Requires frequency < 2^12.
Step step_of(Range range) {
  if (range.frequency == 0) return {};
  if (range.frequency == 1)
    return {~std::uint64_t{0}, range.start + kProbabilityOne - 1u, range.frequency, 0};
  const auto bits = static_cast<unsigned>(std::bit_width(range.frequency - 1u));
  // ceil(2^(63 + bits) / frequency), in two steps of a long division
  const std::uint64_t high = (std::uint64_t{1} << (31 + bits)) / range.frequency;
  const std::uint64_t rest = (std::uint64_t{1} << (31 + bits)) % range.frequency;
  const std::uint64_t low = ((rest << 32) + range.frequency - 1) / range.frequency;
  return {(high << 32) + low, range.start, range.frequency, static_cast<std::uint8_t>(bits - 1)};
}

// The tables between two renewals, by table and symbol in one number.
struct Epoch {
  std::size_t first_round;
  std::array<Step, std::size_t{kTables} * kSymbols> steps;

  Epoch(std::size_t first_round_, const AllRanges& ranges) : first_round(first_round_) {
    for (std::size_t t = 0; t < kTables; ++t)
      for (std::size_t s = 0; s < kSymbols; ++s) steps[t * kSymbols + s] = step_of(ranges[t][s]);
  }
};

struct Input {
  std::span<const std::uint32_t> indices, marks;
  [[nodiscard]] std::uint32_t gap(std::size_t i) const {
    return i == 0 ? indices[0] : indices[i] - indices[i - 1] - 1;
  }
};

// The first pass: each element's symbols, and the tables as they were.
class Modeller {
 public:
  Modeller(const Input& input, std::size_t size, kernels::Unfilled<std::uint64_t>& codes)
      : input_(input), split_(input.indices.size()), codes_(codes) {
    codes_.resize(split_.count);
    for (std::size_t l = 0; l < kLanes; ++l)
      lanes_[l] = {Mean(usual_gap(split_.count, size)), Mean(kUsualLevel), split_.begin(l)};
  }

  template <bool kMarked>
  std::vector<Epoch> run() {
    std::size_t next_renewal = split_.first_renewal();
    for (std::size_t round = 0; round < split_.rounds(); ++round) {
      if (round == next_renewal) {
        renew(round);
        next_renewal *= 2;
      }
      split_.for_lanes(round, [&](std::size_t l) { element<kMarked>(lanes_[l]); });
    }
    return std::move(epochs_);
  }

 private:
  struct Lane {
    Mean gaps, levels;
    std::size_t next = 0;  // element
  };

  void renew(std::size_t round) {
    AllRanges ranges;
    for (std::size_t t = 0; t < kTables; ++t) ranges[t] = counts_[t].ranges();
    epochs_.emplace_back(round, ranges);
    steps_ = epochs_.back().steps.data();
  }

  template <bool kMarked>
  void element(Lane& lane) {
    const std::size_t i = lane.next++;
    const std::uint32_t gap = input_.gap(i);
    const Begun first = number(gap, lane.gaps, 0);
    std::uint64_t places = first.table * kSymbols + first.symbol;
    std::uint32_t bits = first.raw_bits();
    std::uint64_t raw = low_bits(gap, bits);
    Begun second{};
    if constexpr (kMarked) {
      const std::uint32_t mark = input_.marks[i];
      second = number(mark >> 1, lane.levels, kScales);
      places |= std::uint64_t{second.table * kSymbols + second.symbol} << Code::kPlaceBits;
      raw |= (low_bits(mark >> 1, second.raw_bits()) << 1 | (mark & 1)) << bits;
      bits += 1 + second.raw_bits();
    }
    if (first.escapes() || second.escapes() || bits > kRawBitsMax) [[unlikely]] {
      bits = Code::kLong;
      raw = second.shift << 5 | first.shift;
    }
    codes_[i] = places | std::uint64_t{bits} << Code::kBitsAt | raw << Code::kRawAt;
  }

  Begun number(std::uint32_t v, Mean& mean, std::uint32_t first_table) {
    const Scale scale = mean.scale();
    const std::uint32_t table = first_table + scale.table, symbol = symbol_of(v, scale.shift);
    counts_[table].add(symbol);
    mean.add(v);
    const bool rare = steps_[table * kSymbols + symbol].frequency == 0;
    return {rare ? kEscape : symbol, scale.shift, table};
  }

  const Input& input_;
  const Split split_;
  kernels::Unfilled<std::uint64_t>& codes_;
  std::array<Lane, kLanes> lanes_;
  AllCounts counts_ = usual().counts;
  std::vector<Epoch> epochs_{Epoch(0, usual().ranges)};
  const Step* steps_ = epochs_.back().steps.data();
};

// The second pass, from the last element to the first: states and the words they shed.
class Pusher {
 public:
  Pusher(const Input& input, const std::vector<Epoch>& epochs, Scratch& scratch)
      : input_(input), split_(input.indices.size()), epochs_(epochs), scratch_(scratch) {
    states_.fill(split_.last_state());
    for (std::size_t l = 0; l < kLanes; ++l) ends_[l] = split_.begin(l + 1);
  }

  template <bool kMarked>
  void run() {
    auto epoch = epochs_.rbegin();
    for (std::size_t round = split_.rounds(); round-- > 0;) {
      while (round < epoch->first_round) ++epoch;
      if (scratch_.words.size() < words_ + kLanes * kElementWordsMax)
        scratch_.words.resize(2 * scratch_.words.size() + 64 * kLanes * kElementWordsMax);
      split_.for_lanes_down(round, [&](std::size_t l) {
        states_[l] = element<kMarked>(states_[l], --ends_[l], *epoch);
      });
    }
  }

  // Returns state_bytes.
  unsigned write(std::vector<std::byte>& bytes) const {
    unsigned state_bytes = sizeof(std::uint64_t);
    if (split_.lanes == 1)
      while (state_bytes > 1 && states_[0] >> (8 * (state_bytes - 1)) == 0) --state_bytes;
    std::size_t end = bytes.size();
    bytes.resize(end + split_.lanes * state_bytes + words_ * sizeof(std::uint32_t));
    for (std::size_t l = 0; l < split_.lanes; ++l, end += state_bytes)
      std::memcpy(bytes.data() + end, &states_[l], state_bytes);
    for (std::size_t w = words_; w-- > 0; end += sizeof(std::uint32_t))
      std::memcpy(bytes.data() + end, &scratch_.words[w], sizeof(std::uint32_t));
    return state_bytes;
  }

 private:
  static constexpr std::size_t kElementWordsMax = 8;

  template <bool kMarked>
  std::uint64_t element(std::uint64_t x, std::size_t i, const Epoch& epoch) {
    const Code code{scratch_.codes[i]};
    if (code.bits() == Code::kLong) [[unlikely]]
      x = push_long<kMarked>(x, i);
    else
      x = push_raw(x, code.raw(), code.bits());
    const Step& gap = epoch.steps[code.gap()];
    if constexpr (!kMarked) return gap.push(shed(x, gap.frequency, kProbabilityBits));
    const Step& level = epoch.steps[code.level()];
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

  // Makes room for a symbol of `frequency` in 2^bits.
  std::uint64_t shed(std::uint64_t x, std::uint64_t frequency, unsigned bits) {
    scratch_.words[words_] = static_cast<std::uint32_t>(x);
    const bool full = x >= frequency << (kStateBits - bits);
    words_ += full;
    return full ? x >> kWordBits : x;
  }
  std::uint64_t push_raw(std::uint64_t x, std::uint64_t raw, unsigned bits) {
    return shed(x, 1, bits) << bits | raw;
  }
  std::uint64_t push_tail(std::uint64_t x, Begun begun, std::uint32_t v) {
    if (!begun.escapes()) return push_raw(x, low_bits(v, begun.raw_bits()), begun.raw_bits());
    const auto length = static_cast<unsigned>(31 - std::countl_zero(v + 1));
    return push_raw(push_raw(x, low_bits(v + 1, length), length), length, kLengthBits);
  }

  const Input& input_;
  const Split split_;
  const std::vector<Epoch>& epochs_;
  Scratch& scratch_;
  std::array<std::uint64_t, kLanes> states_;
  std::array<std::size_t, kLanes> ends_;  // behind a lane's next element
  std::size_t words_ = 0;
};

template <bool kMarked>
unsigned run(const Input& input, std::size_t size, Scratch& scratch,
             std::vector<std::byte>& bytes) {
  const std::vector<Epoch> epochs = Modeller(input, size, scratch.codes).run<kMarked>();
  Pusher pusher(input, epochs, scratch);
  pusher.run<kMarked>();
  return pusher.write(bytes);
}

}  // namespace

unsigned encode(std::span<const std::uint32_t> indices, std::span<const std::uint32_t> marks,
                std::size_t size, Scratch& scratch, std::vector<std::byte>& bytes) {
  KIMESH_CHECK(!indices.empty() && indices.back() < size && size <= kSizeMax,
               "elements of the vector");
  KIMESH_CHECK(marks.empty() || marks.size() == indices.size(), "a mark for each or none");
  const Input input{indices, marks};
  return marks.empty() ? run<false>(input, size, scratch, bytes)
                       : run<true>(input, size, scratch, bytes);
}

}  // namespace kimesh::rans
