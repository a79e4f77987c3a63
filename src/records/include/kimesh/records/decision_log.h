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
//   {"kind":"ahead","round":16,"ahead":"overlaps"}
//       What the owner of shard 0 decided, in its log only: how gradients are taken from the next
//       round on: "no" at w, "looks" ahead of it, "overlaps" ahead and beside messages.
//   {"kind":"checkpoint","round":98}
//       The next round ends with a checkpoint; in the log of the owner of shard 0 only.
//   {"kind":"resume","round":93}
//       The run went on with this round: what lines before say of it and of later rounds is void.
#pragma once

#include <memory>
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
  [[nodiscard]] static Result<DecisionLog> create(const Plan& plan, std::string path);
  // Goes on with the log of a run that is resumed. Errors: Io.
  [[nodiscard]] static Result<DecisionLog> extend(const Plan& plan, std::string path);
  // Errors: Io, the same sentence from then on.
  [[nodiscard]] Status write(const Decision& decision);
  // Writes the buffered lines; to be called at least once a round, and at the end. Errors: as
  // write.
  [[nodiscard]] Status flush() { return file_.flush(); }

 private:
  DecisionLog(const Plan& plan, LineFile file) : plan_(&plan), file_(std::move(file)) {}
  const Plan* plan_;
  LineFile file_;
};

// Reads the logs of all nodes of a run's folder, FOLDER/nodes/*.decisions.jsonl. Errors: UserInput,
// with file and line: a log is missing, a line cannot be read or cannot belong to `plan`, or says
// a second time, and otherwise, what was said before.
[[nodiscard]] Result<std::unique_ptr<DecisionSource>> load_decisions(const Plan& plan,
                                                                     const std::string& folder);

}  // namespace kimesh
