// Making dzq messages: of a given step, or as large as a budget allows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "kimesh/codec/difference.h"
#include "magnitudes.h"
#include "message.h"

namespace kimesh::dzq {

struct Message {
  Head head;
  rans::Elements elements;
  std::vector<std::byte> bytes;  // none where no element is sent
};

// A piece that has a floor: its largest elements are sent whatever the step.
struct Floor {
  Piece piece;
  std::size_t first = 0, last = 0;  // its elements among `Candidates::floors`
  float smallest = 0, largest = 0;  // magnitudes of these
};

class Composer;

// What a message can be made of.
struct Candidates {
  std::size_t size = 0;  // elements of the vector
  // All that matter, and those of the floors; both ascend and outlive whoever composes them.
  const kernels::Entries& entries;
  const kernels::Entries& floors;
  std::vector<Floor> pieces;  // that have a floor, in order
  Rounding rounding = Rounding::kTowardsZero;
  Coder coder = Coder::kEntropy;
  float largest = 0;  // magnitude
  // Of a sample: whose dead zones its messages have. Outlives it.
  const Composer* whole = nullptr;
};

inline constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

class Composer {
 public:
  explicit Composer(Candidates candidates)
      : from_(std::move(candidates)), magnitudes_(from_.entries.values) {}

  // With the step `code`; but for what floors send only what is among the `limit` largest entries,
  // ties to the lower index. The message stays valid until the next call.
  // In two calls: the first tells how many bytes the message takes, to a few (see dzq::measure), 0
  // where no element is sent; the second makes them.
  [[nodiscard]] std::size_t measure(std::uint32_t code, std::size_t limit = kNoLimit);
  Message& finish();

  // Where a message's dead zone ends: in sixteenths of its step, and itself.
  [[nodiscard]] std::uint32_t dead_zone(double step) const;
  [[nodiscard]] double zone_of(std::uint32_t code) const;
  [[nodiscard]] const Candidates& candidates() const { return from_; }
  [[nodiscard]] const Magnitudes& magnitudes() const { return magnitudes_; }
  // How many entries a dead zone lets through.
  [[nodiscard]] std::size_t count_reaching(double dead_zone) const;
  // Of the message that was measured: elements, and those that a limit counts.
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] std::size_t limited_count() const { return count_ - floors_count_; }

 private:
  struct Cut {
    float magnitude;   // all above go
    std::size_t ties;  // and so many of those that equal it
  };
  // Elements that have one quantiser: up to `end`.
  struct Run {
    std::size_t end;
    std::uint32_t shift;
  };
  [[nodiscard]] std::uint32_t best_growth() const;
  [[nodiscard]] Cut cut(double dead_zone, std::size_t limit);
  void choose(std::size_t limit);
  void take(const kernels::Entries& from, std::size_t first, std::size_t last, Cut& cut);
  void take_floor(const Floor& floor, const Quantiser& global);
  void end_run(std::uint32_t shift);
  void find_centroids();

  Candidates from_;
  Magnitudes magnitudes_;
  Message message_;
  rans::Scratch scratch_;
  std::vector<float> reaching_;
  kernels::Unfilled<float> values_;  // of the message's elements
  std::vector<Run> runs_;
  std::size_t count_ = 0, floors_count_ = 0;  // of the message's elements
};

// The message with the finest step that takes at most `budget` bytes; or one that is a little over,
// or after which much of the budget would be unused, without its smallest elements.
[[nodiscard]] Message fill(Composer& composer, std::size_t budget);

}  // namespace kimesh::dzq
