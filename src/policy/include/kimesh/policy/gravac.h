// GraVAC (Tyagi, Swany: GraVAC: Adaptive Compression for Communication-Efficient Distributed DL
// Training, 2023): looks for the factor by which messages may shrink while their gain holds.
//
// theta_c = theta_s · theta_min is tried: theta_min is trusted, theta_s a scale. What a round
// sends:
//   theta_c where its gain delta_c >= epsilon, else theta_min where its gain delta_min >= epsilon,
//   else all.
// After every `window` of time, while searching:
//   omega    |delta_min − delta_c| / delta_min <= omega while delta_c >= epsilon: theta_min becomes
//            theta_c, and theta_s 1, so that theta_c stays what it was (the paper leaves that
//            open);
//   scale    theta_c goes to its next step: the first theta_min times 2, 4, 16, 256 (exponential)
//            or 2, 4, 8, 16 (geometric), and so on, at most theta_max;
//   select   once theta_c has been theta_max for a window, the search is over. theta_c becomes the
//            factor with the highest gain / round time of those that keep epsilon; of several
//            within omega of the highest, the smallest factor. Done again, with newer numbers,
//            after every window.
//   restart  in any state, after kGravacDenseRounds rounds in a row in which all was sent: no
//            factor that is known will do, so the search begins again at the first theta_min, and
//            what it knew is forgotten. Dense rounds take so long that a window of them would be
//            most of a run.
//
// The gain of a factor is that of what the compressor gets, delta = 1 − E(theta) / E(0), where E is
// the energy that a message leaves out of what there was to send, its residual or its difference to
// the estimate included (the paper's gain, for error feedback of any kind). It is summed over the
// messages of a round, of reduces and of gathers apart, and a round's gain is the harmonic mean of
// the two: what the owner learns late by either way is late. With `gain: paper` it is that of the
// reduces alone, and a gather is as large as the sum of N sparse messages: it shrinks by theta / N.
//
// One curve of what there was to send tells the gains of all factors, whatever the codec selects
// by (docs/experiments.md compares that with the paper's multi-level compression). What a codec
// such as redsync sends short of its number is learnt from its messages. The time of a round at a
// factor is what the node's links say of it; a factor needs not have been sent. As long as a gain
// is unknown, it counts as good.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "kimesh/policy/policy_options.h"
#include "kimesh/util/state_bytes.h"

namespace kimesh {

// With the paper's letters. A factor says how many times less is sent: elements, with a codec that
// counts them, else bytes.
struct GravacOptions {
  enum class Gain { kContraction, kPaper } gain = Gain::kContraction;
  enum class Scaling { kExponential, kGeometric } scaling = Scaling::kExponential;
  enum class Scope { kNode, kLink } scope = Scope::kNode;  // who has a factor of its own
  double theta_min = 10, theta_max = 1000;                 // factors, 1 <= theta_min < theta_max
  // Gain that a factor must keep, (0, 1]. The paper has 0.7 to 0.9; what a tenth of the elements
  // of an EF21 difference holds may be under half of its energy, and more rounds make up for it.
  double epsilon = 0.1;
  double omega = 0.01;  // two gains that differ by no more than this share are equal, (0, 1)
  Duration window = std::chrono::seconds(1);  // between two looks at the factors, > 0
};

// A round's gain weighs N/100 in the smoothed one, as in the paper: the more nodes, the less noise
// in what they sum. Fewer than one in a hundred would not follow training,
inline constexpr double kGravacWeightMin = 0.01;
// more than three in ten would follow the noise.
inline constexpr double kGravacWeightMax = 0.3;
// The rounds in a row in which all may be sent.
inline constexpr unsigned kGravacDenseRounds = 2;

// What a round told of a factor, whether or not it sent at it.
struct GravacView {
  std::optional<double> gain;     // nothing: no message was measured
  std::optional<double> round_s;  // nothing: too little is known of a link
  template <typename Self>
  static auto state_of(Self& self) {
    return std::tie(self.gain, self.round_s);
  }
};

// A factor that the search tries, and what is known of it, smoothed.
struct GravacStep {
  double theta = 1;
  GravacView known;
  template <typename Self>
  static auto state_of(Self& self) {  // the factors are those of the options
    return std::tie(self.known);
  }
};

// The state machine above, of one node or one link.
class GravacSearch {
 public:
  // Requires options in their ranges, nodes >= 1.
  GravacSearch(const GravacOptions& options, unsigned nodes);

  // What the next round sends at; 1: all, dense.
  [[nodiscard]] double factor() const;
  // A round that was sent at factor() is over. Shapes: views [steps].
  void observe(Duration took, std::span<const GravacView> views);

  [[nodiscard]] double theta_min() const { return steps_[trusted_].theta; }
  [[nodiscard]] double theta_s() const { return steps_[tried_].theta / theta_min(); }
  [[nodiscard]] bool selected() const { return selected_; }
  [[nodiscard]] std::span<const GravacStep> steps() const { return steps_; }
  // As one JSON object.
  [[nodiscard]] std::string state() const;
  void save(StateWriter& writer) const;
  void restore(StateReader& reader);

 private:
  [[nodiscard]] std::optional<std::size_t> in_use() const;  // a step; nothing: all is sent
  [[nodiscard]] bool keeps_epsilon(const GravacStep& step) const;
  void smooth(std::optional<double>& value, std::optional<double> next) const;
  void end_window();
  void select();
  void restart();

  GravacOptions options_;
  double weight_;
  std::vector<GravacStep> steps_;  // ascending, from the first theta_min to theta_max
  std::size_t trusted_ = 0, tried_ = 0;
  bool selected_ = false;
  Duration window_{0};         // what has passed of it
  unsigned dense_rounds_ = 0;  // in a row
};

// The policy, with options in their ranges.
[[nodiscard]] std::unique_ptr<Policy> make_gravac(const GravacOptions& options,
                                                  const PolicySetup& setup);

// How messages are made of a factor, and measured.
struct GravacRules {
  const Codec& codec;
  GravacOptions::Gain gain = GravacOptions::Gain::kContraction;
  unsigned nodes = 2;
  // The share of the elements that messages are given which they carry: under 1 with codecs that
  // stop short of them.
  double filled = 1;
};
// The factor of a message of this phase.
[[nodiscard]] double gravac_factor(double theta, Phase phase, const GravacRules& rules);
// The size of a message of `elements`; dense where that is no longer. Never under the floor.
[[nodiscard]] Budget gravac_budget(double factor, std::size_t elements, const Codec& codec);
// What these messages tell of the factors. Messages without energy have nothing to lose: their gain
// is 1. The round time is that of the message that takes longest. Shapes: thetas, result [factors].
[[nodiscard]] std::vector<GravacView> view_factors(std::span<const double> thetas,
                                                   std::span<const MessageObservation> messages,
                                                   const GravacRules& rules);

}  // namespace kimesh
