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

// Bits of a message with the step: gaps as if elements lay evenly, levels as if their numbers fell
// geometrically, or less steeply. Real messages are smaller; the ratio changes slowly with the
// step.
double bits_about(const Composer& composer, std::uint32_t code) {
  const double step = step_of(code), zone = step * composer.dead_zone(step) / 16;
  const double sent = composer.magnitudes().at_least(zone);
  if (sent < 1) return 1;
  double logarithms = 0;
  composer.magnitudes().for_bins([&](std::uint32_t count, double magnitude) {
    if (magnitude < zone) return false;
    logarithms += count * log2_about(std::max((magnitude - zone) / step + 0.5, 1.0));
    return true;
  });
  const auto size = static_cast<double>(composer.candidates().size);
  const double gap = log2_about((size + 1) / sent) + 1.4, mean = logarithms / sent;
  return sent * (gap + 1 + mean + std::min(1.8, 1.5 * std::sqrt(mean)));
}

// The search ends this near below the budget, by bytes or by share: another try costs more than
// they bring. It aims at the middle.
constexpr std::size_t kLeftBytes = 16, kLeftBytesShare = 32, kLeftShare = 128;

// Steps as near as this have sizes on a straight line.
constexpr std::uint32_t kNear = 48;

// The search for the step.
class Filler {
 public:
  Filler(Composer& composer, std::size_t budget)
      : composer_(composer),
        budget_(budget),
        enough_(budget -
                std::max(std::min(budget / kLeftBytesShare, kLeftBytes), budget / kLeftShare)),
        aim_(static_cast<double>(enough_ + budget) / 2) {
    const double largest = composer.candidates().largest;
    if (composer.candidates().coder == Coder::kEntropy)
      finest_ = step_code_of(largest / (rans::kLevelMax / 2)) + 1;
    coarsest_ = std::min(step_code_of(2 * largest) + 1, kStepCodes - 1);
  }

  Message run() {
    const double finest_bits = bits_about(composer_, finest_);
    if (finest_bits < 2 * 8 * budget() && try_step(finest_) <= budget_) return std::move(best_);
    over_ = {finest_, finest_bits / 8};
    fits_ = {coarsest_, 1};
    bool over_known = false, fits_known = false;
    double ratio = 0.75;
    for (unsigned attempt = 0; fits_.code - over_.code > 1 && best_.bytes.size() < enough_;
         ++attempt) {
      std::uint32_t code;
      if (attempt % 4 == 3)
        code = over_.code + (fits_.code - over_.code) / 2;
      else if (over_known && fits_known && fits_.code - over_.code <= kNear)
        code = between();
      else
        code = step_for(8 * aim_ / ratio);
      code = std::clamp(code, over_.code + 1, fits_.code - 1);
      const auto bytes = static_cast<double>(std::max<std::size_t>(try_step(code), 1));
      ratio = 8 * bytes / bits_about(composer_, code);
      const bool fits = bytes <= budget();
      (fits ? fits_ : over_) = {code, bytes};
      (fits ? fits_known : over_known) = true;
    }
    if (best_.bytes.size() < enough_) trim();
    return std::move(best_);
  }

 private:
  struct Tried {
    std::uint32_t code = 0;
    double bytes = 0;
  };

  [[nodiscard]] double budget() const { return static_cast<double>(budget_); }

  // Sizes fall about exponentially with the code.
  [[nodiscard]] std::uint32_t between() const {
    const double drop = log2_about(over_.bytes / fits_.bytes);
    const double wanted = log2_about(over_.bytes / aim_);
    const auto width = static_cast<double>(fits_.code - over_.code);
    const double share = drop > 0 ? std::clamp(wanted / drop, 0.0, 1.0) : 0.5;
    return over_.code + static_cast<std::uint32_t>(share * width + 0.5);
  }

  // The code of the step that is estimated to take so many bits.
  [[nodiscard]] std::uint32_t step_for(double bits) const {
    std::uint32_t low = finest_, high = coarsest_;
    while (high - low > 1) {
      const std::uint32_t middle = low + (high - low) / 2;
      (bits_about(composer_, middle) > bits ? low : high) = middle;
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
    const Message& over = composer_.compose(over_.code);
    std::size_t over_bytes = over.bytes.size(), low_bytes = 0;
    std::size_t high = over.elements.indices.size(), low = 0;
    for (unsigned attempt = 0; high - low > 1 && best_.bytes.size() < enough_; ++attempt) {
      const double share =
          static_cast<double>(budget_ - low_bytes) / static_cast<double>(over_bytes - low_bytes);
      const double wanted = attempt % 4 == 3 ? 0.5 : 0.998 * share;
      const std::size_t limit =
          std::clamp(low + static_cast<std::size_t>(wanted * static_cast<double>(high - low)),
                     low + 1, high - 1);
      const std::size_t bytes = try_step(over_.code, limit);
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
  const double aim_;  // bytes
  std::uint32_t finest_ = 0, coarsest_;
  Tried over_, fits_;  // steps that take too many bytes, and that do not
  Message best_;
};

}  // namespace

Message fill(Composer& composer, std::size_t budget) {
  if (composer.candidates().entries.size() == 0) return {};
  return Filler(composer, budget).run();
}

}  // namespace kimesh::dzq
