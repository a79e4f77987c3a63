// Runs all nodes on a virtual clock.
#include <algorithm>

#include "kimesh/mesh/mesh.h"
#include "kimesh/run/options.h"
#include "kimesh/util/check.h"
#include "kimesh/util/units.h"
#include "node_reporter.h"
#include "replay_states.h"

namespace kimesh {
namespace {

class SimulationReporter {
 public:
  SimulationReporter(const Mesh& mesh, const MeshRunOptions& options)
      : observer_(mesh.plan(), options.callbacks),
        sink_([this](const NodeUpdate& update) { observer_.take(update); }) {}
  SimulationReporter(const SimulationReporter&) = delete;
  SimulationReporter& operator=(const SimulationReporter&) = delete;

  [[nodiscard]] Status open(const Mesh& mesh, const MeshRunOptions& options) {
    const RecordFiles files{
        .flush = options.watched ? NodeRecorder::Flush::kEveryLine : NodeRecorder::Flush::kWhenFull,
        .hold = LineFile::Hold::kClosed};
    for (NodeIndex i = 0; i < mesh.nodes(); ++i) {
      auto reporter = NodeReporter::open(mesh, i, options, files, sink_);
      if (!reporter) return reporter.error();
      nodes_.push_back(std::move(*reporter));
    }
    return ok_status();
  }

  [[nodiscard]] SimulationObserver observer() {
    SimulationObserver observer;
    observer.report = [this](NodeIndex node, TimePoint, const RoundReport& report) {
      keep(nodes_[node].round(TimePoint{}, report));
    };
    observer.decision = [this](NodeIndex node, TimePoint at, const Decision& decision) {
      keep(nodes_[node].decision(to_seconds(at - TimePoint{}), decision));
    };
    observer.notice = [this](NodeIndex node, TimePoint at, const std::string& text) {
      keep(nodes_[node].notice(to_seconds(at - TimePoint{}), text));
    };
    return observer;
  }

  void end(const Simulator& simulator) {
    for (NodeIndex i = 0; i < nodes_.size(); ++i) {
      const SimulatedEnd& end = simulator.end(i);
      keep(nodes_[i].end({simulator.seconds(),
                          end.finished ? end.outcome : Outcome::kFailed,
                          end.reason,
                          end.finished ? end.text : "it did not finish",
                          simulator.core(i).round() + 1,
                          simulator.seconds(),
                          {}}));
    }
  }

  [[nodiscard]] const Status& files() const { return files_; }
  [[nodiscard]] const RunTally& tally() const { return observer_.tally(); }

 private:
  // Keeps the first error of a file, which ends the run.
  void keep(const Status& status) {
    if (files_.ok() && !status.ok()) files_ = status;
  }

  MeshObserver observer_;
  const NodeReporter::UpdateSink sink_;
  std::vector<NodeReporter> nodes_;
  Status files_ = ok_status();
};

// As live nodes do.
Status save_all(const Mesh& mesh, const RunFolder& folder, const Simulator& simulator,
                Outcome outcome) {
  for (NodeIndex i = 0; i < mesh.nodes(); ++i) {
    const std::vector<float> w = simulator.vectors(i).model();
    const Status saved =
        save_model(mesh, folder, {i, outcome == Outcome::kDone, simulator.core(i).round(), 0, w});
    if (!saved) return saved;
  }
  return ok_status();
}

}  // namespace

Result<SimulationSetup> Mesh::simulation() const {
  SimulationSetup setup;
  setup.plan = plan_.get();
  for (NodeIndex i = 0; i < nodes(); ++i) {
    auto part = objective_->part(i);
    if (!part) return part.error();
    VectorsOptions vectors =
        kimesh::vectors_options(config(), topology(), i, objective_->weights());
    if (i > 0) {
      vectors.memory = setup.nodes[0].vectors.memory;
      vectors.gradient_memory = setup.nodes[0].vectors.gradient_memory;
    }
    if (const Status there = open_device(vectors); !there) return there.error();
    const NodeSpec& spec = topology().nodes[i];
    setup.nodes.push_back({std::move(*part), core_options(i), std::move(vectors),
                           spec.sending_cap_bits_per_s(), spec.downlink_bits_per_s});
    // Checkpoints by the clock are for live runs; those by rounds change where gradients are taken.
    setup.nodes.back().core.checkpoints.every.reset();
  }
  setup.links = simulated_links(topology(), *plan_);
  return setup;
}

Result<MeshEnd> Mesh::simulate(const MeshSimulationOptions& options) const {
  auto setup = simulation();
  if (!setup) return setup.error();
  for (SimulatedNode& node : setup->nodes) node.core.digest_shards = options.run.digests;
  setup->costs = options.costs;
  setup->replay = options.replay;
  std::unique_ptr<ReplayStates> states;
  if (options.replay != nullptr && options.replay->first_round() > 0) {
    KIMESH_CHECK(options.replayed != nullptr, "the folder of the run that is replayed");
    auto opened = ReplayStates::open(*this, *options.replayed, options.replay->first_round());
    if (!opened) return opened.error();
    states = std::move(*opened);
    states->begin(setup->nodes);
  }
  SimulationReporter reporter(*this, options.run);
  if (const Status opened = reporter.open(*this, options.run); !opened) return opened.error();
  setup->interrupted = [&] {
    return !reporter.files().ok() || (options.run.stop != nullptr && options.run.stop->load());
  };
  Simulator simulator(std::move(*setup), reporter.observer());
  for (NodeIndex i = 0; i < nodes(); ++i)
    if (const Status there = simulator.vectors(i).allocated(); !there) return there.error();
  simulator.run();
  reporter.end(simulator);
  if (!reporter.files()) return reporter.files().error();

  MeshEnd end{end_of_mesh(reporter.tally()), reporter.tally(), simulator.seconds(),
              simulator.messages()};
  end.run.model = simulator.model();
  end.run.complete = true;
  end.run.gradient_norm_squared = objective_->gradient_norm_squared(end.run.model);
  if (options.run.folder == nullptr) return end;
  const Status saved = save_all(*this, *options.run.folder, simulator, end.run.outcome);
  if (!saved) return saved.error();
  return end;
}

}  // namespace kimesh
