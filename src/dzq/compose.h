// Makes dzq messages with a given step, or as large as a budget allows.
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
  std::vector<std::byte> bytes;  // empty where no element is sent
};

// A piece that has a floor: its largest elements are sent whatever the step is.
struct Floor {
  Piece piece;
  std::size_t first = 0, last = 0;  // its elements among `Candidates::floors`
  float smallest = 0, largest = 0;  // their magnitudes
};

class Composer;

// The elements that a message can be made of, and how values are rounded.
struct Candidates {
  std::size_t size = 0;  // elements of the vector
  // The elements that may be sent, and those of the floors. Both ascend and outlive the composer.
  const kernels::Entries& entries;
  const kernels::Entries& floors;
  std::vector<Floor> pieces;  // the pieces that have a floor, in order
  Rounding rounding = Rounding::kTowardsZero;
  float largest = 0;  // the largest magnitude
  // For the candidates of a sample: the composer of all elements, which gives the dead zones.
  // Outlives the sample's composer.
  const Composer* whole = nullptr;
};

inline constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

class Composer {
 public:
  explicit Composer(Candidates candidates)
      : from_(std::move(candidates)), magnitudes_(from_.entries.values) {}

  // Makes a message with the step `code`, in two calls. measure chooses the elements and returns
  // the bytes that the message will take, as dzq::measure; 0 where no element is sent. finish
  // writes the bytes; the message is valid until the next call of measure. Beside the floors'
  // elements only the `limit` largest entries are sent, ties to the lower index.
  [[nodiscard]] std::size_t measure(std::uint32_t code, std::size_t limit = kNoLimit);
  Message& finish();

  // The end of a message's dead zone: in sixteenths of the step, and as a magnitude.
  [[nodiscard]] std::uint32_t dead_zone(double step) const;
  [[nodiscard]] double zone_of(std::uint32_t code) const;
  [[nodiscard]] const Candidates& candidates() const { return from_; }
  [[nodiscard]] const MagnitudeCounts& magnitudes() const { return magnitudes_; }
  // The number of entries outside of a dead zone.
  [[nodiscard]] std::size_t count_reaching(double dead_zone) const;
  // The elements of the message that was last measured, and those of them that count towards
  // `limit`.
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] std::size_t limited_count() const { return count_ - floors_count_; }

 private:
  struct Cut {
    float magnitude;   // all elements above it are sent
    std::size_t ties;  // and this many of those that equal it
  };
  // Elements of the message, up to `end`, that share a quantiser. They were taken from the entries
  // of `from` from the position `first` on.
  struct Run {
    std::size_t end;
    std::uint32_t shift;
    const kernels::Entries* from;
    std::size_t first;
  };
  [[nodiscard]] Cut cut(double dead_zone, std::size_t limit);
  void choose(std::size_t limit);
  void take_run(const kernels::Entries& from, std::size_t first, std::size_t last, Cut& cut,
                std::uint32_t shift);
  void take_floor(const Floor& floor, const Quantiser& global);
  void find_centroids();

  Candidates from_;
  MagnitudeCounts magnitudes_;
  Message message_;
  rans::Scratch scratch_;
  std::vector<float> reaching_;
  std::vector<Run> runs_;
  std::size_t count_ = 0, floors_count_ = 0;  // elements of the message, and those from floors
};

// The message with the finest step that takes at most `budget` bytes. Where a slightly finer step
// is a little over the budget, or the next coarser one leaves much of it unused, the message has
// that finer step and lacks its smallest elements.
[[nodiscard]] Message fill(Composer& composer, std::size_t budget);

}  // namespace kimesh::dzq
