#include <cstring>

#include "kimesh/util/check.h"
#include "src/compress/rans.h"
#include "src/compress/rans_lanes.h"
#include "src/compress/rans_model.h"

namespace kimesh::rans {
namespace {

// What the first pass tells the second of a number.
constexpr unsigned kSymbolBits = 5, kTableBits = 4, kCodeBits = 14;
static_assert(kTables == 1 << kTableBits && kSymbols == 1 << kSymbolBits);
std::uint32_t code_of(std::uint32_t table, Begun begun) {
  return (begun.shift << kTableBits | table) << kSymbolBits | begun.symbol;
}
std::uint32_t table_of(std::uint32_t code) {
  return (code >> kSymbolBits) % (1u << kTableBits);
}
Begun begun_of(std::uint32_t code) {
  return {code % kSymbols, code % (1u << kCodeBits) >> (kSymbolBits + kTableBits)};
}

// The tables between two renewals.
struct Epoch {
  std::size_t first_round;
  AllRanges ranges;
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
  Modeller(const Input& input, std::size_t size, kernels::Unfilled<std::uint32_t>& codes)
      : input_(input), split_(input.indices.size()), codes_(codes) {
    codes_.resize(split_.count);
    lanes_.fill({Mean(usual_gap(split_.count, size)), Mean(kUsualLevel)});
  }

  std::vector<Epoch> run() {
    std::size_t next_renewal = split_.first_renewal();
    for (std::size_t round = 0; round < split_.rounds(); ++round) {
      if (round == next_renewal) {
        renew(round);
        next_renewal *= 2;
      }
      for (std::size_t l = 0; l < split_.width(round); ++l)
        element(lanes_[l], split_.begin(l) + round);
    }
    return std::move(epochs_);
  }

 private:
  struct Lane {
    Mean gaps, levels;
  };

  void renew(std::size_t round) {
    epochs_.push_back({round, {}});
    for (std::size_t t = 0; t < kTables; ++t) epochs_.back().ranges[t] = counts_[t].ranges();
  }

  void element(Lane& lane, std::size_t i) {
    codes_[i] = number(input_.gap(i), lane.gaps, 0);
    if (!input_.marks.empty())
      codes_[i] |= number(input_.marks[i] >> 1, lane.levels, kScales) << kCodeBits;
  }

  std::uint32_t number(std::uint32_t v, Mean& mean, std::uint32_t first_table) {
    const Scale scale = mean.scale();
    const std::uint32_t table = first_table + scale.table, symbol = symbol_of(v, scale.shift);
    counts_[table].add(symbol);
    mean.add(v);
    const bool rare = epochs_.back().ranges[table][symbol].frequency == 0;
    return code_of(table, {rare ? kEscape : symbol, scale.shift});
  }

  const Input& input_;
  const Split split_;
  kernels::Unfilled<std::uint32_t>& codes_;
  std::array<Lane, kLanes> lanes_;
  AllCounts counts_ = usual().counts;
  std::vector<Epoch> epochs_{{0, usual().ranges}};
};

// The second pass, from the last element to the first: states and the words they shed.
class Pusher {
 public:
  Pusher(const Input& input, const std::vector<Epoch>& epochs, Scratch& scratch)
      : input_(input), split_(input.indices.size()), epochs_(epochs), scratch_(scratch) {
    states_.fill(split_.last_state());
  }

  void run() {
    auto epoch = epochs_.rbegin();
    for (std::size_t round = split_.rounds(); round-- > 0;) {
      while (round < epoch->first_round) ++epoch;
      if (scratch_.words.size() < words_ + kLanes * kElementWordsMax)
        scratch_.words.resize(2 * scratch_.words.size() + 64 * kLanes * kElementWordsMax);
      for (std::size_t l = split_.width(round); l-- > 0;)
        states_[l] = element(states_[l], split_.begin(l) + round, *epoch);
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

  std::uint64_t element(std::uint64_t x, std::size_t i, const Epoch& epoch) {
    const std::uint32_t code = scratch_.codes[i], mark = marked() ? input_.marks[i] : 0;
    const Begun gap = begun_of(code), level = begun_of(code >> kCodeBits);
    const unsigned gap_bits = gap.raw_bits(), level_bits = marked() ? 1 + level.raw_bits() : 0;
    if (gap.escapes() || level.escapes() || gap_bits + level_bits > kRawBitsMax) {
      if (marked()) {
        x = push_tail(x, level, mark >> 1);
        x = push_raw(x, mark & 1, 1);
      }
      x = push_tail(x, gap, input_.gap(i));
    } else {
      const std::uint64_t level_raw = low_bits(mark >> 1, level.raw_bits()) << 1 | (mark & 1);
      x = push_raw(x, level_raw << gap_bits | low_bits(input_.gap(i), gap_bits),
                   gap_bits + level_bits);
    }
    const Range gap_range = epoch.ranges[table_of(code)][gap.symbol];
    if (!marked()) return push(shed(x, gap_range.frequency, kProbabilityBits), gap_range);
    const Range level_range = epoch.ranges[table_of(code >> kCodeBits)][level.symbol];
    const std::uint64_t both = std::uint64_t{gap_range.frequency} * level_range.frequency;
    return push(push(shed(x, both, 2 * kProbabilityBits), level_range), gap_range);
  }

  [[nodiscard]] bool marked() const { return !input_.marks.empty(); }

  // Makes room for a symbol of `frequency` in 2^bits.
  std::uint64_t shed(std::uint64_t x, std::uint64_t frequency, unsigned bits) {
    scratch_.words[words_] = static_cast<std::uint32_t>(x);
    const bool full = x >= frequency << (kStateBits - bits);
    words_ += full;
    return full ? x >> kWordBits : x;
  }
  static std::uint64_t push(std::uint64_t x, Range range) {
    return (x / range.frequency << kProbabilityBits) + x % range.frequency + range.start;
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
  std::size_t words_ = 0;
};

}  // namespace

unsigned encode(std::span<const std::uint32_t> indices, std::span<const std::uint32_t> marks,
                std::size_t size, Scratch& scratch, std::vector<std::byte>& bytes) {
  KIMESH_CHECK(!indices.empty() && indices.back() < size && size <= kSizeMax,
               "elements of the vector");
  KIMESH_CHECK(marks.empty() || marks.size() == indices.size(), "a mark for each or none");
  const Input input{indices, marks};
  const std::vector<Epoch> epochs = Modeller(input, size, scratch.codes).run();
  Pusher pusher(input, epochs, scratch);
  pusher.run();
  return pusher.write(bytes);
}

}  // namespace kimesh::rans
