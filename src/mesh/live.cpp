// Live nodes: one in this process, or all of them as threads of it.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>

#include "kimesh/checkpoint/checkpoint_files.h"
#include "kimesh/link/free_ports.h"
#include "kimesh/mesh/keys.h"
#include "kimesh/mesh/mesh.h"
#include "kimesh/records/node_lock.h"
#include "kimesh/records/record_follower.h"
#include "kimesh/util/bounded_queue.h"
#include "kimesh/util/check.h"
#include "kimesh/util/keep_for_ever.h"
#include "kimesh/util/units.h"
#include "lineage.h"
#include "node_reporter.h"
#include "objective_states.h"
#include "version.h"

namespace kimesh {
namespace {

// The most updates that the nodes of a process may hold for a caller that has not taken them yet.
constexpr std::size_t kUpdatesMax = 4096;
constexpr std::chrono::milliseconds kStopCheck{
    50};  // between two checks of the caller's wish to stop

TimePoint now() {
  return std::chrono::steady_clock::now();
}

LiveNodeObserver observer_of(NodeReporter& reporter, TimePoint origin, bool wants_counters) {
  LiveNodeObserver observer{[&reporter, origin](TimePoint, const RoundReport& report) {
                              return reporter.round(origin, report);
                            },
                            [&reporter, origin](TimePoint at, const Decision& decision) {
                              return reporter.decision(to_seconds(at - origin), decision);
                            },
                            [&reporter, origin](TimePoint at, const std::string& text) {
                              return reporter.notice(to_seconds(at - origin), text);
                            },
                            nullptr, nullptr};
  if (wants_counters)
    observer.counters = [&reporter](const LinkCounterList& list) { reporter.counters(list); };
  return observer;
}

EndRecord record_of(const Plan& plan, const LiveNodeEnd& end, TimePoint origin) {
  EndRecord record{
      to_seconds(now() - origin), end.outcome, end.reason, end.text, end.rounds, end.seconds, {}};
  for (const auto& [link, c] : end.counters)
    record.counters.push_back({plan.view.nodes[plan.links[link].to], c.payload_messages,
                               c.message_bytes, c.frame_bytes, c.reconnects, c.tcp_bytes_sent,
                               c.tcp_bytes_retransmitted});
  return record;
}

struct NodeRun {
  const Mesh& mesh;
  const MeshRunOptions& options;
  const LiveNodeSetup& setup;
  const NodeReporter::UpdateSink& sink;
};

// How a node ended, and whether its files could be written.
struct NodeResult {
  LiveNodeEnd node;
  Status files = ok_status();
};

// Keeps other processes from the node's files; null: it has none.
Result<std::shared_ptr<NodeLock>> lock_files(const NodeRun& run) {
  const RunFolder* folder = run.options.folder;
  if (folder == nullptr) return std::shared_ptr<NodeLock>();
  if (const Status made = folder->prepare_resumed_node(); !made) return made.error();
  auto lock = NodeLock::take(folder->lock(run.mesh.plan().view.nodes[run.setup.self]));
  if (!lock) return lock.error();
  return std::make_shared<NodeLock>(std::move(*lock));
}

// Where the node's checkpoints go, and come from where it resumes; null: nowhere.
using States = std::shared_ptr<CheckpointFiles>;

Result<States> open_states(const NodeRun& run) {
  const std::size_t keep = run.mesh.config().checkpoint.keep;
  const RunFolder* folder = run.options.folder;
  if (folder == nullptr || (keep == 0 && !run.options.resumes)) return States();
  const std::string& node = run.mesh.plan().view.nodes[run.setup.self];
  auto opened = CheckpointFiles::open({folder->checkpoints(node),
                                       run.mesh.checkpoint_owner(run.setup.self),
                                       keep,
                                       {folder->decisions(node), folder->events(node)}});
  if (!opened) return opened.error();
  return States(std::move(*opened));
}

// Whether a node without checkpoints has trained in this run and was ended before it held one. A
// checkpoint is written beside the rounds after its own, and the next one waits for it: the records
// of a node that never held one tell of one at most.
bool ended_before_its_first(const RunFolder& folder, const std::string& node) {
  bool has_trained = false, has_held = false;
  std::size_t checkpoints = 0;
  RecordFollower records(folder.events(node), folder.earlier_events(node));
  for (;;) {
    const auto record = records.next();
    if (!record) return false;
    if (!*record) return has_trained && !has_held;
    if (const auto* resume = std::get_if<ResumeRecord>(&**record)) {
      has_held = resume->round > 0;  // from round 0 on the run began anew
      checkpoints = 0;
    }
    if (const auto* round = std::get_if<RoundRecord>(&**record)) {
      has_trained = true;
      checkpoints += round->checkpoint ? 1 : 0;
      has_held = has_held || checkpoints > 1;
    }
  }
}

// The setup with the checkpoints. Errors: UserInput, where there are some that nobody goes on with.
Result<LiveNodeSetup> with_states(const NodeRun& run, CheckpointFiles* states) {
  LiveNodeSetup setup = run.setup;
  setup.states = states;
  KIMESH_CHECK(states != nullptr || !run.options.resumes, "a run that resumes has a folder");
  if (states == nullptr) return setup;
  const auto newest = states->newest();
  if (!newest) return newest.error();
  if (!run.options.resumes && (*newest || !states->damaged().empty()))
    return Error{ErrorCode::kUserInput,
                 run.options.folder->path() +
                     " holds checkpoints of a run: go on with them, or name another folder"};
  if (!run.options.resumes) return setup;
  setup.core.checkpoints.resumes = true;
  setup.core.checkpoints.newest = *newest;
  setup.core.checkpoints.newest_lineage = states->lineage();
  if (run.options.rejoins) {
    const std::string& node = run.mesh.plan().view.nodes[run.setup.self];
    setup.core.checkpoints.never_held =
        states->damaged().empty() && ended_before_its_first(*run.options.folder, node);
    setup.core.checkpoints.has_ended = run.options.has_ended;
  }
  return setup;
}

Status say_damaged(const NodeRun& run, const CheckpointFiles& states, NodeReporter& reporter) {
  const std::string& node = run.mesh.plan().view.nodes[run.setup.self];
  Status said = ok_status();
  for (const Round round : states.damaged())
    said = reporter.notice(
        0, fmt::format("{} is damaged: the run goes on from an older checkpoint, and the file is "
                       "kept with .damaged behind its name",
                       checkpoint_path(run.options.folder->checkpoints(node), round)));
  return said;
}

Result<NodeResult> run(const NodeRun& run) {
  const TimePoint origin = now();
  const NodeIndex self = run.setup.self;
  const auto lock = lock_files(run);
  if (!lock) return lock.error();
  const auto states = open_states(run);
  if (!states) return states.error();
  auto made = with_states(run, states->get());
  if (!made) return made.error();
  const auto setup = std::make_shared<LiveNodeSetup>(std::move(*made));
  std::shared_ptr<ObjectiveStates> whole_states;
  if (*states && run.setup.objective->has_state()) {
    whole_states = std::make_shared<ObjectiveStates>(**states, *run.setup.objective);
    setup->states = whole_states.get();
  }
  auto reporter = NodeReporter::open(run.mesh, self, run.options, RecordFiles{}, run.sink);
  if (!reporter) return reporter.error();
  if (run.options.folder != nullptr && run.mesh.config().records.most)
    if (const Status limited =
            reporter->limit_files(*run.mesh.config().records.most, *run.options.folder);
        !limited)
      return limited.error();
  if (*states && run.options.resumes)
    if (const Status said = say_damaged(run, **states, *reporter); !said) return said.error();
  const bool counts = run.options.callbacks.counters || run.options.watched;
  LiveNodeObserver observer = observer_of(*reporter, origin, counts);
  if (run.options.callbacks.health)
    observer.health = [&](TimePoint until, const std::string& what) {
      run.options.callbacks.health(self, until, what);
    };
  Status saved = ok_status();
  if (run.options.folder != nullptr)
    observer.model = [&](const LiveNodeEnd& end) {
      saved =
          save_model(run.mesh, *run.options.folder,
                     {self, end.outcome == Outcome::kDone, end.round, end.lineage, end.parameters});
    };
  auto ended = run_live_node(*setup, observer);
  if (!ended) {
    LiveNodeEnd never;
    never.text = ended.error().message;
    const Status files = reporter->end(record_of(run.mesh.plan(), never, origin));
    return files ? ended.error() : files.error();
  }
  NodeResult end{std::move(*ended), saved};
  if (end.node.hangs) {  // a thread of it may still use them
    keep_for_ever(setup);
    keep_for_ever(*lock);
    keep_for_ever(*states);
    keep_for_ever(whole_states);
  }
  if (*states)
    if (const Status written = (*states)->finish(); end.files) end.files = written;
  // A run without its model has not come to its end: who starts again goes on with it.
  EndRecord record = record_of(run.mesh.plan(), end.node, origin);
  if (!saved && record.outcome == Outcome::kDone) {
    record.outcome = Outcome::kFailed;
    record.text = saved.error().message;
  }
  const Status recorded = reporter->end(record);
  if (end.files) end.files = recorded;
  return end;
}

// What a thread of run_here returns.
struct ThreadResult {
  NodeIndex node = 0;
  Result<NodeResult> end;
};
using UpdateQueue = BoundedQueue<std::variant<NodeUpdate, ThreadResult>>;

// The topology with every node on a free port of this machine, which no other machine reaches.
Result<TopologyFile> on_loopback(TopologyFile topology) {
  const auto ports = free_ports(topology.nodes.size());
  if (!ports) return ports.error();
  for (std::size_t i = 0; i < ports->size(); ++i) {
    topology.nodes[i].address = "tcp://127.0.0.1:" + std::to_string((*ports)[i]);
    topology.nodes[i].dial.clear();
  }
  for (TopologyFile::NamedLink& link : topology.links) link.way.address.clear();
  topology.security = Security::kNone;
  return topology;
}

// Handles the updates of the nodes' threads until all have ended. Sets `stop`, which ends the
// nodes, when one could not begin or the caller's `wish` is set.
std::vector<Result<NodeResult>> await(std::size_t nodes, UpdateQueue& queue, MeshObserver& observer,
                                      const std::atomic<bool>* wish, std::atomic<bool>& stop) {
  std::vector<Result<NodeResult>> ends(nodes, NodeResult{});
  for (std::size_t ended = 0; ended < nodes;) {
    if (wish != nullptr && wish->load()) stop = true;
    auto item = queue.pop_for(kStopCheck);
    if (!item) continue;
    if (const auto* update = std::get_if<NodeUpdate>(&*item)) {
      observer.take(*update);
      continue;
    }
    auto& end = std::get<ThreadResult>(*item);
    if (!end.end) stop = true;
    ends[end.node] = std::move(end.end);
    ++ended;
  }
  return ends;
}

// The error of the first node that could not begin or write its files; nothing: there is none.
std::optional<Error> first_error(const std::vector<Result<NodeResult>>& ends) {
  for (const Result<NodeResult>& end : ends) {
    if (!end) return end.error();
    if (!end->files) return end->files.error();
  }
  return std::nullopt;
}

}  // namespace

Result<LiveNodeSetup> Mesh::node_setup(NodeIndex self, const TopologyFile& topology,
                                       const MeshRunOptions& options) const {
  auto vectors = vectors_options(self);
  if (!vectors) return vectors.error();
  LiveNodeSetup setup;
  setup.plan = plan_.get();
  setup.topology = &topology;
  setup.self = self;
  setup.core = core_options(self);
  setup.core.digest_shards = options.digests;
  setup.core.checkpoints.lineage = new_lineage();
  setup.vectors = std::move(*vectors);
  setup.version = version_in_hello();
  setup.config_digest = config_digest();
  setup.first_point = objective_->first_point();
  setup.stop = options.stop;
  auto keys = load_keys(topology, self);
  if (!keys) return keys.error();
  setup.curve = std::move(*keys);
  setup.save = options.save;
  setup.rejoins = options.rejoins;
  return setup;
}

void Mesh::keep_for_ever_with(std::shared_ptr<Objective> part) const {
  keep_for_ever(std::move(part));
  keep_for_ever(objective_);
  keep_for_ever(plan_);
}

Result<MeshNodeEnd> Mesh::run_node(NodeIndex self, const MeshRunOptions& options) const {
  auto part = objective_->part(self);
  if (!part) return part.error();
  auto setup = node_setup(self, topology(), options);
  if (!setup) return setup.error();
  setup->objective = part->get();
  setup->thrown = options.thrown;
  MeshObserver observer(*plan_, options.callbacks);
  const NodeReporter::UpdateSink sink = [&](const NodeUpdate& update) { observer.take(update); };
  auto ended = run({*this, options, *setup, sink});
  if (!ended) return ended.error();
  if (ended->node.hangs) keep_for_ever_with(std::move(*part));
  return MeshNodeEnd{std::move(ended->node), observer.tally(), std::move(ended->files)};
}

Result<MeshEnd> Mesh::run_here(const MeshRunOptions& options) const {
  const auto here = on_loopback(topology());
  if (!here) return here.error();
  std::vector<std::unique_ptr<Objective>> parts;
  std::vector<LiveNodeSetup> setups;
  std::atomic<bool> stop = false;  // set by the caller's wish, or when a node could not begin
  for (NodeIndex i = 0; i < nodes(); ++i) {
    auto part = objective_->part(i);
    if (!part) return part.error();
    auto setup = node_setup(i, *here, options);
    if (!setup) return setup.error();
    setup->objective = part->get();
    setup->stop = &stop;
    parts.push_back(std::move(*part));
    setups.push_back(std::move(*setup));
  }

  UpdateQueue queue(kUpdatesMax);
  const NodeReporter::UpdateSink sink = [&](NodeUpdate update) {
    static_cast<void>(queue.push(std::move(update)));
  };
  std::vector<std::jthread> threads;
  for (const LiveNodeSetup& setup : setups)
    threads.emplace_back([&, this] {
      Result<NodeResult> end = NodeResult{};
      Thrown thrown;
      if (!thrown.guard("beginning or ending", [&] { end = run({*this, options, setup, sink}); }))
        end = Error{ErrorCode::kIo,
                    fmt::format("node {}: {}", plan_->view.nodes[setup.self], *thrown.text())};
      static_cast<void>(queue.push(ThreadResult{setup.self, std::move(end)}));
    });
  MeshObserver observer(*plan_, options.callbacks);
  const std::vector<Result<NodeResult>> ends = await(nodes(), queue, observer, options.stop, stop);
  threads.clear();
  bool hangs = false;
  for (NodeIndex i = 0; i < nodes(); ++i) {
    if (!ends[i] || !ends[i]->node.hangs) continue;
    hangs = true;
    keep_for_ever_with(std::move(parts[i]));
  }

  if (const auto trouble = first_error(ends)) return *trouble;
  MeshEnd end{.run = end_of_mesh(observer.tally()), .tally = observer.tally(), .hangs = hangs};
  end.run.model = owners_parameters(*plan_, [&](NodeIndex node) -> std::span<const float> {
    return ends[node]->node.parameters;
  });
  end.run.complete = !end.run.model.empty();
  end.run.gradient_norm_squared = objective_->gradient_norm_squared(end.run.model);
  return end;
}

}  // namespace kimesh
