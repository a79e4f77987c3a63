// What a core reports to its observers: rounds, decisions, notices, the end.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kimesh/codec/setting.h"
#include "kimesh/round/control.h"
#include "kimesh/util/ids.h"

namespace kimesh {

// ---- after each round
// How much of what there was to send messages have carried: 1 − missing / to_send is their
// contraction, the α of error feedback.
struct EnergyReport {
  double to_send = 0, missing = 0;  // Σ ‖p − h‖² before, and after
};
struct LinkReport {
  LinkIndex link = 0;
  double bytes_per_s = 0, relative_error = 1;  // estimate; 0: unknown
  bool lower_bound = false;                    // the rate may be far higher
  Duration fixed_cost{0};
  std::uint64_t budget_bytes = 0, bytes = 0;  // of this round's messages; bytes with overhead
  std::uint64_t elements = 0, kept = 0;       // share kept = kept / elements
  double gain = 0;                            // energy-weighted α of its messages
  EnergyReport reduce, gather;
  Duration wire{0};  // time that the pipe was busy with acked messages
};
// Of one layer, in all messages of a round that this node made.
struct LayerReport {
  std::uint64_t elements = 0, kept = 0;
};
// Rounds between two reports of layers: a model may have hundreds.
inline constexpr Round kLayerReportEvery = 10;
// What a node's reduce messages have left out under EF14, which it keeps for the next round.
struct ResidualReport {
  double energy = 0;     // Σ ‖e‖²
  double of_energy = 0;  // Σ ‖p + e‖², of what there was to send
};
struct RoundReport {
  Round round = 0;
  bool confirmation = false;
  bool closing = false;     // a confirmation round or the end follows: all models are equal
  bool checkpoint = false;  // the round ended with one
  TimePoint begun, ended;
  double own_loss = 0;
  Verdict verdict;  // the mesh's loss, accuracy, T_comp
  Duration compute{0}, evaluate{0}, encode{0}, apply{0}, step{0};
  ResidualReport residual;          // zeros but under EF14
  std::vector<LinkReport> links;    // the node's outgoing links
  std::vector<LayerReport> layers;  // by layer of the layout; empty but every kLayerReportEvery
  std::vector<std::pair<ShardIndex, std::uint64_t>> digests;  // of owned shards, when asked for
  // What the policy has learnt, or the round time that the mesh has found, a JSON object; empty:
  // nothing.
  std::string policy_state;
};
struct Report {
  RoundReport round;
};

// A decision that time or measurement made. A replay of all decisions makes the same bits.
struct Decision {
  enum class Kind : std::uint8_t {
    kSetting,
    kReset,
    kClosing,
    kConfirmedStop,
    kPace,
    kMultiple,
    kCheckpoint,
    kResume
  } kind = Kind::kSetting;
  Round round = 0;           // resume: the one that the run goes on with
  ChannelIndex channel = 0;  // setting, reset
  Setting setting;           // setting
  Verdict verdict;           // closing, confirmed stop, pace, checkpoint
  unsigned multiple = 1;     // multiple: what the node offers from `round` on
};
struct Decided {
  Decision decision;
};
struct Notice {
  std::string text;
};  // a sentence for the log: resets, warnings

// ---- the end
enum class Outcome : std::uint8_t { kDone, kStopped, kFailed };
struct Finish {
  Outcome outcome;
  StopReason reason;
  std::string text;
};  // nothing follows

}  // namespace kimesh
