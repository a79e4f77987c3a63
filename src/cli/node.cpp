// kimesh node: one node, in this process.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "kernels/simd.h"
#include "kimesh/metrics/metrics.h"
#include "kimesh/model_files/model_files.h"
#include "kimesh/node/live_node.h"
#include "kimesh/records/decision_log.h"
#include "kimesh/records/recorder.h"
#include "kimesh/records/table.h"
#include "src/cli/ending.h"
#include "src/cli/job.h"
#include "src/cli/live_view.h"
#include "src/cli/say.h"
#include "src/cli/signals.h"
#include "src/cli/version.h"

namespace kimesh::cli {
namespace {

std::optional<NodeIndex> find_node(const TopologyFile& topology, const std::string& name) {
  for (NodeIndex i = 0; i < topology.nodes.size(); ++i)
    if (topology.nodes[i].name == name) return i;
  std::vector<std::string> names;
  for (const NodeSpec& node : topology.nodes) names.push_back(node.name);
  complain(fmt::format("the topology has no node '{}'. Write one of: {}.", name,
                       fmt::join(names, ", ")));
  return std::nullopt;
}

// tcp://HOST:PORT without the port.
std::string host_of(const NodeSpec& node) {
  return node.address.substr(0, node.address.rfind(':'));
}

std::size_t nodes_on_the_host_of(const TopologyFile& topology, NodeIndex self) {
  const std::string host = host_of(topology.nodes[self]);
  return static_cast<std::size_t>(std::ranges::count(topology.nodes, host, host_of));
}

// Null where none are wanted.
using Metrics = std::unique_ptr<MetricsServer>;

Result<Metrics> start_metrics(const NodeOptions& options) {
  if (options.metrics.empty()) return Metrics();
  auto server = MetricsServer::start(options.metrics, options.name, kVersion);
  if (server && (*server)->is_public())
    say(fmt::format("metrics at {} can be read by everybody who reaches that address",
                    options.metrics));
  return server;
}

// One node's files, lines and metrics while it runs.
class NodeWatch {
 public:
  NodeWatch(const Job& job, NodeIndex self, NodeRecorder recorder, DecisionLog decisions,
            MetricsServer* metrics)
      : job_(job),
        self_(self),
        metrics_(metrics),
        origin_(std::chrono::steady_clock::now()),
        recorder_(std::move(recorder)),
        decisions_(std::move(decisions)),
        tally_(job.plan()) {}

  [[nodiscard]] Status start() {
    return record(StartRecord{0, job_.plan().view.nodes[self_], kVersion});
  }

  [[nodiscard]] LiveNodeObserver observer() {
    LiveNodeObserver observer{
        [this](TimePoint now, const RoundReport& report) { return round(now, report); },
        [this](TimePoint, const Decision& decision) { return decisions_.write(decision); },
        [this](TimePoint now, const std::string& text) { return notice(now, text); }, nullptr};
    if (metrics_ != nullptr)
      observer.counters = [this](const LinkCounterList& list) { metrics_->observe(traffic(list)); };
    return observer;
  }

  [[nodiscard]] Status end(const LiveNodeEnd& end) {
    EndRecord record{seconds(std::chrono::steady_clock::now()),
                     end.outcome,
                     end.reason,
                     end.text,
                     end.rounds,
                     end.seconds,
                     {}};
    for (const auto& [link, c] : end.counters)
      record.counters.push_back({far_node(link), c.payload_messages, c.message_bytes, c.frame_bytes,
                                 c.reconnects, c.tcp_bytes_sent, c.tcp_bytes_retransmitted});
    view_.finish(tally_);
    const Status decided = decisions_.flush();
    const Status recorded = this->record(record);
    return decided.ok() ? recorded : decided;
  }

 private:
  [[nodiscard]] const std::string& far_node(LinkIndex link) const {
    return job_.plan().view.nodes[job_.plan().links[link].to];
  }
  [[nodiscard]] std::vector<LinkTraffic> traffic(const LinkCounterList& list) const {
    std::vector<LinkTraffic> traffic;
    for (const auto& [link, c] : list)
      traffic.push_back({far_node(link), c.frame_bytes, c.reconnects, c.queued_messages});
    return traffic;
  }
  [[nodiscard]] double seconds(TimePoint at) const { return to_seconds(at - origin_); }

  Status record(const NodeRecord& record) {
    tally_.add(self_, record);
    return recorder_.write(record);
  }

  Status round(TimePoint now, const RoundReport& report) {
    const Status decided = decisions_.flush();
    if (!decided.ok()) return decided;
    RoundRecord made = make_round_record(job_.plan(), job_.topology(), self_, origin_, report);
    if (job_.trains_on_text()) add_perplexity(made);
    if (metrics_ != nullptr) metrics_->observe(made);
    const Status recorded = record(made);
    view_.update(tally_, now);
    return recorded;
  }

  Status notice(TimePoint now, const std::string& text) {
    view_.notice(text);
    if (metrics_ != nullptr) metrics_->observe_notice();
    return record(NoticeRecord{seconds(now), text});
  }

  const Job& job_;
  const NodeIndex self_;
  MetricsServer* const metrics_;  // null: nobody asked
  const TimePoint origin_;
  NodeRecorder recorder_;
  DecisionLog decisions_;
  RunTally tally_;
  LiveView view_;
};

// The whole model after a normal end; what the node owns when the run broke off.
Status save(const Job& job, const RunFolder& folder, NodeIndex self, const LiveNodeEnd& end) {
  const std::string& name = job.plan().view.nodes[self];
  if (end.outcome == Outcome::kDone)
    return write_model(folder.node_model(name), job.plan().layout, end.parameters, job.frozen());
  if (!end.started || !owns_shards(job.plan(), self)) return ok_status();
  return write_shards(folder.node_shards(name), job.plan(), self, end.parameters);
}

int end_of(const std::string& name, const LiveNodeEnd& end) {
  if (end.outcome == Outcome::kFailed) {
    complain(fmt::format("node {} failed: {}", name, end.text));
    return kExitFailed;
  }
  say(end.outcome == Outcome::kDone
          ? fmt::format("node {} is done: {}", name, reason_name(end.reason))
          : fmt::format("node {} was stopped: {}", name, end.text));
  return kExitDone;
}

int run_node(const Job& job, const RunFolder& folder, NodeIndex self, bool digests,
             MetricsServer* metrics) {
  const std::string& name = job.plan().view.nodes[self];
  const std::atomic<bool>& stop = stop_on_signals();
  auto recorder = NodeRecorder::create(folder.events(name), NodeRecorder::Flush::kEveryLine);
  if (!recorder) return fail(recorder.error());
  auto decisions = DecisionLog::create(job.plan(), folder.decisions(name));
  if (!decisions) return fail(decisions.error());
  const auto objective = job.objective(self);
  if (!objective) return fail(objective.error());

  LiveNodeSetup setup;
  setup.plan = &job.plan();
  setup.topology = &job.topology();
  setup.self = self;
  setup.objective = objective->get();
  setup.core = job.core_options(self, digests);
  setup.vectors = job.vectors_options(self);
  setup.version = kVersion;
  setup.config_digest = job.config_digest();
  setup.stop = &stop;

  NodeWatch watch(job, self, std::move(*recorder), std::move(*decisions), metrics);
  if (const Status started = watch.start(); !started.ok()) return fail(started.error());
  const auto ended = run_live_node(setup, watch.observer());
  if (!ended) {
    LiveNodeEnd never;
    never.text = ended.error().message;
    const Status recorded = watch.end(never);
    return recorded.ok() ? fail(ended.error()) : fail(recorded.error());
  }
  const Status saved = save(job, folder, self, *ended);
  const Status recorded = watch.end(*ended);
  const int code = end_of(name, *ended);
  if (!saved.ok()) return fail(saved.error());
  if (!recorded.ok()) return fail(recorded.error());
  return code;
}

}  // namespace

int node(const NodeOptions& options) {
  if (const Status forced = kernels::force_simd(options.simd); !forced)
    return fail({forced.error().code, "--simd: " + forced.error().message});
  auto files = load_files(options.run.config, options.run.topology);
  if (!files) return kExitUser;
  const auto self = find_node(files->topology, options.name);
  if (!self) return kExitUser;
  if (files->config.quadratic) {
    complain("a quadratic runs in `kimesh simulate` only. Write model and data instead.");
    return kExitUser;
  }
  const auto metrics = start_metrics(options);
  if (!metrics) return fail(metrics.error());
  const auto job = Job::make(std::move(*files));
  if (!job) return fail(job.error());
  if (const Status opened = (*job)->open_device(); !opened) return fail(opened.error());
  const std::size_t local = nodes_on_the_host_of((*job)->topology(), *self);
  set_training_threads(options.threads > 0 ? options.threads : (*job)->threads(local));

  RunFolder folder(options.run_folder);
  if (options.run_folder.empty()) {
    auto made = (*job)->make_folder(options.run);
    if (!made) return fail(made.error());
    folder = *made;
    say("run folder: " + folder.path());
  }
  if (const Status ready = folder.prepare_node(options.name); !ready.ok())
    return fail(ready.error());
  return run_node(**job, folder, *self, options.run.digests, metrics->get());
}

}  // namespace kimesh::cli
