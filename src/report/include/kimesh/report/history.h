// What the nodes of a run have recorded, read from its folder (records/run_folder.h). No model and
// no data are needed: a report can be made on any machine, and of a run that goes on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kimesh/records/recorder.h"
#include "kimesh/run/run_config.h"
#include "kimesh/topology/plan.h"
#include "kimesh/topology/topology_file.h"
#include "kimesh/util/result.h"

namespace kimesh {

// An evaluation with all nodes in it.
struct Evaluation {
  Round round = 0;
  double time_s = 0;  // when the node heard of it
  double accuracy = 0;
  std::optional<double> test_loss;
};

struct NodeHistory {
  // Those with a gradient, in order; of those that a process repeated after a resume, the last.
  std::vector<RoundRecord> rounds;
  // The run's clock at the end of each of them, in seconds. Rounds whose records are gone and
  // confirmation rounds take their time, too.
  std::vector<double> clock_s;
  double seconds = 0;  // the run's clock at the last record
  Round trained = 0;   // rounds with a gradient, those whose records are gone among them
  std::vector<Evaluation> evaluations;
  // Their times are of the run's clock, as the rounds' are, and no longer of a process.
  std::vector<NoticeRecord> notices;  // the last kNoticesMax
  std::optional<EndRecord> end;       // absent: the run goes on, or its process was lost
};

struct RunHistory {
  std::string folder, name;  // the name is the last part of the folder
  RunConfig config;
  TopologyFile topology;
  bool layout_known = false;  // false: the plan's sizes are those of a stand-in
  Plan plan;
  std::vector<NodeHistory> nodes;  // by NodeIndex; a node that left no file has no rounds
  // The index of the node that has recorded most rounds. The mesh's loss and accuracy are the same
  // in the records of all nodes.
  [[nodiscard]] NodeIndex furthest() const;
};

inline constexpr std::size_t kNoticesMax = 100;  // of a node: the last ones tell how it ended

// Reads what the run was started with, and no records: `nodes` is empty. Errors: UserInput: it is
// no folder of a run.
[[nodiscard]] Result<RunHistory> load_run(const std::string& folder);
// Reads the records of a run of which all else is known. Errors: as load_history.
[[nodiscard]] Result<RunHistory> load_records(RunHistory run);
// Reads the folder. Files of nodes are read by as many threads as there are cores. Errors:
// UserInput: it is no folder of a run, a file of it cannot be read, or no round has ended.
[[nodiscard]] Result<RunHistory> load_history(const std::string& folder);

}  // namespace kimesh
