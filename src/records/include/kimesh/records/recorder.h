// The events of one node, as JSON lines: runs/NAME/nodes/a.jsonl. People, tests and `kimesh up`
// read these files, so that a field may be added to those below, but none is renamed.
//
// Each line is one object with "event" and "time_s": seconds since the node's process began to
// call its peers (in the simulator: virtual time). A number that is not finite is written as null.
//
//   start    node, version
//   round    round            from 0
//            poll             true: a confirmation round: no gradient, all nodes evaluated the
//                             now equal models
//            closing          true: the round before a confirmation round, which all nodes enter
//                             with equal models, or before the end; else absent
//            time_s           when the round ended here; it began at time_s - round_s
//            loss             the mesh's: Σ ω_i · (mean loss of node i's batch), before the step;
//                             null: a node's is not known, or the sum is not finite
//            own_loss         of this node's batch, where its gradient was taken; null: the program
//                             that computes the gradient has not told it
//            accuracy         of the latest evaluation with all nodes in it; null: none yet
//            accuracy_round   when that was; null: none yet
//            test_loss        mean loss of a sample (of text: a token) of the same evaluation, in
//                             nats; null: none yet
//            perplexity       exp(test_loss), of models of text; else absent
//            compute_s evaluate_s encode_s apply_s step_s
//                             what this node spent on its gradient, on evaluation, on compressing,
//                             on applying messages, on optimizer steps
//            wait_s           round_s less compute_s and evaluate_s, never negative: the time in
//                             which the trainer was idle
//            round_s          from begin to end
//            evaluate_max_s   the mesh's longest evaluation, which the run's clock leaves out
//            residual_energy, residual_share
//                             under feedback: ef14, what the reduce messages left out: Σ ‖e‖², and
//                             its share of what there was to send; else absent
//            links            one object per outgoing link of this node:
//              to             name of the far node
//              rate_bits_per_s, rate_error
//                             estimated rate and its relative standard deviation; null: unknown
//              rate_is_lower_bound
//                             true: messages did not fill the link lately, whose rate may be far
//                             higher; else absent
//              true_rate_bits_per_s
//                             the emulated rate at the end of the round, at most the link's part of
//                             what its two nodes give all their links (uplink, max_rate, downlink);
//                             absent where nothing is emulated
//              fixed_cost_s   estimated time that a message costs beside its bytes
//              budget_bytes   what the policy allowed, all messages of the round; 0: no notion
//              bytes          what they took, headers included
//              kept, elements values sent, of how many
//              gain           α of the messages, weighted by energy: share of the wanted vector's
//                             energy that the far side now holds
//              reduce_contraction, gather_contraction
//                             of the messages of each phase, the share of the energy that they
//                             could carry and carried; absent: there was nothing to send
//              wire_s         how long the link was busy with messages acked in this round
//              queued_messages
//                             handed over and not acked yet when the round ended; absent unless
//                             somebody watches a live run
//            layers           share of the elements of each layer, in the order of run.json, that
//                             this node's messages carried; null where none held the layer;
//                             absent but in every tenth round
//            digests          on request: [{shard, digest}] of the shards this node owns, digests
//                             as 16 hexadecimal digits; else absent
//            policy           what the policy has learnt, an object of its own; absent: nothing
//            checkpoint       true: the round ended with a checkpoint; else absent
//   resume   round            the run goes on with it: what earlier lines say of it and of later
//                             rounds is void. It follows the start of a process that resumes
//   before   what the records of before came to, first in a file that goes on where another one has
//            become too large: round (the last one), trained (rounds with a gradient),
//            first_round_s (when the first one began), sums of the fields of rounds, of
//            evaluate_max_s as evaluated_s, and links: to and sums of bytes, kept, elements, wire_s
//   notice   text             what is waited for, resets, reconnects, warnings
//   end      outcome          "done", "stopped" (Ctrl-C) or "failed"
//            reason           "rounds", "accuracy", "loss", "time", "traffic", "stopped",
//                             "permanent" (it would fail again) or "none"
//            text             why, when failed or stopped
//            rounds           begun in all, confirmation rounds included
//            seconds          from the begin of the first round to the end
//            counters         per outgoing link, live runs only: to, messages and message_bytes
//                             (each counted once), frame_bytes (all put on the socket, repeated
//                             and control frames included), reconnects, tcp_bytes_sent and
//                             tcp_bytes_retransmitted (of the kernel; 0: unknown)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "kimesh/records/text_file.h"
#include "kimesh/round/action.h"
#include "kimesh/topology/plan.h"
#include "kimesh/topology/topology_file.h"
#include "kimesh/util/result.h"

namespace kimesh {

struct StartRecord {
  double time_s = 0;
  std::string node, version;
  bool operator==(const StartRecord&) const = default;
};
struct LinkRecord {
  std::string to;
  std::optional<double> rate_bits_per_s, rate_error, true_rate_bits_per_s;
  bool rate_is_lower_bound = false;
  double fixed_cost_s = 0;
  std::uint64_t budget_bytes = 0, bytes = 0, kept = 0, elements = 0;
  double gain = 0, wire_s = 0;
  std::optional<double> reduce_contraction, gather_contraction;
  std::optional<std::uint64_t> queued_messages{};
  bool operator==(const LinkRecord&) const = default;
};
struct RoundRecord {
  double time_s = 0;
  Round round = 0;
  bool confirmation = false;
  bool closing = false;
  bool checkpoint = false;
  double loss = 0, own_loss = 0;  // NaN: null
  std::optional<double> accuracy;
  std::optional<Round> accuracy_round;
  std::optional<double> test_loss, perplexity;
  double compute_s = 0, evaluate_s = 0, encode_s = 0, apply_s = 0, step_s = 0;
  double wait_s = 0, round_s = 0, evaluate_max_s = 0;
  std::optional<double> residual_energy, residual_share;
  std::vector<LinkRecord> links;
  std::vector<std::optional<double>> layers;
  std::vector<std::pair<ShardIndex, std::uint64_t>> digests;
  std::string policy;  // JSON
  bool operator==(const RoundRecord&) const = default;
};
struct ResumeRecord {
  double time_s = 0;
  Round round = 0;
  bool operator==(const ResumeRecord&) const = default;
};
struct BeforeRecord {
  double time_s = 0;
  Round round = 0, trained = 0;
  double first_round_s = 0, evaluated_s = 0;
  double compute_s = 0, evaluate_s = 0, encode_s = 0, apply_s = 0, step_s = 0, wait_s = 0;
  struct Link {
    std::string to;
    std::uint64_t bytes = 0, kept = 0, elements = 0, resumed_bytes = 0;  // as in LinkTally
    double wire_s = 0;
    bool operator==(const Link&) const = default;
  };
  std::vector<Link> links;
  bool operator==(const BeforeRecord&) const = default;
};
struct NoticeRecord {
  double time_s = 0;
  std::string text;
  bool operator==(const NoticeRecord&) const = default;
};
struct LinkCounterRecord {
  std::string to;
  std::uint64_t messages = 0, message_bytes = 0, frame_bytes = 0, reconnects = 0;
  std::uint64_t tcp_bytes_sent = 0, tcp_bytes_retransmitted = 0;
  bool operator==(const LinkCounterRecord&) const = default;
};
struct EndRecord {
  double time_s = 0;
  Outcome outcome = Outcome::kFailed;
  StopReason reason = StopReason::kNone;
  std::string text;
  Round rounds = 0;
  double seconds = 0;
  std::vector<LinkCounterRecord> counters;
  bool operator==(const EndRecord&) const = default;
};
using NodeRecord =
    std::variant<StartRecord, RoundRecord, ResumeRecord, BeforeRecord, NoticeRecord, EndRecord>;

// The record as one line, without a line feed.
[[nodiscard]] std::string to_line(const NodeRecord& record);
// Parses a line. Unknown fields are ignored. Errors: Malformed, with half a sentence.
[[nodiscard]] Result<NodeRecord> parse_record(std::string_view line);

// The names of outcomes and reasons in all files and in the summary. The parse functions return
// nothing for an unknown name.
[[nodiscard]] std::string outcome_name(Outcome outcome);
[[nodiscard]] std::string reason_name(StopReason reason);
[[nodiscard]] std::optional<Outcome> parse_outcome(const std::string& name);
[[nodiscard]] std::optional<StopReason> parse_reason(const std::string& name);

// Makes a record of what a core reported. `origin` is second 0 of the records and of the emulated
// traces.
[[nodiscard]] RoundRecord make_round_record(const Plan& plan, const TopologyFile& topology,
                                            NodeIndex self, TimePoint origin,
                                            const RoundReport& report);

// Adds the perplexity of the record's evaluation, if there was one; for models of text.
void add_perplexity(RoundRecord& record);

// Writes one node's file. Thread: one at a time.
class NodeRecorder {
 public:
  enum class Flush {
    kEveryLine,  // live: written lines survive a killed process
    kWhenFull,   // simulated: for speed
  };
  // Errors: Io.
  [[nodiscard]] static Result<NodeRecorder> create(std::string path, Flush flush,
                                                   LineFile::Hold hold = LineFile::Hold::kOpen);
  // Goes on with the file of a run that is resumed. Errors: Io.
  [[nodiscard]] static Result<NodeRecorder> extend(std::string path, Flush flush,
                                                   LineFile::Hold hold = LineFile::Hold::kOpen);

  // Errors: Io, the same sentence from then on.
  [[nodiscard]] Status write(const NodeRecord& record);
  // The file becomes `earlier`, in place of what has that name, and a new one begins with `before`.
  // Without a descriptor for that one all stays as it is. Errors: as write.
  [[nodiscard]] Status begin_file(const std::string& earlier, const BeforeRecord& before);
  [[nodiscard]] std::uint64_t bytes() const { return file_.bytes(); }
  // To be called at the end: with kWhenFull, lines may wait until then.
  [[nodiscard]] Status close() { return file_.flush(); }

 private:
  NodeRecorder(LineFile file, Flush flush) : file_(std::move(file)), flush_(flush) {}
  LineFile file_;
  Flush flush_;
};

// How the files of a node are written: its events, and its decisions once a round.
struct RecordFiles {
  NodeRecorder::Flush flush = NodeRecorder::Flush::kEveryLine;
  LineFile::Hold hold = LineFile::Hold::kOpen;
};

}  // namespace kimesh
