// Runs of a config on a topology in virtual time, with LibTorch's gradients: how long they take to
// their accuracy. Shared by the programs that compare policies.
#pragma once

#include <cmath>
#include <cstdlib>
#include <string>

#include "kimesh/mesh/mesh.h"
#include "kimesh/train/torch_models.h"
#include "kimesh/train/training_mesh.h"
#include "tests/bench/figures.h"

namespace kimesh::bench {

inline const bool kHasModels = (add_torch_models(), true);

struct TimedRun {
  // When the mesh called its closing round, after two evaluations in a row at the target; and the
  // end, with the dense gather that makes all models equal. Seconds; infinity: given up.
  double reached = 0, whole = 0;
  double rounds = 0;
  double closings = 0;  // one more than were not confirmed
};

template <typename T>
T or_exit(Result<T> result) {
  if (result) return std::move(*result);
  fmt::print(stderr, "{}\n", result.error().message);
  std::exit(2);
}

template <typename T>
T loaded_or_exit(Loaded<T> loaded) {
  for (const Problem& problem : loaded.problems) fmt::print(stderr, "{}\n", to_string(problem));
  if (!loaded.problems.empty()) std::exit(2);
  return std::move(loaded.value);
}

// Every gradient is charged `compute`, so that the figures do not depend on what else the machine
// does. Gives up after `seconds_max` of virtual time.
inline TimedRun run_timed(const RunConfig& config, const TopologyFile& topology, Duration compute,
                          double seconds_max) {
  auto objective =
      or_exit(make_training_mesh(config, topology.nodes.size(), declared_weights(topology)));
  const auto mesh = or_exit(Mesh::make({config, topology, "", ""}, std::move(objective)));
  SimulationSetup setup = or_exit(mesh->simulation());
  setup.costs.gradient = compute;
  setup.costs.evaluate = Duration{0};  // the run's clock leaves it out
  setup.seconds_max = seconds_max;

  TimedRun timed;
  SimulationObserver observer;
  observer.decision = [&](NodeIndex, TimePoint at, const Decision& decision) {
    if (decision.kind != Decision::Kind::kClosing) return;
    timed.reached = to_seconds(at - TimePoint{});
    ++timed.closings;
  };
  Simulator simulator(std::move(setup), observer);
  simulator.run();
  timed.whole = simulator.seconds();
  timed.rounds = simulator.core(0).round();
  const bool done = simulator.end(0).finished && simulator.end(0).outcome == Outcome::kDone &&
                    simulator.end(0).reason == StopReason::kAccuracy;
  if (!done) timed.reached = timed.whole = INFINITY;
  return timed;
}

}  // namespace kimesh::bench
