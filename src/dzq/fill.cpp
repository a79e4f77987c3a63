#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "compose.h"
#include "kimesh/util/check.h"
#include "magnitudes.h"

namespace kimesh::dzq {
namespace {

// Predicts the bits of a message with this step: gaps as of evenly spread elements, levels as of a
// geometric distribution, or a flatter one. Real messages are smaller; their ratio to the
// prediction changes slowly with the step.
double bits_about(const Composer& composer, std::uint32_t code) {
  const double step = step_of(code), zone = composer.zone_of(code);
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

// A sample consists of evenly spaced runs of entries; what lies between the runs is left out.
constexpr std::size_t kRun = 512, kRunsLeast = 16, kRunsOf = 16;

struct Sample {
  kernels::Entries entries, floors;  // `floors` stays empty
  std::size_t size = 0;
};

Sample sample_of(const Candidates& from) {
  const std::size_t runs = from.entries.size() / kRun;
  const std::size_t every = std::min(kRunsOf, runs / kRunsLeast);
  Sample sample;
  for (std::size_t run = every / 2; run < runs; run += every) {
    const std::size_t first = run * kRun, last = first + kRun;
    const std::size_t begin = first == 0 ? 0 : from.entries.indices[first - 1] + 1;
    for (std::size_t i = first; i < last; ++i) {
      sample.entries.indices.push_back(
          static_cast<std::uint32_t>(sample.size + from.entries.indices[i] - begin));
      sample.entries.values.push_back(from.entries.values[i]);
    }
    sample.size = sample.entries.indices.back() + std::size_t{1};
  }
  return sample;
}

// The fewest bytes with which the search ends: the unused rest is then worth less than the time of
// another attempt. A byte is worth more where every element has many bits.
std::size_t enough_of(std::size_t budget, std::size_t size) {
  constexpr std::size_t kLeftBytes = 16, kLeftBytesShare = 32, kManyBits = 4;
  const std::size_t left_share = 8 * budget > kManyBits * size ? 256 : 128;
  return budget - std::max(std::min(budget / kLeftBytesShare, kLeftBytes), budget / left_share);
}

// A message that is a little over the budget loses its smallest elements instead of its step. At
// most as many go as if the dead zone ended this share further out, and at most this share of the
// bytes. These elements are worth about what finer steps are.
constexpr double kTrimShare = 1.0 / 80, kTrimBytesShare = 1.0 / 20, kTrimNear = 1.5;

// The usual ratio of a message's bits to the prediction.
constexpr double kUsualRatio = 0.9;

// From this many entries on, a sample gives a better ratio; and the bytes that the adaptive tables
// cost until they fit.
constexpr std::size_t kSampledEntries = kRun * kRunsLeast;
constexpr double kLearning = 40;

// The bits of one of the smallest elements, relative to the mean of all elements.
constexpr double kSmallestBits = 0.8;

// Searches the step.
class Filler {
 public:
  Filler(Composer& composer, std::size_t budget)
      : composer_(composer),
        budget_(budget),
        enough_(enough_of(budget, composer.candidates().size)),
        aim_(static_cast<double>(enough_ + 3 * budget) / 4) {
    const Candidates& all = composer.candidates();
    const double largest = all.largest;
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
    if (!done_ || composer_.finish().bytes.size() > budget_) return {};
    return std::move(composer_.finish());
  }

 private:
  struct Attempt {
    std::uint32_t code = 0;
    std::size_t count = 0;
    double bytes = 0;
  };
  struct Choice {
    std::uint32_t code;
    std::size_t limit = kNoLimit;
  };

  [[nodiscard]] double budget() const { return static_cast<double>(budget_); }

  // The prediction (bits_about) of the step to try first, corrected by a sample where there are
  // many entries.
  [[nodiscard]] double first_bits() const {
    const Candidates& all = composer_.candidates();
    double wanted_bits = 8 * aim_ / kUsualRatio;
    if (all.entries.size() < kSampledEntries) return wanted_bits;
    const Sample sample = sample_of(all);
    Composer composer(
        {sample.size, sample.entries, sample.floors, {}, all.rounding, all.largest, &composer_});
    Size last{0, 0};
    for (int attempt = 0; attempt < 2; ++attempt) {
      const std::uint32_t code = step_for(wanted_bits);
      const double zone = composer_.zone_of(code);
      const auto bytes = static_cast<double>(composer.measure(code));
      if (composer.count() == 0) break;
      const double each = std::max(bytes - kLearning, 1.0) / static_cast<double>(composer.count());
      const auto count = static_cast<double>(composer_.count_reaching(zone));
      const Size now{bits_about(composer_, code), kLearning + each * count};
      wanted_bits = bits_for_aim(last, now);
      last = now;
    }
    return wanted_bits;
  }

  // Narrows the step until a message is what was looked for, or is over by little enough to trim.
  void search() {
    Size last{0, 0};
    double wanted_bits = first_bits();
    for (unsigned attempts = 0; fits_.code - over_.code > 1; ++attempts) {
      const bool halve = attempts % 4 == 3;
      const std::uint32_t code =
          std::clamp(halve ? over_.code + (fits_.code - over_.code) / 2 : step_for(wanted_bits),
                     over_.code + 1, fits_.code - 1);
      if (attempt(code)) return;
      const Attempt& last_attempt = over_.code == code ? over_ : fits_;
      const Size now{bits_about(composer_, code), std::max(last_attempt.bytes, 1.0)};
      wanted_bits = bits_for_aim(last, now);
      last = now;
      if (over_.code == code && over_.count == 0) return;  // the floors alone are over
      if (over_.count > 0 && trims_little()) return;
    }
  }

  // The predicted and the measured size of the message with some step.
  struct Size {
    double bits, bytes;
  };
  // The prediction that should give aim_ bytes: bytes are taken to be linear in the predicted bits,
  // with a constant part for floors.
  [[nodiscard]] double bits_for_aim(const Size& last, const Size& now) const {
    const double slope = (now.bytes - last.bytes) / (now.bits - last.bits);
    const double usual = now.bytes / now.bits;
    const bool good = last.bits != now.bits && slope > usual / 4 && slope < usual * 4;
    return std::max(now.bits + (aim_ - now.bytes) / (good ? slope : usual), 1.0);
  }

  // The code of the step that is predicted to take this many bits.
  [[nodiscard]] std::uint32_t step_for(double bits) const {
    std::uint32_t low = over_.code, high = fits_.code;
    while (high - low > 1) {
      const std::uint32_t middle = low + (high - low) / 2;
      (bits_about(composer_, middle) > bits ? low : high) = middle;
    }
    return high;
  }

  // Whether trimming a few elements of the message that is over makes it fit.
  [[nodiscard]] bool trims_little() const {
    const double zone = composer_.zone_of(over_.code);
    const MagnitudeCounts& all = composer_.magnitudes();
    const double few = all.at_least(zone) - all.at_least((1 + kTrimShare) * zone);
    const double bytes_each = kSmallestBits * over_.bytes / static_cast<double>(over_.count);
    return over_.bytes - aim_ <= std::min(few * bytes_each, kTrimBytesShare * budget());
  }

  // The largest difference of a message's bytes from what measure said.
  [[nodiscard]] std::size_t slack(std::size_t bytes) const {
    constexpr std::size_t kOneStream = 2, kSeveral = 9, kShare = 1 << 16;
    return rans::stream_count(composer_.count()) == 1 ? kOneStream : kSeveral + bytes / kShare;
  }

  // Tries a step and a limit. Returns whether the message ends the search. The bytes are written
  // only where the measured size allows that.
  bool attempt(std::uint32_t code, std::size_t limit = kNoLimit) {
    std::size_t bytes = composer_.measure(code, limit);
    const std::size_t off = slack(bytes);
    if (bytes + off >= enough_ && bytes <= budget_ + off) bytes = composer_.finish().bytes.size();
    const bool fits = bytes <= budget_;
    fitted_ = fits;
    (fits ? fits_ : over_) = {code, composer_.limited_count(), static_cast<double>(bytes)};
    if (fits && bytes > best_bytes_) {
      best_ = {code, limit};
      best_bytes_ = bytes;
    }
    done_ = fits && (bytes >= enough_ || (code == finest_ && limit == kNoLimit));
    return done_;
  }

  // Searches the limit with which the step that is over fits. It is needed where many elements are
  // equal: one step sends none of them, the next all. Limits rank all entries, those of pieces with
  // a floor too, so that the number of sent elements does not give the next limit.
  void trim() {
    const std::uint32_t code = over_.code;
    if (over_.count == 0 && attempt(code)) return;
    if (over_.count == 0) return;
    fits_ = {code, 0, 0};
    const double zone = composer_.zone_of(code);
    std::size_t most = composer_.count_reaching(zone), least = 0;
    for (unsigned attempts = 0; most - least > 1; ++attempts) {
      const auto high = static_cast<double>(most), low = static_cast<double>(least);
      const bool near = least == 0 && over_.bytes < kTrimNear * budget();
      const double bytes_each =
          (over_.bytes - fits_.bytes) / (high - low) * (near ? kSmallestBits : 1);
      const double wanted =
          attempts % 4 == 3 ? (high + low) / 2 : high - (over_.bytes - aim_) / bytes_each;
      const auto limit = static_cast<std::size_t>(std::clamp(wanted, low + 1, high - 1));
      if (attempt(code, limit)) return;
      (fitted_ ? least : most) = limit;
    }
  }

  Composer& composer_;
  const std::size_t budget_, enough_;
  const double aim_;  // the bytes that attempts aim at
  std::uint32_t finest_ = 0, coarsest_;
  Attempt over_, fits_;  // the last steps that took too many bytes, and few enough
  Choice best_{};
  std::size_t best_bytes_ = 0;
  bool fitted_ = false, done_ = false;  // the last attempt fitted; the search has ended
};

}  // namespace

Message fill(Composer& composer, std::size_t budget) {
  if (composer.candidates().entries.size() == 0) return {};
  return Filler(composer, budget).run();
}

}  // namespace kimesh::dzq
