// The live driver: one node of a mesh as threads and sockets around the pure core.
//
// Threads: network (link/network.h, owns every socket), engine (the core; the caller's), one vector
// worker, trainer (gradients and evaluation). Events and work pass between them in bounded queues;
// beside these there are the flags that ask for a stop or a checkpoint, and the thread that writes
// checkpoints (checkpoint/checkpoint_files.h). The engine is the only one that knows the core.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kimesh/executor/executor.h"
#include "kimesh/link/network.h"
#include "kimesh/objective/mesh_objective.h"
#include "kimesh/objective/objective.h"
#include "kimesh/round/core.h"
#include "kimesh/topology/plan.h"
#include "kimesh/topology/topology_file.h"
#include "kimesh/util/result.h"
#include "kimesh/util/thrown.h"
#include "kimesh/vectors/vectors.h"

namespace kimesh {

struct LiveNodeSetup {
  const Plan* plan = nullptr;  // outlives the run
  const TopologyFile* topology = nullptr;
  NodeIndex self = 0;
  // Used by the trainer thread only, once the run has begun, but for interrupt().
  Objective* objective = nullptr;
  FirstPoint first_point = FirstPoint::kAlike;
  CoreOptions core;  // message_overhead_bytes is set here
  VectorsOptions vectors;
  HeldStates* states = nullptr;             // where checkpoints go, and come from; outlives the run
  std::string version;                      // of this program; peers of another version are refused
  std::uint64_t config_digest = 0;          // Mesh::config_digest
  std::optional<CurveKeys> curve;           // nothing: links are not encrypted
  const std::atomic<bool>* stop = nullptr;  // halts the run; asked at least every 100 ms
  std::atomic<bool>* save = nullptr;        // asks for a checkpoint; asked as often, and set back
  // The node was started again, and others may still be ending the run of before: until the mesh
  // is complete it waits for their next processes, whatever the earlier ones say.
  bool rejoins = false;
  // Keeps what threads of this process throw that serve the node from outside, a web server's: it
  // ends the run by this node's name, as what the node's own threads throw does. Outlives the run.
  // Null: there are no such threads.
  Thrown* thrown = nullptr;
};

// The counters of a node's outgoing links.
using LinkCounterList = std::vector<std::pair<LinkIndex, LinkCounters>>;

struct LiveNodeEnd {
  Outcome outcome = Outcome::kFailed;
  StopReason reason = StopReason::kNone;
  std::string text;           // why, when failed or stopped
  Round rounds = 0;           // begun in all, confirmation rounds included
  Round round = 0;            // the last one that was begun
  std::uint64_t lineage = 0;  // the number of the run, or of its going on (round/control.h)
  double seconds = 0;         // from the first round to the end
  bool started = false;       // the mesh was complete once
  bool was_alone = true;      // no other node was heard; who is refused without proof is none
  // w of this node: equal on all nodes after kDone; its owned shards are x.
  std::vector<float> parameters;
  LinkCounterList counters;
  // A gradient or vector work has not ended for 10 s after all else had: what it works on is kept
  // for ever, setup and plan must be, too, and the process is to end by std::_Exit.
  bool hangs = false;
};

// Called on the engine thread, in order. A Status that is not ok (a full disk) ends the run with
// its sentence.
struct LiveNodeObserver {
  std::function<Status(TimePoint, const RoundReport&)> report;
  std::function<Status(TimePoint, const Decision&)> decision;
  // A sentence: what the node waits for and for how long, a reset, a reconnect.
  std::function<Status(TimePoint, const std::string&)> notice;
  // The outgoing links' counters at the end of each round, before its report. Empty where nobody
  // needs them: each link costs a call to the network thread.
  std::function<void(const LinkCounterList&)> counters;
  // The end of a mesh that was complete once, with the node's parameters: to save them. Called
  // once: where the run is done before the peers hear that this node leaves, and else before a
  // gradient that is being computed is waited for.
  std::function<void(const LiveNodeEnd&)> model;
  // What the node waits for, and by when it has gone on or ended, unless its process hangs: once a
  // second while it lives. The next call may say an earlier time.
  std::function<void(TimePoint until, const std::string& what)> health{};
};

// Runs the node until the mesh ends, the run is stopped, or it fails. Errors before the start:
// Network (the address cannot be used). Later failures are in LiveNodeEnd, what a thread of the
// node throws as well. No thread is left when it returns, but for one that hangs, or that looks up
// a name.
[[nodiscard]] Result<LiveNodeEnd> run_live_node(const LiveNodeSetup& setup,
                                                const LiveNodeObserver& observer);

}  // namespace kimesh
