#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "kimesh/util/check.h"
#include "src/compress/dzq_compose.h"
#include "src/compress/dzq_estimates.h"

namespace kimesh::dzq {
namespace {

// How many elements of what magnitude there are: 16 bins an octave, from the smallest magnitudes.
class Magnitudes {
 public:
  explicit Magnitudes(const Candidates& candidates) : size_(candidates.size) {
    for (const float value : candidates.entries.values) {
      const std::uint32_t bits = std::bit_cast<std::uint32_t>(value) & 0x7fffffff;
      ++counts_[bits >> kShift];
    }
  }

  // Bits of a message with the step: gaps as if elements lay evenly, levels as if their numbers
  // fell geometrically. Real messages are smaller; the ratio changes slowly with the step.
  [[nodiscard]] double bits(double step) const {
    double sent = 0, levels = 0;
    for (std::size_t bin = counts_.size(); bin-- > 0;) {
      if (counts_[bin] == 0) continue;
      const double magnitude =
          std::bit_cast<float>(static_cast<std::uint32_t>(bin << kShift | 1u << (kShift - 1)));
      if (magnitude < 0.75 * step) break;
      sent += static_cast<double>(counts_[bin]);
      levels += static_cast<double>(counts_[bin]) * (magnitude / step - 0.7);
    }
    if (sent == 0) return 1;
    const double all = static_cast<double>(size_) + 1, mean = std::max(levels / sent, 0.01);
    const double gap = log2_about(all / sent) + 1.4;
    const double level = log2_about(1 + mean) + std::min(1.4, mean * log2_about(1 + 1 / mean));
    return sent * (gap + level + 1);
  }

 private:
  static constexpr unsigned kShift = 19;
  std::size_t size_;
  std::array<std::uint64_t, std::size_t{1} << (31 - kShift)> counts_{};
};

// The search for the step.
class Filler {
 public:
  Filler(Composer& composer, std::size_t budget)
      : composer_(composer),
        budget_(budget),
        enough_(budget - std::min(budget / 128, composer.candidates().size / 2048 + budget / 1024)),
        magnitudes_(composer.candidates()) {
    const double largest = composer.candidates().largest;
    if (composer.candidates().coder == Coder::kEntropy)
      finest_ = step_code_of(largest / (rans::kLevelMax / 2)) + 1;
    coarsest_ = std::min(step_code_of(2 * largest) + 1, kStepCodes - 1);
  }

  Message run() {
    if (try_step(finest_) <= budget_) return std::move(best_);
    over_ = finest_;
    fits_ = coarsest_;
    double ratio = 0.8;
    for (unsigned attempt = 0; fits_ - over_ > 1 && best_.bytes.size() < enough_; ++attempt) {
      const bool halve = attempt % 4 == 3;
      const std::uint32_t code =
          halve ? over_ + (fits_ - over_) / 2
                : std::clamp(step_for(static_cast<double>(budget_) * 7.95 / ratio), over_ + 1,
                             fits_ - 1);
      const std::size_t bytes = try_step(code);
      ratio = std::max(static_cast<double>(bytes), 1.0) * 8 / magnitudes_.bits(step_of(code));
      (bytes <= budget_ ? fits_ : over_) = code;
    }
    if (best_.bytes.size() < enough_) trim();
    return std::move(best_);
  }

 private:
  // The code of the step that is estimated to take so many bits.
  [[nodiscard]] std::uint32_t step_for(double bits) const {
    std::uint32_t low = finest_, high = coarsest_;
    while (high - low > 1) {
      const std::uint32_t middle = low + (high - low) / 2;
      (magnitudes_.bits(step_of(middle)) > bits ? low : high) = middle;
    }
    return high;
  }

  std::size_t try_step(std::uint32_t code, std::size_t limit = kNoLimit) {
    Message& made = composer_.compose(code, limit);
    const std::size_t bytes = made.bytes.size();
    if (bytes <= budget_ && bytes > best_.bytes.size()) std::swap(best_, made);
    return bytes;
  }

  // Where many elements are equal, one step sends none of them and the next all.
  void trim() {
    std::size_t over_bytes = try_step(over_), high = composer_.reached(), low = 0, low_bytes = 0;
    for (unsigned attempt = 0; high - low > 1 && best_.bytes.size() < enough_; ++attempt) {
      const double share =
          static_cast<double>(budget_ - low_bytes) / static_cast<double>(over_bytes - low_bytes);
      const double wanted = attempt % 4 == 3 ? 0.5 : 0.998 * share;
      const std::size_t limit =
          std::clamp(low + static_cast<std::size_t>(wanted * static_cast<double>(high - low)),
                     low + 1, high - 1);
      const std::size_t bytes = try_step(over_, limit);
      if (bytes <= budget_) {
        low = limit;
        low_bytes = bytes;
      } else {
        high = limit;
        over_bytes = bytes;
      }
    }
  }

  Composer& composer_;
  const std::size_t budget_, enough_;
  const Magnitudes magnitudes_;
  std::uint32_t finest_ = 0, coarsest_;
  std::uint32_t over_ = 0, fits_ = 0;  // codes of steps that take too many bytes, and that do not
  Message best_;
};

}  // namespace

Message fill(Composer& composer, std::size_t budget) {
  if (composer.candidates().entries.size() == 0) return {};
  return Filler(composer, budget).run();
}

}  // namespace kimesh::dzq
