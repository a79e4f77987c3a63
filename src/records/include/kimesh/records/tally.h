// The state of a run, summed up from its nodes' records, for the live view and the summary.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kimesh/records/recorder.h"
#include "kimesh/topology/plan.h"

namespace kimesh {

struct LinkTally {
  LinkIndex link = 0;
  LinkRecord latest;  // of the latest round
  std::uint64_t bytes = 0, kept = 0, elements = 0;
  double wire_s = 0;
  std::optional<LinkCounterRecord> counters;  // live, once the node has ended
  std::uint64_t resumed_bytes = 0;  // of `bytes`, those that the process before a resume has sent
  // All bytes put on the link, where the node counted them; else the bytes of the rounds' messages.
  [[nodiscard]] std::uint64_t bytes_sent() const;
};

struct NodeTally {
  std::optional<RoundRecord> latest;
  Round trained = 0;  // rounds with a gradient
  double first_round_s = 0;
  double evaluated_s = 0;  // Σ evaluate_max_s
  double compute_s = 0, evaluate_s = 0, encode_s = 0, apply_s = 0, step_s = 0, wait_s = 0;
  std::optional<double> residual_energy, residual_share;  // of the last round with a gradient
  std::optional<EndRecord> end;
  std::optional<std::string> notice;  // the latest
  // The run's clock at this node, in seconds: from the begin of the first round to the end of the
  // latest one, without evaluations.
  [[nodiscard]] double clock_s() const;
};

// Pure. Thread: one at a time.
class RunTally {
 public:
  // `plan` outlives this.
  explicit RunTally(const Plan& plan);
  // Adds a record; those of one node come in their order. A link to a node that is not in the plan
  // is ignored.
  void add(NodeIndex node, const NodeRecord& record);

  // What a node's records came to so far, for a file that goes on without them; nothing: no round
  // has ended.
  [[nodiscard]] std::optional<BeforeRecord> before(NodeIndex node) const;

  [[nodiscard]] const Plan& plan() const { return *plan_; }
  [[nodiscard]] const std::vector<NodeTally>& nodes() const { return nodes_; }
  [[nodiscard]] const std::vector<LinkTally>& links() const { return links_; }
  // The latest round of the node that has completed most; null: no round has ended yet.
  [[nodiscard]] const RoundRecord* latest() const;
  [[nodiscard]] const NodeTally* furthest() const;
  // The mean over the last 20 rounds of the node that recorded one first; 0: too few rounds.
  [[nodiscard]] double rounds_per_s() const;
  // The number of training rounds that every node has completed.
  [[nodiscard]] Round rounds() const;
  // The longest clock_s() of the nodes, in seconds.
  [[nodiscard]] double clock_s() const;
  [[nodiscard]] std::uint64_t bytes_sent() const;
  // Bytes of the same messages as float32, without headers.
  [[nodiscard]] std::uint64_t bytes_dense() const;
  // The link with the lowest estimated rate; null: no rate is known.
  [[nodiscard]] const LinkTally* slowest_link() const;

 private:
  // What is known of a node at the end of a round that ended with a checkpoint.
  struct Kept {
    NodeTally node;
    std::vector<LinkTally> links;  // its outgoing ones
  };
  void add_round(NodeIndex node, const RoundRecord& record);
  void keep(NodeIndex node);
  void resume(NodeIndex node, const ResumeRecord& record);
  void begin_with(NodeIndex node, const BeforeRecord& record);
  [[nodiscard]] std::span<LinkTally> links_of(NodeIndex node);
  const Plan* plan_;
  std::vector<NodeTally> nodes_;
  std::vector<LinkTally> links_;
  std::vector<std::deque<Kept>> kept_;  // by node: of the last checkpoints
  std::optional<NodeIndex> paces_;      // the first node that recorded a round
  std::deque<double> ends_s_;           // ends of its last rounds
};

}  // namespace kimesh
