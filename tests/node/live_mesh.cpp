#include "tests/node/live_mesh.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <thread>

#include "kimesh/link/free_ports.h"

namespace kimesh::test {

bool LiveRun::done() const {
  return std::all_of(ends.begin(), ends.end(),
                     [](const auto& end) { return end && end->outcome == Outcome::kDone; });
}

std::string LiveRun::text() const {
  std::string text;
  for (std::size_t i = 0; i < ends.size(); ++i)
    text += fmt::format("n{}: {}\n", i, ends[i] ? ends[i]->text : errors[i]);
  for (const std::string& notice : notices) text += notice + "\n";
  return text;
}

std::vector<float> LiveRun::model(const Plan& plan) const {
  std::vector<float> x(plan.layout.size());
  for (const Shard& shard : plan.shards) {
    const auto begin = static_cast<std::ptrdiff_t>(shard.begin);
    const auto& w = ends[shard.owner]->parameters;
    std::copy_n(w.begin() + begin, shard.size, x.begin() + begin);
  }
  return x;
}

std::vector<CurveKeys> keys_of(std::size_t nodes) {
  std::vector<CurveKeys> keys(nodes);
  for (CurveKeys& own : keys) own.own = make_curve_pair();
  for (CurveKeys& own : keys)
    for (std::size_t i = 0; i < nodes; ++i)
      own.allowed["n" + std::to_string(i)] = keys[i].own.public_key;
  return keys;
}

LiveRun run_live(Mesh& mesh, const LiveOptions& options) {
  const std::size_t count = mesh.spec.nodes;
  LiveRun run;
  run.ends.resize(count);
  run.errors.resize(count);
  const std::vector<int> ports = *free_ports(count);
  for (std::size_t i = 0; i < count; ++i)
    mesh.topology.nodes[i].address =
        (options.hosts.empty() ? "tcp://127.0.0.1" : options.hosts[i]) + ":" +
        std::to_string(ports[i]);
  if (options.on_addresses) options.on_addresses();
  if (options.rate_bits_per_s)
    mesh.topology.default_link.rate = RateTrace{{{0.0, *options.rate_bits_per_s}}};
  std::mutex mutex;
  const auto run_node = [&](NodeIndex i) {
    LiveNodeSetup setup;
    setup.plan = &mesh.plan;
    setup.topology = &mesh.topology;
    setup.self = i;
    setup.objective = mesh.setup.nodes[i].objective.get();
    setup.core = mesh.setup.nodes[i].core;
    setup.vectors = mesh.setup.nodes[i].vectors;
    if (!options.versions.empty()) setup.version = options.versions[i];
    if (!options.curves.empty()) setup.curve = options.curves[i];
    setup.stop = options.stops.empty() ? nullptr : options.stops[i];
    LiveNodeObserver observer;
    observer.report = [&](TimePoint, const RoundReport& report) {
      if (options.on_round) options.on_round(i, report.round);
      return ok_status();
    };
    observer.decision = [&, i](TimePoint, const Decision& decision) {
      const std::lock_guard lock(mutex);
      run.decisions.add(static_cast<NodeIndex>(i), decision);
      return ok_status();
    };
    observer.notice = [&](TimePoint, const std::string& text) {
      const std::lock_guard lock(mutex);
      run.notices.push_back(fmt::format("n{} says: {}", i, text));
      return ok_status();
    };
    if (options.on_model) observer.model = [&](const LiveNodeEnd&) { options.on_model(i); };
    if (options.on_setup) options.on_setup(i, setup, observer);
    auto end = run_live_node(setup, observer);
    if (options.on_end) options.on_end(i);
    if (end) {
      run.ends[i] = std::move(*end);
    } else {
      run.errors[i] = end.error().message;
    }
  };
  std::vector<std::thread> threads;
  for (NodeIndex i = 0; i < count; ++i)
    if (std::find(options.absent.begin(), options.absent.end(), i) == options.absent.end())
      threads.emplace_back(
          [&, i] { options.place ? options.place(i, [&] { run_node(i); }) : run_node(i); });
  for (std::thread& thread : threads) thread.join();
  return run;
}

}  // namespace kimesh::test
