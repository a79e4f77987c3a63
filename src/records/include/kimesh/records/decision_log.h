// The decision log of a node, runs/NAME/nodes/a.decisions.jsonl: everything that time or
// measurement decided. A simulation that replays the logs of all nodes ends with the same parameter
// bits, where the run ended regularly. One object a line:
//
//   {"kind":"setting","round":7,"to":"b","shard":2,"phase":"reduce","compressor":"topk","keep":40}
//       How the node's message on that channel was made: its codec (`compressor`), and those fields
//       of its setting (codec/setting.h) that do not have their defaults.
//   {"kind":"reset","round":7,"to":"b","shard":2,"phase":"gather"}
//       The channel began a new generation.
//   {"kind":"closing","round":98,"closing_round":99,"reason":"rounds","loss":...}
//   {"kind":"poll_stop","round":100,"closing_round":99,"reason":"rounds","loss":...}
//       What the owner of shard 0 decided on the end of the run, in its log only: a closing round
//       follows; a confirmation round ended the run. Further fields: accuracy, accuracy_round,
//       test_loss, compute_s, evaluate_s.
//   {"kind":"ahead","round":16,"ahead":"overlaps","local_steps":4}
//       What the owner of shard 0 decided, in its log only: how gradients are taken from the next
//       round on: "no" at w, "looks" ahead of it, "overlaps" ahead and beside messages; and how
//       many local steps those have that are asked for from then on. `mean_multiple` over 1: how
//       many times as many nodes take in the mean, where some are faster than others.
//   {"kind":"multiple","round":16,"multiple":3}
//       How many times the mesh's local steps the node offers to take, from the next verdict on.
//   {"kind":"checkpoint","round":98}
//       The next round ends with a checkpoint; in the log of the owner of shard 0 only.
//   {"kind":"resume","round":93}
//       The run went on with this round: what lines before say of it and of later rounds is void.
//   {"kind":"begin","round":401}
//       The first line of a file that follows another one, which ends before this round.
//
// A log that has become too large goes on in a new file; the one before becomes
// a.decisions.1.jsonl, and so on. Where all of them together are too large, those go that hold
// nothing of the rounds after the oldest checkpoint that the node keeps. A replay then begins with
// a checkpoint.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "kimesh/records/text_file.h"
#include "kimesh/round/core.h"
#include "kimesh/topology/plan.h"
#include "kimesh/util/result.h"

namespace kimesh {

// Writes the log of one node. Thread: one at a time.
class DecisionLog {
 public:
  // `plan` outlives this. Errors: Io.
  [[nodiscard]] static Result<DecisionLog> create(const Plan& plan, std::string path,
                                                  LineFile::Hold hold = LineFile::Hold::kOpen);
  // Goes on with the log of a run that is resumed. Errors: Io.
  [[nodiscard]] static Result<DecisionLog> extend(const Plan& plan, std::string path,
                                                  LineFile::Hold hold = LineFile::Hold::kOpen);
  // Errors: Io, the same sentence from then on.
  [[nodiscard]] Status write(const Decision& decision);
  // Writes the buffered lines; to be called at least once a round, and at the end. Errors: as
  // write.
  [[nodiscard]] Status flush() { return file_.flush(); }
  // Whether the log is to go on in a new file, at the end of a round from which a replay can begin:
  // its last one has an eighth of what all may take, so that little more than needed is kept.
  [[nodiscard]] bool is_full(std::uint64_t bytes_max) const {
    return file_.bytes() > bytes_max / 8;
  }
  // Goes on in a new file with the round after `round`, and removes the oldest ones as long as all
  // take more than `bytes_max` and hold nothing of the rounds after `kept`. Without a descriptor
  // for the new file all stays as it is. Errors: Io.
  [[nodiscard]] Status begin_file(Round round, std::uint64_t bytes_max, Round kept);

 private:
  // A file that holds what was decided before round `ends`, as far as that is not void.
  struct Part {
    std::string path;
    std::uint64_t bytes = 0;
    Round ends = 0;
  };
  DecisionLog(const Plan& plan, std::string path, LineFile file)
      : plan_(&plan), path_(std::move(path)), file_(std::move(file)) {}
  [[nodiscard]] Status find_parts();
  const Plan* plan_;
  std::string path_;
  LineFile file_;
  std::deque<Part> parts_;  // of before, oldest first
  unsigned next_number_ = 1;
};

// What nodes decided, as their logs tell it.
class LoggedDecisions : public DecisionSource {
 public:
  // The first round of which all logs tell all: 0, or one that a replay can reach from a checkpoint
  // only.
  [[nodiscard]] virtual Round first_round() const = 0;
};

// Reads the logs of all nodes in a run's folder, FOLDER/nodes/*.decisions*.jsonl. Errors: UserInput
// with file and line: a log is missing, a line cannot be read or cannot belong to `plan`, or says
// a second time, and otherwise, what was said before.
[[nodiscard]] Result<std::unique_ptr<LoggedDecisions>> load_decisions(const Plan& plan,
                                                                      const std::string& folder);

}  // namespace kimesh
