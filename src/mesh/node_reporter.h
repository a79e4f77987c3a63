// What a node does, written to the run's folder and told to the caller.
#pragma once

#include <functional>
#include <optional>
#include <variant>
#include <vector>

#include "kimesh/mesh/mesh.h"
#include "kimesh/records/decision_log.h"
#include "kimesh/records/recorder.h"

namespace kimesh {

// What one node lets the caller know.
struct NodeUpdate {
  NodeIndex node = 0;
  std::variant<NodeRecord, Decision, LinkCounterList> what;
};

// The caller's side: the tally and the callbacks, on the caller's thread.
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

// One node's side: its two files, where there is a folder, and where it sends what it saw. The
// first error of a file stays in files().
class NodeReporter {
 public:
  using UpdateSink = std::function<void(NodeUpdate)>;
  // Makes the node's files and begins them. `mesh` and `sink` outlive this.
  // Errors: UserInput, Io.
  [[nodiscard]] static Result<NodeReporter> open(const Mesh& mesh, NodeIndex self,
                                                 const RunFolder* folder, NodeRecorder::Flush flush,
                                                 const UpdateSink& sink);

  // `origin` is second 0 of the records.
  Status round(TimePoint origin, const RoundReport& report);
  Status decision(const Decision& decision);
  Status notice(double seconds, const std::string& text);
  void counters(const LinkCounterList& list) { (*sink_)({self_, list}); }
  Status end(const EndRecord& end);

  [[nodiscard]] const Status& files() const { return files_; }

 private:
  NodeReporter(const Mesh& mesh, NodeIndex self, const UpdateSink& sink)
      : mesh_(&mesh), self_(self), sink_(&sink) {}
  Status keep(const Status& status);
  Status record(NodeRecord record);

  const Mesh* mesh_;
  NodeIndex self_;
  const UpdateSink* sink_;
  std::optional<NodeRecorder> recorder_;
  std::optional<DecisionLog> decisions_;
  Status files_ = ok_status();
};

// Writes the node's parameters to the folder: the whole model after a normal end, else the shards
// that it owns. Errors: Io.
[[nodiscard]] Status save_parameters(const Mesh& mesh, const RunFolder& folder, NodeIndex self,
                                     Outcome outcome, std::span<const float> parameters);

// Every shard from its owner. `of_node` gives a node's w, or an empty span where it left none; then
// the result is empty as well.
[[nodiscard]] std::vector<float> owners_parameters(
    const Plan& plan, const std::function<std::span<const float>(NodeIndex)>& of_node);

}  // namespace kimesh
