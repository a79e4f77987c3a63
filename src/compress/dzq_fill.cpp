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
// they bring.
constexpr std::size_t kLeftBytes = 16, kLeftBytesShare = 32, kLeftShare = 128;

// What is a little over the budget loses its smallest elements: as if the dead zone, which a head
// has in sixteenths of a step, ended at most this share further out. They are worth what finer
// steps are.
constexpr double kTrimShare = 1.0 / 80, kTrimNear = 1.1;

// Steps as near as this have sizes on a straight line.
constexpr std::uint32_t kNear = 48;

// Of the bits of a message's smallest elements to those of all.
constexpr double kSmallestBits = 0.8;

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
    over_ = {finest_, 0, finest_bits / 8};
    fits_ = {coarsest_, 0, 1};
    if (finest_bits >= 2 * 8 * budget() || !attempt(finest_)) search();
    if (!done_) trim();
    if (!done_ && best_bytes_ > 0) done_ = composer_.measure(best_.code, best_.limit) > 0;
    return done_ ? std::move(composer_.finish()) : Message{};
  }

 private:
  struct Tried {
    std::uint32_t code = 0;
    std::size_t count = 0;
    double bytes = 0;
  };
  struct Choice {
    std::uint32_t code;
    std::size_t limit = kNoLimit;
  };

  [[nodiscard]] double budget() const { return static_cast<double>(budget_); }

  // Until a step fits, or one is over by what trimming takes away.
  void search() {
    double ratio = 0.75;
    bool over_known = false, fits_known = false;
    for (unsigned attempts = 0; fits_.code - over_.code > 1; ++attempts) {
      std::uint32_t code;
      if (attempts % 4 == 3)
        code = over_.code + (fits_.code - over_.code) / 2;
      else if (over_known && fits_known && fits_.code - over_.code <= kNear)
        code = between();
      else
        code = step_for(8 * aim_ / ratio);
      code = std::clamp(code, over_.code + 1, fits_.code - 1);
      if (attempt(code)) return;
      const Tried& now = over_.code == code ? over_ : fits_;
      ratio = 8 * std::max(now.bytes, 1.0) / bits_about(composer_, code);
      (over_.code == code ? over_known : fits_known) = true;
      if (over_known && trims_little()) return;
    }
  }

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
    std::uint32_t low = over_.code, high = fits_.code;
    while (high - low > 1) {
      const std::uint32_t middle = low + (high - low) / 2;
      (bits_about(composer_, middle) > bits ? low : high) = middle;
    }
    return high;
  }

  // Whether few elements have to go of what is over.
  [[nodiscard]] bool trims_little() const {
    const double step = step_of(over_.code), zone = step * composer_.dead_zone(step) / 16;
    const Magnitudes& all = composer_.magnitudes();
    const double few = all.at_least(zone) - all.at_least((1 + kTrimShare) * zone);
    const double bytes_each = kSmallestBits * over_.bytes / static_cast<double>(over_.count);
    return over_.bytes - aim_ <= few * bytes_each;
  }

  // How far bytes may be from what was measured.
  [[nodiscard]] std::size_t slack(std::size_t bytes) const {
    constexpr std::size_t kOneLane = 2, kSeveral = 9, kShare = 1 << 16;
    return rans::lanes_of(composer_.count()) == 1 ? kOneLane : kSeveral + bytes / kShare;
  }

  // Whether the message with these is what was looked for. It is only made where that may be.
  bool attempt(std::uint32_t code, std::size_t limit = kNoLimit) {
    std::size_t bytes = composer_.measure(code, limit);
    const std::size_t off = slack(bytes);
    if (bytes + off >= enough_ && bytes <= budget_ + off) bytes = composer_.finish().bytes.size();
    const bool fits = bytes <= budget_;
    (fits ? fits_ : over_) = {code, composer_.limited_count(), static_cast<double>(bytes)};
    if (fits && bytes > best_bytes_) {
      best_ = {code, limit};
      best_bytes_ = bytes;
    }
    done_ = fits && (bytes >= enough_ || code == finest_);
    return done_;
  }

  // Where many elements are equal, one step sends none of them and the next all.
  void trim() {
    const std::uint32_t code = over_.code;
    if (over_.count == 0 && attempt(code)) return;
    fits_ = {code, 0, 0};
    for (unsigned attempts = 0; over_.count - fits_.count > 1; ++attempts) {
      const auto high = static_cast<double>(over_.count), low = static_cast<double>(fits_.count);
      const bool near = fits_.count == 0 && over_.bytes < kTrimNear * budget();
      const double bytes_each =
          (over_.bytes - fits_.bytes) / (high - low) * (near ? kSmallestBits : 1);
      const double wanted =
          attempts % 4 == 3 ? (high + low) / 2 : high - (over_.bytes - aim_) / bytes_each;
      const double limit = std::clamp(wanted, low + 1, high - 1);
      if (attempt(code, static_cast<std::size_t>(limit))) return;
    }
  }

  Composer& composer_;
  const std::size_t budget_, enough_;
  const double aim_;  // bytes
  std::uint32_t finest_ = 0, coarsest_;
  Tried over_, fits_;  // what takes too many bytes, and what does not
  Choice best_{};
  std::size_t best_bytes_ = 0;
  bool done_ = false;
};

}  // namespace

Message fill(Composer& composer, std::size_t budget) {
  if (composer.candidates().entries.size() == 0) return {};
  return Filler(composer, budget).run();
}

}  // namespace kimesh::dzq
