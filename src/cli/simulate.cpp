// kimesh simulate: the whole mesh in this process, in virtual time.
#include <fmt/format.h>

#include <chrono>

#include "kernels/simd.h"
#include "kimesh/model_files/model_files.h"
#include "kimesh/records/decision_log.h"
#include "kimesh/records/recorder.h"
#include "kimesh/run/options.h"
#include "kimesh/sim/simulator.h"
#include "kimesh/util/units.h"
#include "src/cli/ending.h"
#include "src/cli/job.h"
#include "src/cli/live_view.h"
#include "src/cli/say.h"
#include "src/cli/signals.h"
#include "src/cli/version.h"

namespace kimesh::cli {
namespace {

// All nodes' files, and what is shown. The first file that cannot be written ends the run.
class SimulationWatch {
 public:
  explicit SimulationWatch(const Job& job) : job_(job), tally_(job.plan()) {}

  [[nodiscard]] Status open(const RunFolder& folder) {
    for (const std::string& name : job_.plan().view.nodes) {
      if (const Status ready = folder.prepare_node(name); !ready.ok()) return ready;
      auto recorder = NodeRecorder::create(folder.events(name), NodeRecorder::Flush::kWhenFull);
      if (!recorder) return recorder.error();
      auto decisions = DecisionLog::create(job_.plan(), folder.decisions(name));
      if (!decisions) return decisions.error();
      recorders_.push_back(std::move(*recorder));
      decisions_.push_back(std::move(*decisions));
      record(static_cast<NodeIndex>(recorders_.size() - 1), StartRecord{0, name, kVersion});
    }
    return ok_status();
  }

  [[nodiscard]] const std::optional<Error>& failed() const { return failed_; }
  [[nodiscard]] const RunTally& tally() const { return tally_; }

  [[nodiscard]] SimulationObserver observer() {
    SimulationObserver observer;
    observer.report = [this](NodeIndex node, TimePoint, const RoundReport& report) {
      RoundRecord made = make_round_record(job_.plan(), job_.topology(), node, TimePoint{}, report);
      if (job_.trains_on_text()) add_perplexity(made);
      record(node, made);
      view_.update(tally_, std::chrono::steady_clock::now());
    };
    observer.decision = [this](NodeIndex node, TimePoint, const Decision& decision) {
      static_cast<void>(keep(decisions_[node].write(decision)));
    };
    observer.notice = [this](NodeIndex node, TimePoint at, const std::string& text) {
      view_.notice(job_.plan().view.nodes[node] + ": " + text);
      record(node, NoticeRecord{to_seconds(at - TimePoint{}), text});
    };
    return observer;
  }

  void end(const Simulator& simulator) {
    for (NodeIndex i = 0; i < recorders_.size(); ++i) {
      const SimulatedEnd& end = simulator.end(i);
      record(i, EndRecord{simulator.seconds(),
                          end.finished ? end.outcome : Outcome::kFailed,
                          end.reason,
                          end.finished ? end.text : "it did not finish",
                          simulator.core(i).round() + 1,
                          simulator.seconds(),
                          {}});
      if (!keep(recorders_[i].close()) || !keep(decisions_[i].flush())) return;
    }
    view_.finish(tally_);
  }

 private:
  // Whether `status` is good; the first that is not stays.
  bool keep(const Status& status) {
    if (!status.ok() && !failed_) failed_ = status.error();
    return status.ok();
  }
  void record(NodeIndex node, const NodeRecord& record) {
    tally_.add(node, record);
    static_cast<void>(keep(recorders_[node].write(record)));
  }

  const Job& job_;
  RunTally tally_;
  LiveView view_;
  std::vector<NodeRecorder> recorders_;
  std::vector<DecisionLog> decisions_;
  std::optional<Error> failed_;
};

Result<SimulationSetup> make_setup(const Job& job, const SimulateOptions& options) {
  SimulationSetup setup;
  setup.plan = &job.plan();
  for (NodeIndex i = 0; i < job.nodes(); ++i) {
    auto objective = job.objective(i);
    if (!objective) return objective.error();
    setup.nodes.push_back(
        simulated_node(job.config(), job.topology(), i, job.data_weight(i), std::move(*objective)));
    setup.nodes.back().core.digest_shards = options.run.digests;
    setup.nodes.back().vectors = job.vectors_options(i);
  }
  setup.links = simulated_links(job.topology(), job.plan());
  return setup;
}

// Every node's model after a normal end, the owners' shards otherwise, as the live nodes leave
// them.
Status save(const Job& job, const RunFolder& folder, const Simulator& simulator, bool done) {
  const Plan& plan = job.plan();
  for (NodeIndex i = 0; i < job.nodes(); ++i) {
    const std::string& name = plan.view.nodes[i];
    std::vector<float> w(plan.layout.size());
    for (ShardIndex s = 0; s < plan.shards.size(); ++s)
      std::ranges::copy(simulator.vectors(i).shard(s),
                        w.begin() + static_cast<std::ptrdiff_t>(plan.shards[s].begin));
    if (!done && !owns_shards(plan, i)) continue;
    const Status written = done ? write_model(folder.node_model(name), plan.layout, w, job.frozen())
                                : write_shards(folder.node_shards(name), plan, i, w);
    if (!written.ok()) return written;
  }
  return ok_status();
}

int run_simulation(const Job& job, const RunFolder& folder, SimulationSetup setup,
                   const std::string& json) {
  const std::atomic<bool>& stop = stop_on_signals();
  SimulationWatch watch(job);
  if (const Status opened = watch.open(folder); !opened.ok()) return fail(opened.error());
  setup.interrupted = [&] { return stop.load() || watch.failed().has_value(); };
  const auto begun = std::chrono::steady_clock::now();
  Simulator simulator(std::move(setup), watch.observer());
  simulator.run();
  const Duration took = std::chrono::steady_clock::now() - begun;
  watch.end(simulator);
  if (watch.failed()) return fail(*watch.failed());

  RunEnd end = end_of_mesh(watch.tally());
  const Status saved = save(job, folder, simulator, end.outcome == Outcome::kDone);
  if (!saved.ok()) return fail(saved.error());
  collect_model(folder, job.plan(), job.frozen(), end);
  if (const QuadraticProblem* problem = job.quadratic())
    end.gradient_norm_squared = problem->gradient_norm_squared(simulator.owners_parameters());
  const int code = conclude(folder, watch.tally(), end, json);
  say(fmt::format("  {:<14}{} of virtual time in {}, {} messages", "simulated",
                  format_duration(from_seconds(simulator.seconds())), format_duration(took),
                  simulator.messages()));
  return code;
}

}  // namespace

int simulate(const SimulateOptions& options) {
  if (const Status forced = kernels::force_simd(options.simd); !forced)
    return fail({forced.error().code, "--simd: " + forced.error().message});
  auto files = load_files(options.run.config, options.run.topology);
  if (!files) return kExitUser;
  SimulatedCosts costs;
  if (!options.compute.empty()) {
    const auto compute = parse_duration(options.compute);
    if (!compute) return fail({ErrorCode::kUserInput, "--compute: " + compute.error().message});
    costs.gradient = *compute;
  }
  const auto job = Job::make(std::move(*files));
  if (!job) return fail(job.error());
  if (const Status opened = (*job)->open_device(); !opened) return fail(opened.error());
  if ((*job)->quadratic() == nullptr) set_training_threads((*job)->threads((*job)->nodes()));
  std::unique_ptr<DecisionSource> replay;
  if (!options.replay.empty()) {
    auto loaded = load_decisions((*job)->plan(), options.replay);
    if (!loaded) return fail(loaded.error());
    replay = std::move(*loaded);
  }
  auto setup = make_setup(**job, options);
  if (!setup) return fail(setup.error());
  setup->costs = costs;
  setup->replay = replay.get();
  const auto folder = (*job)->make_folder(options.run);
  if (!folder) return fail(folder.error());
  return run_simulation(**job, *folder, std::move(*setup), options.run.json);
}

}  // namespace kimesh::cli
