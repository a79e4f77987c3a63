// A run as its page shows it: read from its folder as it grows, and told as JSON, all of it or what
// is new. It reads what any reader of the folder may read, so that it serves a live run, a
// simulation and a run of last week alike, and training shares nothing with it.
//
// The state, /state.json:
//   cursor        asks for what is new since this answer, as ?since=CURSOR
//   whole         true: forget what earlier answers said; else `curve`, `evaluations` and `events`
//                 go on from the places that they name
//   run           what never changes; only in a whole state: name, topology, policy, compressor,
//                 parameters, nodes (names), links ([from, to] by the index of nodes)
//   reading       true: there are further records to read, ask again at once
//   over          {outcome, reason, text}; null: the run goes on, or its process was lost
//   round, seconds, rounds_per_s, loss, accuracy, test_loss, bytes_sent, bytes_dense, checkpoint
//                 round: rounds with a gradient that all nodes in the folder have ended;
//                 checkpoint: the last round of which all of them hold one, null: none; seconds: of
//                 the run's clock
//   curve         {from, round, seconds, loss, round_s}: means of equal groups of rounds, which
//                 replace the groups from round `from` on
//   evaluations   {from, round, seconds, accuracy, test_loss}: replace those from index `from` on
//   nodes         by node: known (whether its records are in this folder, or another page tells),
//                 rounds, outcome (null: it goes on), and means of its last rounds: compute_s
//                 encode_s apply_s step_s wire_s wait_s, which add up to a round
//                 (TimeSplit in report/measures.h)
//   links         of the last round, by `link`, an index of run.links; those with most bytes where
//                 there are over kLinksToldMax: rate_bits_per_s rate_error is_lower_bound
//                 true_rate_bits_per_s budget_bytes bytes mean_bytes kept gain queued busy
//                 total_bytes
//   policy        what the policy has learnt, an object of its own; null: nothing
//   events        {from, time_s, node, text}: go on from number `from`
//   node, link    the last rounds of those that were picked with ?node=INDEX&link=INDEX
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "kimesh/report/history.h"
#include "kimesh/util/ids.h"

namespace kimesh {

// One answer tells no more of them: 2,000 links are 150 kB.
inline constexpr std::size_t kLinksToldMax = 2000;
// Of a digest for the page of another node.
inline constexpr std::size_t kDigestBytesMax = 64'000;
// One call reads no more, so that a long run does not keep others waiting: about 100 ms.
inline constexpr std::size_t kReadBytesMax = 4 << 20;

struct StateRequest {
  std::string since;  // a cursor; empty, or of another life of the watch: all
  std::optional<NodeIndex> node;
  std::optional<LinkIndex> link;
};

// Thread: one at a time.
class RunWatch {
 public:
  // `run` is what load_run() has read, or what is known of a run whose folder is still to come.
  // `life` tells cursors of this watch from those of others: a random number.
  RunWatch(RunHistory run, std::uint64_t life);
  ~RunWatch();
  RunWatch(const RunWatch&) = delete;
  RunWatch& operator=(const RunWatch&) = delete;

  // Reads on in the records of all nodes, alike far. A file that cannot be read becomes an event.
  void read();
  [[nodiscard]] std::string state(const StateRequest& request) const;

  // What the page of another node needs of those whose records are here: their rows of `nodes` and,
  // those with most bytes first, of `links`, in kDigestBytesMax.
  [[nodiscard]] std::string digest() const;
  // Takes the digest of another page, for nodes whose records are not here: it takes the place of
  // what that page said before. What is no digest says nothing.
  void hear(std::size_t page, const std::string& digest);

  struct Run;  // the layer's own

 private:
  struct Teller;
  const std::unique_ptr<Run> run_;
};

}  // namespace kimesh
