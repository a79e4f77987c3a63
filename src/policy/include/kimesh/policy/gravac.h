// GraVAC (Tyagi, Swany: GraVAC: Adaptive Compression for Communication-Efficient Distributed DL
// Training, 2023): looks for the factor by which messages may shrink while their gain holds.
//
// theta_c = theta_s · theta_min is tried: theta_min is trusted, theta_s a scale. What a round
// sends:
//   theta_c where its gain delta_c >= epsilon, else theta_min where its gain delta_min >= epsilon,
//   else all.
// After every `window` rounds, while searching:
//   omega    |delta_min − delta_c| / delta_min <= omega while delta_c >= epsilon: theta_min becomes
//            theta_c, and theta_s 1, so that theta_c stays what it was (the paper leaves that
//            open);
//   scale    theta_c goes to its next step: the first theta_min times 2, 4, 16, 256 (exponential)
//            or 2, 4, 8, 16 (geometric), and so on, at most theta_max;
//   select   once theta_c has been theta_max for a window, the search is over. theta_c becomes the
//            factor with the highest throughput · gain of those that sent a round and keep epsilon;
//            of several within omega of the highest, the smallest factor. Done again, with newer
//            numbers, after every window.
//   restart  in any state, where the window ends with all sent: no factor that is known will do, so
//            the search begins again at the first theta_min, and what it knew is forgotten.
//
// Gains are of both levels, and of every step, in every round: topk is nested (theta_c of the topk
// of theta_min is theta_c of all: the paper's multi-level compression), and one curve of what there
// was to send tells them all. A gain is 1 − Σ missing / Σ wanted energy over the messages
// of a round: of reduces and of gathers apart, and the lower counts, because parameters are so much
// larger than gradients that a sum would show the gathers only. As long as a gain is unknown, it
// counts as good.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kimesh/policy/policy_options.h"

namespace kimesh {

// With the paper's letters. A factor is how many times fewer elements are sent.
struct GravacOptions {
  enum class Scaling { kExponential, kGeometric } scaling = Scaling::kExponential;
  enum class Scope { kNode, kLink } scope = Scope::kNode;  // who has a factor of its own
  double theta_min = 10, theta_max = 1000;                 // factors, 1 <= theta_min < theta_max
  double epsilon = 0.9;                                    // gain that a factor must keep, (0, 1]
  double omega = 0.01;  // two gains that differ by no more than this share are equal, (0, 1)
  Round window = 20;    // rounds between two looks at the factors, > 0
};

// A round's gain weighs N/100 in the smoothed one, as in the paper: the more nodes, the less noise
// in what they sum. Fewer than one in a hundred would not follow training,
inline constexpr double kGravacWeightMin = 0.01;
// more than three in ten would follow the noise.
inline constexpr double kGravacWeightMax = 0.3;

// A factor that the search tries, and what is known of it.
struct GravacStep {
  double theta = 1;
  std::optional<double> gain;     // smoothed
  std::optional<double> round_s;  // smoothed, of rounds that sent at it
};

// The state machine above, of one node or one link.
class GravacSearch {
 public:
  // Requires options in their ranges, nodes >= 1.
  GravacSearch(const GravacOptions& options, unsigned nodes);

  // What the next round sends at; 1: all, dense.
  [[nodiscard]] double factor() const;
  // A round that was sent at factor() is over.
  void observe(Duration took, std::span<const MessageObservation> messages);

  [[nodiscard]] double theta_min() const { return steps_[trusted_].theta; }
  [[nodiscard]] double theta_s() const { return steps_[tried_].theta / theta_min(); }
  [[nodiscard]] bool selected() const { return selected_; }
  [[nodiscard]] std::span<const GravacStep> steps() const { return steps_; }
  // As one JSON object.
  [[nodiscard]] std::string state() const;

 private:
  [[nodiscard]] std::optional<std::size_t> in_use() const;  // a step; nothing: all is sent
  [[nodiscard]] bool keeps_epsilon(const GravacStep& step) const;
  void smooth(std::optional<double>& value, double next) const;
  void end_window();
  void select();
  void restart();

  GravacOptions options_;
  double weight_;
  std::vector<GravacStep> steps_;  // ascending, from the first theta_min to theta_max
  std::size_t trusted_ = 0, tried_ = 0;
  bool selected_ = false;
  Round rounds_ = 0;  // of this window
};

// The policy, with options in their ranges.
[[nodiscard]] std::unique_ptr<Policy> make_gravac(const GravacOptions& options,
                                                  const PolicySetup& setup);

// The gain that these messages would have had at `theta`, each with its floor; nothing where none
// of them was measured. Messages without energy have nothing to lose: 1.
[[nodiscard]] std::optional<double> gain_at(double theta,
                                            std::span<const MessageObservation> messages);

}  // namespace kimesh
