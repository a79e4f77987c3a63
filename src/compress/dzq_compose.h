// Making dzq messages: of a given step, or as large as a budget allows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "src/compress/dzq_estimates.h"
#include "src/compress/dzq_message.h"
#include "src/compress/families.h"

namespace kimesh::dzq {

struct Message {
  Head head;
  rans::Elements elements;
  std::vector<std::byte> bytes;  // none where no element is sent
};

// A piece that has a floor: its `count` largest elements are sent whatever the step.
struct Floor {
  Piece piece;
  std::size_t first = 0, last = 0;  // its elements among `Candidates::floors`
  float smallest = 0, largest = 0;  // magnitudes of these
};

// What a message can be made of.
struct Candidates {
  std::size_t size = 0;             // elements of the vector
  const kernels::Entries& entries;  // all that matter, ascending
  const kernels::Entries& floors;   // the floors' elements, ascending
  std::vector<Floor> pieces;        // that have a floor, in order
  Rounding rounding = Rounding::kTowardsZero;
  Coder coder = Coder::kEntropy;
  float largest = 0;  // magnitude
};

inline constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

class Composer {
 public:
  explicit Composer(Candidates candidates)
      : from_(std::move(candidates)), magnitudes_(from_.entries.values) {}

  // With the step `code`; of the elements that are not there for a floor's sake at most the `limit`
  // largest, ties to the lower index. The message stays valid until the next call.
  Message& compose(std::uint32_t code, std::size_t limit = kNoLimit);

  // Where a message's dead zone ends, in sixteenths of its step.
  [[nodiscard]] std::uint32_t dead_zone(double step) const;
  [[nodiscard]] const Candidates& candidates() const { return from_; }
  [[nodiscard]] const Magnitudes& magnitudes() const { return magnitudes_; }

 private:
  struct Cut {
    double magnitude;  // all above go
    std::size_t ties;  // and so many of those that equal it
  };
  [[nodiscard]] std::uint32_t best_growth() const;
  [[nodiscard]] Cut cut(double dead_zone, std::size_t limit);
  void take(std::size_t first, std::size_t last, const Quantiser& quantiser, Cut& cut);
  void take_floor(const Floor& floor, const Quantiser& global);
  void add(std::uint32_t index, float value, const Quantiser& quantiser);

  Candidates from_;
  Magnitudes magnitudes_;
  Message message_;
  rans::Scratch scratch_;
  std::vector<float> reaching_;
  std::size_t count_ = 0;  // of the message's elements
  // Of levels 0, 1 and above (fixed widths: 0 and above): how far in their bins the elements lie,
  // in bins, and how many they are.
  std::array<double, 3> offsets_{};
  std::array<std::size_t, 3> counts_{};
};

// The message with the finest step that takes at most `budget` bytes; where the next finer one
// would leave much of the budget unused, that one, without its smallest elements.
[[nodiscard]] Message fill(Composer& composer, std::size_t budget);

}  // namespace kimesh::dzq
