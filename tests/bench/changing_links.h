// Topologies whose links change all the time. Shared by the programs that compare policies.
//
// Every link of the topology, also one that no route takes, gets a trace in place of its rate; its
// delay stays. Link l follows the trace at 1, 1/2 or 2 times its rates and from a place of its own
// (the golden ratio's multiples of the period), so that links are uneven and change at different
// times.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "kimesh/emulation/rate_trace.h"
#include "kimesh/mesh/mesh.h"
#include "tests/bench/figures.h"
#include "tests/bench/timed_run.h"

namespace kimesh::bench {

inline constexpr double kGolden = 0.6180339887498949;
inline constexpr std::array kSpeeds{1.0, 0.5, 2.0};

// Returns the trace with `speed` times its rates, beginning at the share `begin` of its period.
inline RateTrace turned(const RateTrace& trace, double begin, double speed) {
  if (trace.steps.size() == 1) return {{{0, trace.steps[0].bits_per_s * speed}}};
  const double period = trace.steps.back().seconds;
  const double offset = begin * period;
  RateTrace result;
  for (double at = offset; at < offset + period; at = trace.next_change_after(at))
    result.steps.push_back({at - offset, trace.at(at) * speed});
  result.steps.push_back({period, trace.at(offset) * speed});
  return result;
}

// The links that the plan uses, then all others that the topology has: routes depend on their rates
// too.
inline std::vector<std::pair<NodeIndex, NodeIndex>> links_of(const TopologyFile& topology,
                                                             const Plan& plan) {
  std::vector<std::pair<NodeIndex, NodeIndex>> links;
  for (const Link& link : plan.links) links.emplace_back(link.from, link.to);
  const auto nodes = static_cast<NodeIndex>(topology.nodes.size());
  for (NodeIndex i = 0; i < nodes; ++i)
    for (NodeIndex j = 0; j < nodes; ++j)
      if (i != j && topology.kind->carries(topology, i, j) &&
          std::ranges::find(links, std::pair(i, j)) == links.end())
        links.emplace_back(i, j);
  return links;
}

// The plan of the model in `config` on the topology as it is.
inline Plan plan_of(const TopologyFile& topology, const RunConfig& config) {
  const auto objective =
      or_exit(make_training_mesh(config, topology.nodes.size(), declared_weights(topology)));
  return or_exit(make_plan(topology, objective->layout()));
}

// Returns `topology` with links that follow `trace`. `plan` says which links come first.
inline TopologyFile with_trace(const TopologyFile& topology, const RateTrace& trace,
                               const Plan& plan) {
  TopologyFile changing = topology;
  changing.links.clear();
  std::size_t l = 0;
  for (const auto& [from, to] : links_of(topology, plan)) {
    LinkSpec spec = topology.link(from, to);
    const double begin = std::fmod(kGolden * static_cast<double>(l), 1.0);
    spec.rate = turned(trace, begin, kSpeeds[l % kSpeeds.size()]);
    changing.links.push_back({from, to, std::move(spec)});
    ++l;
  }
  std::ranges::sort(changing.links, {}, [](const TopologyFile::NamedLink& link) {
    return std::pair(link.from, link.to);
  });
  return changing;
}

// Loads a trace from topologies/traces; `steady` is a constant rate of 2 Mbit/s. A trace that
// cannot be loaded ends the program with code 2.
inline RateTrace trace_named(const std::string& name) {
  if (name == "steady") return {{{0, 2e6}}};
  const std::string path = std::string(KIMESH_SOURCE_DIR) + "/topologies/traces/" + name + ".csv";
  Complaints complaints(path);
  const auto trace = load_trace(path, 0, complaints);
  for (const Problem& problem : complaints.take()) fmt::print(stderr, "{}\n", to_string(problem));
  if (!trace) std::exit(2);
  return *trace;
}

}  // namespace kimesh::bench
