// The library: a mesh of nodes from two files, or from two structs, run live or simulated.
//
//   auto files = load_mesh_files("config.yaml", "topology.yaml");  // and files.problems, if any
//   auto mesh = Mesh::make(std::move(files.value),
//                          make_mesh_objective(layout, weights, make_part));
//
// Then one of
//   (*mesh)->simulate({});     // all nodes on a virtual clock
//   (*mesh)->run_here({});     // all nodes in this process, over sockets of this machine
//   (*mesh)->run_node(0, {});  // one node; the others run in other processes
//
// Nothing here prints, reads the environment or installs a signal handler. Failures are values:
// problems of files, an Error before a run, a node's outcome and text after it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kimesh/checkpoint/checkpoint_file.h"
#include "kimesh/node/live_node.h"
#include "kimesh/objective/mesh_objective.h"
#include "kimesh/records/decision_log.h"
#include "kimesh/records/recorder.h"
#include "kimesh/records/run_folder.h"
#include "kimesh/records/summary.h"
#include "kimesh/records/tally.h"
#include "kimesh/run/run_config.h"
#include "kimesh/sim/simulator.h"

namespace kimesh {

class CarryOver;

// The data_weight of every node; empty when none has one. load_topology ensures that all nodes have
// one or none.
[[nodiscard]] std::vector<double> declared_weights(const TopologyFile& topology);

// The version of this library: "0.1.0". Nodes of different versions refuse each other.
[[nodiscard]] std::string_view version();

// The input of a mesh. The paths are for sentences and for copies in the run's folder; all may be
// empty.
struct MeshFiles {
  RunConfig config;
  TopologyFile topology;
  std::string config_path, topology_path;
  std::string config_copied_from{};  // the file that the config is a copy of; empty: none
};

// Reads and checks both files, alone and together. `config_copied_from`: as in load_config.
[[nodiscard]] Loaded<MeshFiles> load_mesh_files(const std::string& config_path,
                                                const std::string& topology_path,
                                                const std::string& config_copied_from = {});

// Functions that a run calls while it goes on, one at a time, on the thread that called the run.
// Each may be empty. A slow call delays the mesh.
struct MeshCallbacks {
  // `tally` sums up all nodes of this process, this round included.
  std::function<void(NodeIndex, const RoundRecord&, const RunTally& tally)> round;
  std::function<void(NodeIndex, const NodeRecord&)> record{};  // each, as the folder gets it
  std::function<void(NodeIndex, const Decision&)> decision;
  // A sentence: what a node waits for and for how long, a reset, a reconnect.
  std::function<void(NodeIndex, const std::string&)> notice;
  // The counters of the outgoing links' sockets at the end of each round, before `round`, of live
  // nodes only. It costs a call to the network thread for each link.
  std::function<void(NodeIndex, const LinkCounterList&)> counters;
  // What a live node waits for, and by when it has gone on or ended, unless its process hangs. Once
  // a second, on the node's own thread.
  std::function<void(NodeIndex, TimePoint until, const std::string&)> health{};
};

struct MeshRunOptions {
  MeshCallbacks callbacks;
  // When it becomes true, at any time, the run halts within 100 ms, as with Ctrl-C: every node
  // saves its model, and they may differ. Outlives the run. Null: the run is not
  // stopped.
  const std::atomic<bool>* stop = nullptr;
  // Gets the nodes' records, decisions and models (records/run_folder.h); null: nothing is written.
  const RunFolder* folder = nullptr;
  bool digests = false;  // digests of owned shards in every round's record
  // Somebody watches the folder: records tell the queues of live links, and simulated nodes write
  // every record at once, as live ones do.
  bool watched = false;
  // Goes on from the newest checkpoint in `folder` that all nodes hold, where the nodes of an
  // earlier run have left theirs; requires a folder. All nodes of the mesh do so or none. Where no
  // node holds one, the run begins anew. Live runs only.
  bool resumes = false;
  // A supervisor starts this node and the others again when they have ended. Until the mesh is
  // complete, the node therefore waits for nodes that are still ending the earlier run. Where not
  // all nodes hold a checkpoint, because they were killed before the first one was written
  // everywhere, the run begins anew, and the checkpoints that are there are set aside.
  bool rejoins = false;
  // The last run of these settings in which the node took part came to its regular end. Nodes that
  // died after that end then begin the next run with all others.
  bool has_ended = false;
  // Set by anybody who wants a checkpoint now, which sets it back; outlives the run. Null: nobody.
  std::atomic<bool>* save = nullptr;
  // Of one node: keeps what threads of the program throw that serve the node from outside, and ends
  // the run by it (node/live_node.h). Outlives the run. Null: there are none.
  Thrown* thrown = nullptr;
};

struct MeshSimulationOptions {
  MeshRunOptions run;
  SimulatedCosts costs;
  const LoggedDecisions* replay = nullptr;  // outlives the run
  // Of the run that is replayed, which has the checkpoint to begin with where its logs do not reach
  // back to round 0. Outlives the run.
  const RunFolder* replayed = nullptr;
};

// A folder for a run.
struct NewRunFolder {
  std::string name;  // empty: one is made up
  std::string parent = "runs";
  std::string after{};  // the folder of the run that goes on in this one
};

// The folder at `path`, whose last part is the run's name.
[[nodiscard]] NewRunFolder new_run_folder(const std::string& path);

// The earlier runs of a node. A run is unfinished until it comes to its regular end. Of several
// unfinished runs, the one counts to which the node wrote last.
struct EarlierRuns {
  std::optional<RunFolder> unfinished;        // with these settings
  std::optional<RunFolder> unfinished_other;  // with other settings
  bool has_ended = false;                     // a run with these settings came to its regular end
  // One that did, after which the node was killed before it could say so.
  std::optional<RunFolder> died_at_end;
};

// A run that is to go on under another topology.
struct OldRun {
  TopologyFile topology;
  std::vector<RunFolder> folders;  // one with the checkpoints of all nodes, or one a machine
};
// What became of it.
struct CarriedOver {
  RunFolder folder{""};           // where it goes on
  Round round = 0;                // of the checkpoint
  std::vector<std::string> lost;  // nodes without one, whose shards are another node's copies
  bool loses_moments = false;     // with such an owner
};

// The end of one live node. `files` is an error when something could not be written to the folder.
struct MeshNodeEnd {
  LiveNodeEnd node;
  RunTally tally;  // tally of this node; valid while the mesh exists
  Status files = ok_status();
};

struct MeshEnd {
  RunEnd run;                  // its model holds the parameters, every shard from its owner
  RunTally tally;              // valid while the mesh lives
  double seconds = 0;          // simulated: virtual time of the last event
  std::uint64_t messages = 0;  // simulated: delivered in all
  // Live: LiveNodeEnd::hangs of a node. The mesh may go, but what its objective refers to must
  // stay, and the process is to end by std::_Exit.
  bool hangs = false;
};

// A prepared mesh. Thread: one run at a time. It does not move, since runs point to its plan and
// objective.
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
  [[nodiscard]] const Plan& plan() const { return *plan_; }
  [[nodiscard]] std::size_t nodes() const { return plan_->view.nodes.size(); }

  // Whether this machine has the device that the config names. Every run checks it; a program may
  // check it before it makes a folder. Errors: UserInput.
  [[nodiscard]] Status check_device() const;
  // The digest of the config, of what the objective adds to it, and of the frozen tensors: nodes
  // must agree on it, as on the rest of a hello (docs/protocol.md).
  [[nodiscard]] std::uint64_t config_digest() const;
  // The digest of all that nodes must agree on: config_digest() and the topology.
  [[nodiscard]] std::uint64_t digest() const;
  // What the checkpoints of a node say whose they are.
  [[nodiscard]] CheckpointOwner checkpoint_owner(NodeIndex node) const;
  // Where the checkpoints of all nodes lie in one folder.
  [[nodiscard]] std::vector<CheckpointPlace> checkpoint_places(const RunFolder& folder) const;
  // The newest checkpoint of a run that all nodes hold, where all of them lie in one folder.
  // Errors: UserInput, where there is none, or one that cannot be gone on from.
  [[nodiscard]] Result<Round> common_checkpoint(const RunFolder& folder) const;
  // Makes a new folder for a run, copies the files into it and writes run.json. `command` is the
  // program's command line, for the record. Errors: UserInput, Io.
  [[nodiscard]] Result<RunFolder> make_folder(const NewRunFolder& folder,
                                              const std::vector<std::string>& command) const;
  // The same in a folder that may be there: nodes of one machine share it, and each of them makes
  // what is missing. Errors: UserInput (it holds a run of other settings, or files that would have
  // to be written over), Io.
  [[nodiscard]] Result<RunFolder> share_folder(const std::string& path,
                                               const std::vector<std::string>& command) const;

  // The digest of what both files say, the config's paths and the emulated links included. It tells
  // a run from others of the same machine. What may differ between two starts of one run is left
  // out: `threads`, `device`, `checkpoint` and `records` of the config; addresses, `security`,
  // `keys` and `first_gradient` of the topology.
  [[nodiscard]] std::string settings() const;
  // The runs in `parent` in which `node` has taken part.
  [[nodiscard]] EarlierRuns earlier_runs(const std::string& parent, const std::string& node) const;

  // The topology that the run in a folder had, where it is another one than this mesh's. Errors:
  // UserInput.
  [[nodiscard]] Result<std::optional<TopologyFile>> topology_before(const RunFolder& folder) const;
  // Makes a folder with checkpoints of this mesh's nodes, from the newest that the nodes of a run
  // with the same config and another topology have in common. Parameters, what optimizers have
  // learnt, round, schedule and counters are kept; channels, rates of links and what a policy has
  // learnt begin anew. Requires objectives without a state of their own. Errors: UserInput, Io.
  [[nodiscard]] Result<CarriedOver> carry_over(const OldRun& old, const NewRunFolder& to,
                                               const std::vector<std::string>& command) const;

  // Runs all nodes on a virtual clock, in this thread. Errors: those of the objective and of the
  // folder.
  [[nodiscard]] Result<MeshEnd> simulate(const MeshSimulationOptions& options) const;
  // Runs one node until the mesh ends. Errors before the start: those of the objective and of the
  // folder, those of its keys (mesh/keys.h), and Network where the node's address cannot be used.
  [[nodiscard]] Result<MeshNodeEnd> run_node(NodeIndex self, const MeshRunOptions& options) const;
  // Runs all nodes live, with a few threads each, over TCP on loopback. Their ports are free ones,
  // and nothing is encrypted, whatever the topology says. Errors: as run_node. After one, a thread
  // may hang as well (MeshEnd::hangs).
  [[nodiscard]] Result<MeshEnd> run_here(const MeshRunOptions& options) const;

  // For a program's own drivers and tests: the options of one node, on a GPU with queues of its
  // own, and the setup of a simulation, whose nodes share them.
  [[nodiscard]] CoreOptions core_options(NodeIndex node) const;
  [[nodiscard]] Result<VectorsOptions> vectors_options(NodeIndex node) const;
  [[nodiscard]] Result<SimulationSetup> simulation() const;

 private:
  Mesh(MeshFiles files, std::unique_ptr<MeshObjective> objective);
  [[nodiscard]] RunFolderRequest folder_request(const NewRunFolder& wanted) const;
  [[nodiscard]] RunInfo run_info(const NewRunFolder& wanted,
                                 const std::vector<std::string>& command) const;
  [[nodiscard]] Status add_old_node(const TopologyFile& before, const CheckpointPlace& place,
                                    Round round, CarryOver& over) const;
  // Does nothing where the options have a memory, and for device: cpu.
  [[nodiscard]] Status open_device(VectorsOptions& options) const;
  // For a thread of a node that hangs, and still works on `part`.
  void keep_for_ever_with(std::shared_ptr<Objective> part) const;
  [[nodiscard]] Result<LiveNodeSetup> node_setup(NodeIndex self, const TopologyFile& topology,
                                                 const MeshRunOptions& options) const;

  MeshFiles files_;
  // Shared, since a thread that hangs may still work on them when the mesh has gone.
  const std::shared_ptr<MeshObjective> objective_;
  std::shared_ptr<Plan> plan_;
};

// ---- what a run's folder gets at its end, for programs whose nodes are processes of their own

// The end of the mesh by its nodes' records: failed if a node failed, else stopped if one was
// stopped, done if all are.
[[nodiscard]] RunEnd end_of_mesh(const RunTally& tally);

// Makes model.safetensors of the models that the nodes left: after a normal end they must be equal
// (else `end` becomes a failure that names the nodes); otherwise see join_models
// (model_files/node_model.h). Fills end.model with the file's
// parameters, and says whether they are complete, or leaves it empty. Errors: the reason why a run
// that did not end normally has no model.
[[nodiscard]] Status collect_model(const RunFolder& folder, const Mesh& mesh, RunEnd& end);

}  // namespace kimesh
