// What a run's records come to: where the time of a round goes, and what every link did with its
// share. All times are of the run's clock, which leaves evaluations out.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kimesh/report/history.h"

namespace kimesh {

// Of one quantity over the measured rounds.
struct Spread {
  double p50 = 0, p95 = 0;
};
[[nodiscard]] Spread spread_of(std::vector<double> values);  // zeros where there are none

// Where the time of a round goes at one node, in seconds: the parts add up to the round. Work on
// messages that runs beside the gradient is the gradient's time: where both together are longer
// than the round, encoding, applying and steps are cut alike.
struct TimeSplit {
  double compute_s = 0, encode_s = 0, apply_s = 0, step_s = 0;
  double wire_s = 0;  // of what is left, as long as the node's busiest outgoing link sends
  double wait_s = 0;  // the rest: waiting for other nodes, and ways
};

// Means a round, in seconds.
struct NodeMeasures {
  std::size_t rounds = 0;  // that were measured; 0: another machine keeps the node's file
  Spread gradient_s;
  // What was recorded, beside the gradient or not.
  double encode_s = 0, apply_s = 0, step_s = 0;
  TimeSplit split;
};

struct LinkMeasures {
  LinkIndex link = 0;
  std::size_t rounds = 0;  // that were measured; 0: another machine keeps its sender's file
  std::optional<double> rate_bits_per_s;       // estimated, p50
  std::optional<double> true_rate_bits_per_s;  // emulated, p50; absent where nothing is
  std::optional<double> rate_off;  // p50 of |estimated / emulated − 1|; absent on shared links
  double fixed_cost_s = 0;         // p50
  double busy = 0;                 // share of the rounds' time in which it sends
  // Means a round. Dense: of the same messages as float32, without headers; 0: sizes unknown.
  double bytes = 0, budget_bytes = 0, dense_bytes = 0;
  double kept = 0;                                               // share of the elements
  std::optional<double> reduce_contraction, gather_contraction;  // means over the rounds
  // What the bytes that were not sent would have taken, a round; absent where no rate is known.
  std::optional<double> saved_s;
};

struct RunMeasures {
  // Rounds [first, end) are measured: those that all nodes with a file have recorded, without the
  // first tenth, in which links and policies find their place, and without the closing round.
  Round first = 0, end = 0;
  Spread round_s;
  double mean_round_s = 0;
  double longest_gradient_s = 0;    // mean over the rounds of the mesh's longest gradient
  std::vector<NodeMeasures> nodes;  // by NodeIndex
  std::vector<LinkMeasures> links;  // by LinkIndex

  [[nodiscard]] std::size_t rounds() const { return end - first; }
  // The share of the time that the mesh's longest gradients take. With overlap it may come to 1
  // while links are busy throughout.
  [[nodiscard]] double compute_share() const {
    return mean_round_s > 0 ? longest_gradient_s / mean_round_s : 0;
  }
};

// A round's time at one node on the run's clock, in seconds: without the mesh's evaluation, which
// those that evaluate for less time wait for.
[[nodiscard]] double seconds_of(const RoundRecord& round);

// How long a link has sent in a round, in seconds: without the ways there and back, which the
// records' wire_s holds, where the link's rate is known, emulated or estimated. 0 where messages
// are too small to fill it: its rate does not matter then.
[[nodiscard]] double sending_s(const LinkRecord& link);

// The parts add up to seconds_of(round).
[[nodiscard]] TimeSplit split_of(const RoundRecord& round);

// Requires a round that all nodes have recorded; nothing: there is none.
[[nodiscard]] std::optional<RunMeasures> measure(const RunHistory& history);

}  // namespace kimesh
