// Whether the machines of a topology reach each other, before a run: `kimesh doctor`, started for
// every node, tries each link of its node in both directions.
//
// Doctors use the listening address, the handshake and the security of a run. Each measures its
// outgoing links, one after another, with messages that grow until they tell the rate, and sends
// what it found over the same link, so that both ends know it. Emulated rates are left out: what
// counts is the network.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "kimesh/link/network.h"
#include "kimesh/topology/plan.h"
#include "kimesh/topology/topology_file.h"
#include "kimesh/util/result.h"

namespace kimesh {

struct DoctorOptions {
  const Plan* plan = nullptr;              // its links are tried; outlives the call
  const TopologyFile* topology = nullptr;  // outlives the call
  NodeIndex self = 0;
  std::string version;             // of this program; doctors of other versions are refused
  std::optional<CurveKeys> curve;  // of the node, where links are encrypted
  // How long to wait without any news: nobody comes, nothing is acked.
  Duration patience{std::chrono::seconds(60)};
  const std::atomic<bool>* stop = nullptr;  // ends the examination; asked at least every 100 ms
};

// What one direction of a link carries, as its sender has measured it.
struct LinkSpeed {
  double bytes_per_s = 0;
  double relative_error = 1;  // one standard deviation
  bool lower_bound = true;    // the link was never full: it carries at least this
  Duration round_trip{0};     // of an empty packet; 0: not known
};

struct LinkFinding {
  NodeIndex far = 0;
  bool outgoing = false;           // from this node to `far`; else from `far` to this node
  std::optional<LinkSpeed> speed;  // nothing: it was not reached, or not measured to the end
  // By how much the far clock is ahead of ours, in seconds, with an error of half a round trip.
  // Only incoming links tell.
  std::optional<double> clock_ahead_s;
  std::string trouble;  // a sentence with a remedy; empty: there is none
};

// Clocks that differ by more are worth a sentence: logs of the machines cannot be laid side by
// side.
inline constexpr double kClocksApartMax = 1;  // seconds

struct Diagnosis {
  std::vector<LinkFinding> links;  // outgoing ones first, in the order of the plan
  [[nodiscard]] bool is_healthy() const;
};

// Examines until all links are known, or for as long as there is news. `say` gets sentences: where
// the node listens, what is waited for, and for how long. Errors: Network (the node's own address
// cannot be used).
[[nodiscard]] Result<Diagnosis> examine_links(const DoctorOptions& options,
                                              const std::function<void(const std::string&)>& say);

// One line a direction, for people.
[[nodiscard]] std::string diagnosis_text(const Diagnosis& diagnosis, const TopologyFile& topology,
                                         NodeIndex self);

}  // namespace kimesh
