// The control vector and the verdict, which travel with shard 0's messages. The reduce sums or
// maximises the control vectors of all nodes; the owner of shard 0 answers with a verdict, which
// comes back with the gather, and all nodes act on it in the same round.
#pragma once

#include <cstdint>
#include <span>

#include "kimesh/events/message.h"
#include "kimesh/policy/even_bits.h"
#include "kimesh/policy/round_time_search.h"
#include "kimesh/util/ids.h"

namespace kimesh {

// Rounds a measured value to a float, as which it travels in half the bytes. All nodes use the
// rounded value, also the owner of shard 0, which sends the verdict. Counts, limits, numbers of
// rounds, accuracy and the loss of the test set travel exactly.
[[nodiscard]] double as_float(double value);

// The control vector of a reduce message. A node adds those of its children in node order, once all
// are there. A sum counts only with all N nodes in it.
struct ControlVector {
  double nodes = 0;  // sum of ones
  double loss = 0;   // Σ ω_i · (mean loss of node i's batch)
  // Sums of the evaluation made at the start of this round; samples 0: none was made. A sample of a
  // text is a token. In an agreement on a checkpoint samples counts the nodes that hold one.
  double correct = 0, samples = 0, test_loss = 0;
  double compute_s = 0;   // max: the round's longest gradient, over its Verdict::local_steps
  double evaluate_s = 0;  // max: what the run's clock leaves out
  // Min of those over 0: the most bytes that a shared gather message of shard 0 may take on every
  // link of its tree. 0: nothing limits it.
  double gather_limit = 0;
  // Max. 0: no wish, 1: the time is over, 2: a node's traffic is used up. In an agreement on a
  // checkpoint, 1: a node holds none and may have lost it.
  double stop_wish = 0;
  ExchangeOffer offer;  // in some rounds, where the mesh searches for its round time
  // Min, in rounds that end with a checkpoint: 1 + the round of the newest checkpoint that a node
  // holds. 0: a node holds none.
  double checkpoint_held = 0;
  // Max. 1: a user asks for a checkpoint. In an agreement on a checkpoint, 1: the last run came to
  // its regular end at a node.
  double checkpoint_wish = 0;
  // Where CoreOptions::chooses_multiples: a local step of the slowest node (max; of each the median
  // of its last five), and Σ ω_i · (how many times Verdict::local_steps node i offers to take).
  double step_s = 0, multiple = 0;
  // Min of those over 0, where messages may be even: the room that a node has for its messages, in
  // bits an element, at most kBitsOfDense. By the rates of its links, room_for_even_messages(). For
  // like data that are not even yet, it follows from the node's last messages.
  double room_for_even_messages = 0;
  // In an agreement on a checkpoint: the lineage of the one that checkpoint_held tells.
  // kMixedLineages: nodes hold some of one round that are of different runs.
  std::uint64_t held_lineage = 0;
  // Adds the sums, merges the offers, takes the tighter gather_limit and room_for_even_messages,
  // the smaller checkpoint_held with its lineage, and the larger of the others.
  void merge(const ControlVector& other);
  [[nodiscard]] Control to_control() const;
  static ControlVector from_control(std::span<const double> values);  // missing values are 0
  bool operator==(const ControlVector&) const = default;
};

// The smaller of two limits. A limit of 0 is none.
[[nodiscard]] double tighter_limit(double a, double b);

// The control values of a reduce message of another shard than 0: its ControlVector::gather_limit
// alone.
[[nodiscard]] Control gather_limit_to_control(double limit);
[[nodiscard]] double gather_limit_from_control(std::span<const double> values);

// A node takes at most so many times the local steps of the slowest one. More than twice as many
// gain little on the cnn (docs/experiments.md).
inline constexpr unsigned kMultipleMax = 4;

// Stands for no round.
inline constexpr Round kNoRound = 0xffffffff;

// The number of a run, or of the going on of a run from a checkpoint, which no other has: what came
// after one checkpoint in two ways has two numbers. 0: none. Doubles hold them all.
inline constexpr std::uint64_t kMixedLineages = 1, kLineageMin = 2,
                               kLineageMax = (std::uint64_t{1} << 53) - 1;

// Why a run ends. kWish: Ctrl-C or the stop flag, "stopped" in files. kPermanent: a failure
// (HaltKind::kPermanent), which no verdict holds. The values are part of the wire format and never
// change.
enum class StopReason : std::uint8_t {
  kNone,
  kRounds,
  kAccuracy,
  kTime,
  kWish,
  kTraffic,
  kLoss,
  kPermanent
};

// What the owner of shard 0 answers to the control vectors; it comes down with gather messages.
struct Verdict {
  double loss = 0;
  double accuracy = -1;  // of the latest evaluation with all nodes in it; negative: none yet
  Round accuracy_round = kNoRound;
  double test_loss = 0;  // mean over the test set, of the same evaluation
  double compute_s = 0;  // T_comp for the next round's budgets: the median of five rounds
  // Where the mesh searches for its round time: what a round is to take besides T_comp, or in all
  // where messages overlap with gradients.
  double exchange_s = 0;
  double evaluate_s = 0;  // longest evaluation of this round
  // The gather of this round is dense at every hop unless gathers are shared, and the round after
  // it is a confirmation round: no gradient, all nodes evaluate the now equal models. kNoRound:
  // none is planned.
  Round closing_round = kNoRound;
  StopReason reason = StopReason::kNone;  // why the closing round was called
  // Only in the verdict of a confirmation round: it was the last. In that of an agreement on a
  // checkpoint: some nodes hold one, and another may have lost its.
  bool stop = false;
  // Where the mesh chooses: how gradients are taken from the next round on.
  Ahead ahead = Ahead::kNo;
  unsigned local_steps = 1;  // and how many those have that are asked for from then on
  // Over 1: node i takes μ_i times local_steps, with the μ_i that it offered in this verdict's
  // round. The value is Σ ω_i μ_i, at most kMultipleMax. 1: all nodes take local_steps.
  double mean_multiple = 1;
  double step_s = 0;  // ControlVector::step_s
  // The next round, where it is to end with a checkpoint; else kNoRound.
  Round checkpoint_round = kNoRound;
  // In the verdict of a round that ends with a checkpoint: the newest one that all nodes hold.
  // kNoRound: there is none, or the round ends without a checkpoint.
  Round checkpoint_held = kNoRound;
  // The bits an element that all messages have from the next round on (policy/even_bits.h). 0: each
  // message follows its own link.
  double even_bits = 0;
  // In the verdict of round 0, and of an agreement: the number of the run that begins, or goes on.
  std::uint64_t lineage = 0;
  // In that of an agreement: that of the checkpoint from which the mesh goes on.
  std::uint64_t held_lineage = 0;
  [[nodiscard]] Control to_control() const;
  static Verdict from_control(std::span<const double> values);
  bool operator==(const Verdict&) const = default;
};

}  // namespace kimesh
