// Writes the records of nodes to the run's folder, and gives them to the caller.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "kimesh/mesh/mesh.h"
#include "kimesh/records/decision_log.h"
#include "kimesh/records/recorder.h"
#include "kimesh/records/tally.h"

namespace kimesh {

// A record, decision or list of counters of one node, for the caller.
struct NodeUpdate {
  NodeIndex node = 0;
  std::variant<NodeRecord, Decision, LinkCounterList> what;
};

// Keeps the tally and calls the callbacks, on the caller's thread.
class MeshObserver {
 public:
  MeshObserver(const Plan& plan, const MeshCallbacks& callbacks)
      : tally_(plan), callbacks_(callbacks) {}
  void take(const NodeUpdate& update);
  [[nodiscard]] const RunTally& tally() const { return tally_; }

 private:
  RunTally tally_;
  const MeshCallbacks& callbacks_;
};

// Writes the two files of one node, where there is a folder, and gives its updates to a sink.
// files() keeps the first error.
class NodeReporter {
 public:
  using UpdateSink = std::function<void(NodeUpdate)>;
  // Makes the node's files and begins them, or goes on with those of a run that is resumed. `mesh`
  // and `sink` outlive this. Errors: UserInput, Io.
  [[nodiscard]] static Result<NodeReporter> open(const Mesh& mesh, NodeIndex self,
                                                 const MeshRunOptions& options, RecordFiles files,
                                                 const UpdateSink& sink);

  // The records take so many bytes at most, and decisions so many again; of these all are kept that
  // a replay needs which begins with the oldest checkpoint in the folder. Lines of records that are
  // damaged are missing from the totals, and a notice says so. Requires files in the folder.
  // Errors: those of reading the records that are there.
  [[nodiscard]] Status limit_files(std::uint64_t bytes_max, const RunFolder& folder);

  Status round(TimePoint origin, const RoundReport& report);
  Status decision(double seconds, const Decision& decision);
  Status notice(double seconds, const std::string& text);
  // The next round's record tells the queues.
  void counters(const LinkCounterList& list);
  Status end(const EndRecord& end);

  [[nodiscard]] const Status& files() const { return files_; }

 private:
  NodeReporter(const Mesh& mesh, NodeIndex self, const UpdateSink& sink)
      : mesh_(&mesh), self_(self), sink_(&sink) {}
  Status open_files(const RunFolder& folder, bool resumes, RecordFiles files);
  Status rotate(const RoundReport& report);
  Status keep(const Status& status);
  Status record(NodeRecord record);

  const Mesh* mesh_;
  NodeIndex self_;
  const UpdateSink* sink_;
  std::string model_path_;  // of a run that is resumed
  std::optional<NodeRecorder> recorder_;
  std::optional<DecisionLog> decisions_;
  // Where files have a limit: what they say, and where their like lies.
  struct Limit {
    std::uint64_t bytes_max = 0;
    std::string earlier_events, checkpoints;
    RunTally tally;
  };
  std::optional<Limit> limit_;
  std::map<std::string, std::uint64_t> queued_;  // messages, by the link's far node
  Status files_ = ok_status();
};

struct NodeModel {
  NodeIndex node = 0;
  bool agreed = false;        // the end was normal: all nodes have the same
  Round round = 0;            // that the node was in
  std::uint64_t lineage = 0;  // of the run
  std::span<const float> parameters;
};
// Writes it to the folder. Errors: Io.
[[nodiscard]] Status save_model(const Mesh& mesh, const RunFolder& folder, const NodeModel& model);

// The parameters, every shard from its owner. `of_node` gives a node's w, or an empty span where
// there is none; the result is empty then.
[[nodiscard]] std::vector<float> owners_parameters(
    const Plan& plan, const std::function<std::span<const float>(NodeIndex)>& of_node);

}  // namespace kimesh
