// kimesh as a library: a mesh of nodes from two files, or from two structs, run live or simulated.
//
//   auto files = load_mesh_files("config.yaml", "topology.yaml");  // and files.problems, if any
//   auto mesh = Mesh::make(std::move(files.value), std::make_unique<MyObjective>());
//   auto end = (*mesh)->simulate({});   // all nodes on a virtual clock
//   auto end = (*mesh)->run_here({});   // all nodes in this process, over sockets of this machine
//   auto end = (*mesh)->run_node(0, {});  // one node; the others run in other processes
//
// Nothing here prints, reads the environment or installs a signal handler. What goes wrong is a
// value: problems of files, an Error before a run, a node's outcome and text after it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kimesh/node/live_node.h"
#include "kimesh/objective/mesh_objective.h"
#include "kimesh/records/recorder.h"
#include "kimesh/records/run_folder.h"
#include "kimesh/records/summary.h"
#include "kimesh/records/tally.h"
#include "kimesh/run/run_config.h"
#include "kimesh/sim/simulator.h"

namespace kimesh {

// data_weight of every node; empty when none has one, which is all or nothing (topology).
[[nodiscard]] std::vector<double> declared_weights(const TopologyFile& topology);

// "0.1.0": of this library. Nodes of different versions refuse each other.
[[nodiscard]] std::string_view version();

// What a mesh is told. The paths are for sentences and for copies in the run's folder; both may be
// empty.
struct MeshFiles {
  RunConfig config;
  TopologyFile topology;
  std::string config_path, topology_path;
};

// Reads and checks both files, alone and together.
[[nodiscard]] Loaded<MeshFiles> load_mesh_files(const std::string& config_path,
                                                const std::string& topology_path);

// What a run tells while it goes on. Called one at a time on the thread that called the run; each
// may be empty. A slow call holds the mesh up.
struct MeshCallbacks {
  // `tally` sums up all nodes of this process, this round included.
  std::function<void(NodeIndex, const RoundRecord&, const RunTally& tally)> round;
  std::function<void(NodeIndex, const Decision&)> decision;
  // A sentence: what is waited for and for how long, resets, reconnects.
  std::function<void(NodeIndex, const std::string&)> notice;
  // The outgoing links' sockets after each round; live nodes only. Costs a visit to the network
  // thread for each link.
  std::function<void(NodeIndex, const LinkCounterList&)> counters;
};

struct MeshRunOptions {
  MeshCallbacks callbacks;
  // Set by anybody, at any time: the nodes end in order, at the latest after 100 ms. Outlives the
  // run; null: nobody stops it.
  const std::atomic<bool>* stop = nullptr;
  // Gets the nodes' records, decisions and models (records/run_folder.h); null: nothing is written.
  const RunFolder* folder = nullptr;
  bool digests = false;  // digests of owned shards in every round's record
};

struct MeshSimulationOptions {
  MeshRunOptions run;
  SimulatedCosts costs;
  const DecisionSource* replay = nullptr;  // outlives the run
};

// How one live node ended. `files` is not ok when something could not be written to the folder.
struct MeshNodeEnd {
  LiveNodeEnd node;
  RunTally tally;  // of this node; valid while the mesh lives
  Status files = ok_status();
};

struct MeshEnd {
  RunEnd run;      // how the mesh ended; run.model holds the parameters, every shard from its owner
  RunTally tally;  // valid while the mesh lives
  double seconds = 0;          // simulated: virtual time of the last event
  std::uint64_t messages = 0;  // simulated: delivered in all
};

// A mesh, prepared. Thread: one run at a time. Stays where it is: plans and objectives are pointed
// to.
class Mesh {
 public:
  // Checks config and topology together, and lays the plan. Errors: UserInput, one sentence a line.
  [[nodiscard]] static Result<std::unique_ptr<Mesh>> make(MeshFiles files,
                                                          std::unique_ptr<MeshObjective> objective);
  Mesh(const Mesh&) = delete;
  Mesh& operator=(const Mesh&) = delete;
  ~Mesh();

  [[nodiscard]] const MeshFiles& files() const { return files_; }
  [[nodiscard]] const RunConfig& config() const { return files_.config; }
  [[nodiscard]] const TopologyFile& topology() const { return files_.topology; }
  [[nodiscard]] const MeshObjective& objective() const { return *objective_; }
  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] std::size_t nodes() const { return plan_.view.nodes.size(); }

  // Whether this machine has the device that the config names; it is not kept. Every run asks; a
  // program that wants to know before it makes a folder asks first. Errors: UserInput.
  [[nodiscard]] Status check_device() const;
  // The digest of all that nodes must agree on before they start, besides topology and first point.
  [[nodiscard]] std::uint64_t config_digest() const;
  // Makes a new folder for a run, copies the files into it and writes what is known before the run.
  // `command` is the program's command line, for the record. Errors: UserInput, Io.
  [[nodiscard]] Result<RunFolder> make_folder(const std::string& name,
                                              const std::vector<std::string>& command) const;

  // All nodes on a virtual clock, in this thread. Errors: those of the parts and of the folder.
  [[nodiscard]] Result<MeshEnd> simulate(const MeshSimulationOptions& options) const;
  // The node until the mesh ends. Errors before the start: those of the part and of the folder, and
  // Network where the node's address cannot be used.
  [[nodiscard]] Result<MeshNodeEnd> run_node(NodeIndex self, const MeshRunOptions& options) const;
  // All nodes live, a few threads each, over TCP on loopback; their ports are free ones, whatever
  // the topology says. Errors: as run_node.
  [[nodiscard]] Result<MeshEnd> run_here(const MeshRunOptions& options) const;

  // For drivers and tests of one's own: what the files mean to one node, and a simulation of all.
  [[nodiscard]] CoreOptions core_options(NodeIndex node) const;
  [[nodiscard]] Result<VectorsOptions> vectors_options(NodeIndex node) const;
  [[nodiscard]] Result<SimulationSetup> simulation() const;

 private:
  Mesh(MeshFiles files, std::unique_ptr<MeshObjective> objective);
  [[nodiscard]] Status open_device(VectorsOptions& options) const;
  [[nodiscard]] Result<LiveNodeSetup> node_setup(NodeIndex self, const TopologyFile& topology,
                                                 const MeshRunOptions& options) const;

  MeshFiles files_;
  std::unique_ptr<MeshObjective> objective_;
  Plan plan_;
  mutable VectorsOptions device_;  // nothing but the device, which the first run opens
};

// ---- what a run's folder gets at its end, for programs whose nodes are processes of their own

// Puts together what the node records say about the end of the mesh: failed if one failed, else
// stopped if one was stopped, done if all are.
[[nodiscard]] RunEnd end_of_mesh(const RunTally& tally);

// Makes model.safetensors of what the nodes left: after a normal end their models, which must be
// equal (else `end` becomes a failure that names the nodes), else the owners' shards. end.model is
// what the file holds, or empty. Errors: why there is no model of a run that did not end normally.
[[nodiscard]] Status collect_model(const RunFolder& folder, const Mesh& mesh, RunEnd& end);

}  // namespace kimesh
