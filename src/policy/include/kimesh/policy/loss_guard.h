// The guard of the search for a round time: it notices by the training loss that what messages
// leave out comes too late, whatever the formula of round_time_search.h says, and lets it come
// later as long as the loss falls.
#pragma once

#include <cstddef>
#include <tuple>

namespace kimesh {

// The mean loss of so many rounds is compared, since batches differ.
inline constexpr std::size_t kLossWindow = 8;
// The guard raises an alarm where the loss comes back by this share of what the run has gained so
// far, and by more than noise. Runs that go well come back by at most 0.03 of it (digits) or by
// noise (cnn), runs whose messages are too late by 0.2 to 0.9.
inline constexpr double kLossComesBack = 0.06;
// Noise is a rise of at most so many standard errors of the difference of two windows.
inline constexpr double kLossErrors = 4;
// By what an alarm multiplies the cost of delay; where data are unlike, after one that takes a
// factor below 1 back to 1. The best exchange is about proportional to the root of it, so that
// messages get about twice the time.
inline constexpr double kCautionStep = 4;
// With so much no exchange is too short for dense messages, whose delay is 0.
inline constexpr double kCautionMax = 256;
// Windows without an alarm after which caution takes one step back: 128 rounds, in which an
// unstable run has shown itself again.
inline constexpr std::size_t kCalmWindows = 16;
// Until the first alarm caution is divided by kBoldStep after every kBoldWindows windows, down to
// kCautionMin. How much delay a model bears is not known beforehand: the digits' mlp bears three
// times as much as the cnn, and both bear more after their first rounds.
inline constexpr std::size_t kBoldWindows = 2;
inline constexpr double kBoldStep = 2, kCautionMin = 0.25;

// Thread: that of the core, at the owner of shard 0.
class LossGuard {
 public:
  // `loss`: the mean loss of the mesh's batches in one more round. `unlike`: whether data are
  // unlike, so that a factor below 1 has been tried, which the first alarm takes back. `even`:
  // whether all messages have one size (even_bits.h), so that no factor below 1 is tried.
  void add(double loss, bool unlike, bool even = false);
  // The factor of the cost of delay, from kCautionMin to kCautionMax. A factor below 1 is meant for
  // unlike data alone: the cost of delayed noise has been measured.
  [[nodiscard]] double caution() const { return caution_; }

  template <typename Self>
  static auto state_of(Self& self) {
    return std::tie(self.sum_, self.squares_, self.count_, self.has_first_, self.first_, self.best_,
                    self.variance_, self.calm_, self.had_alarm_, self.caution_);
  }
  [[nodiscard]] bool is_sound() const {
    return count_ < kLossWindow && caution_ >= kCautionMin && caution_ <= kCautionMax;
  }

 private:
  void end_window(bool unlike, bool even);
  void choose(bool comes_back, bool unlike, bool even);

  double sum_ = 0, squares_ = 0;  // of the window's losses, and of their squares
  std::size_t count_ = 0;         // of the window's losses
  bool has_first_ = false;        // the first window has ended
  double first_ = 0;              // its mean
  double best_ = 0;               // the least mean of a window since the last alarm
  double variance_ = 0;           // of a window's mean, by the losses within windows
  std::size_t calm_ = 0;          // windows since the last alarm or step back
  bool had_alarm_ = false;
  double caution_ = 1;
};

}  // namespace kimesh
