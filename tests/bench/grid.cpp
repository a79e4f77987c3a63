// Every policy on every topology over every kind of changing link: how long training takes to its
// accuracy, in virtual time. Each policy has its own setting, the best of a short list: `--tried`
// seeds are run with each, then the best one with all `--seeds`.
//
// The links of the topology file are replaced. Link l follows the trace at a speed of 1, 1/2 or 2
// times and from a place of its own (the golden ratio's multiples of the period), so that links are
// uneven and change at different times.
//
//   bench_grid [--config FILE] [--topologies NAME,NAME,…] [--traces NAME,…] [--seeds 5]
//              [--tried 1] [--compute 1ms] [--seconds 1200] [--POLICY SETTING,…|no] [--json FILE]
//              [--compressors topk,dzq]  which each policy but none is run with; gravac knows topk
#include <array>
#include <functional>
#include <map>
#include <sstream>

#include "kimesh/emulation/rate_trace.h"
#include "kimesh/train/trainer.h"
#include "kimesh/util/units.h"
#include "tests/bench/timed_run.h"

namespace kimesh::bench {
namespace {

constexpr double kGolden = 0.6180339887498949;
constexpr std::array kSpeeds{1.0, 0.5, 2.0};

struct Grid {
  RunConfig config;
  Duration compute{0};
  unsigned seeds = 5, tried = 1;
  double seconds_max = 1200;  // virtual
};

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  std::istringstream in(list);
  for (std::string word; std::getline(in, word, ',');) words.push_back(word);
  return words;
}

// The trace from `begin` on, a share of its period, at `speed` times its rates.
RateTrace turned(const RateTrace& trace, double begin, double speed) {
  if (trace.steps.size() == 1) return {{{0, trace.steps[0].bits_per_s * speed}}};
  const double period = trace.steps.back().seconds;
  const double offset = begin * period;
  RateTrace result;
  for (double at = offset; at < offset + period; at = trace.next_change_after(at))
    result.steps.push_back({at - offset, trace.at(at) * speed});
  result.steps.push_back({period, trace.at(offset) * speed});
  return result;
}

TopologyFile with_trace(TopologyFile topology, const RateTrace& trace, const Plan& plan) {
  topology.links.clear();
  for (LinkIndex l = 0; l < plan.links.size(); ++l) {
    const double begin = std::fmod(kGolden * static_cast<double>(l), 1.0);
    LinkSpec spec;
    spec.rate = turned(trace, begin, kSpeeds[l % kSpeeds.size()]);
    topology.links.push_back({plan.links[l].from, plan.links[l].to, std::move(spec)});
  }
  return topology;
}

RateTrace trace_named(const std::string& name) {
  if (name == "steady") return {{{0, 2e6}}};
  const std::string path = std::string(KIMESH_SOURCE_DIR) + "/topologies/traces/" + name + ".csv";
  Complaints complaints(path);
  const auto trace = load_trace(path, 0, complaints);
  for (const Problem& problem : complaints.take()) fmt::print(stderr, "{}\n", to_string(problem));
  if (!trace) std::exit(2);
  return *trace;
}

// What each policy is tried with, unless `--POLICY LIST` says otherwise: the ratio (with dzq the
// bits per element), the round time, ε.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kSettings{{
    {"none", "-"},
    {"fixed", "0.005,0.01"},
    {"kimad", "25ms,50ms"},
    {"kimad_plus", "25ms,50ms"},
    {"gravac", "0.3,0.7"},
}};

// A policy and what it makes messages with.
struct Contender {
  std::string policy;
  std::string compressor = "topk";
};

RunConfig configured(RunConfig config, const Contender& contender, const std::string& setting) {
  const std::string& policy = contender.policy;
  config.round_time.reset();
  KeyTexts keys{{"policy", policy}, {"compressor", contender.compressor}};
  if (policy == "fixed")
    keys.emplace_back(contender.compressor == "dzq" ? "bits" : "ratio", setting);
  else if (policy == "gravac")
    keys.emplace_back("epsilon", setting);
  else if (policy != "none")
    config.round_time = or_exit(parse_duration(setting));
  config.compression = compression_options(keys);
  return config;
}

class Cell {
 public:
  Cell(const Grid& grid, const TopologyFile& topology) : grid_(grid), topology_(topology) {}

  // Seconds to the target by seed, of the best of the settings, which it names.
  std::vector<double> measure(const Contender& contender, const std::string& settings,
                              std::string& best) {
    double least = INFINITY;
    std::map<std::string, std::vector<double>> runs;
    for (const std::string& setting : words_of(settings)) {
      for (unsigned seed = 0; seed < grid_.tried; ++seed)
        runs[setting].push_back(once(contender, setting, seed));
      double sum = 0;
      for (const double seconds : runs[setting]) sum += std::min(seconds, grid_.seconds_max);
      if (sum < least) least = sum, best = setting;
    }
    for (unsigned seed = grid_.tried; seed < grid_.seeds; ++seed)
      runs[best].push_back(once(contender, best, seed));
    return runs[best];
  }

 private:
  double once(const Contender& contender, const std::string& setting, unsigned seed) {
    RunConfig config = configured(grid_.config, contender, setting);
    config.seed += seed;
    return run_timed(config, topology_, grid_.compute, grid_.seconds_max).reached;
  }

  const Grid& grid_;
  const TopologyFile& topology_;
};

using Arguments = std::function<std::string(std::string_view, const std::string&)>;

Grid grid_of(const Arguments& said) {
  Grid grid;
  const std::string config = std::string(KIMESH_SOURCE_DIR) + "/configs/digits-by-label.yaml";
  grid.config = loaded_or_exit(load_config(said("--config", config)));
  grid.compute = or_exit(parse_duration(said("--compute", "1ms")));
  grid.seeds = static_cast<unsigned>(std::stoul(said("--seeds", "5")));
  grid.tried = std::min(grid.seeds, static_cast<unsigned>(std::stoul(said("--tried", "1"))));
  grid.seconds_max = std::stod(said("--seconds", "1200"));
  return grid;
}

// Both compressors that the list names, or topk alone where the policy knows no other.
std::vector<Contender> contenders(const std::string& policy, const std::string& compressors) {
  std::vector<Contender> all;
  for (const std::string& compressor : words_of(compressors)) {
    const bool dzq = compressor == "dzq";
    if (dzq && (policy == "none" || policy == "gravac")) continue;
    all.push_back({policy, dzq ? "dzq" : "topk"});
  }
  return all;
}

void measure_topology(const Grid& grid, const std::string& name, const Arguments& said,
                      Figures& figures) {
  const std::string path = std::string(KIMESH_SOURCE_DIR) + "/topologies/" + name + ".yaml";
  const TopologyFile topology = loaded_or_exit(load_topology(path));
  const auto objective =
      or_exit(make_training_mesh(grid.config, topology.nodes.size(), declared_weights(topology)));
  const Plan plan = or_exit(make_plan(topology, objective->layout()));
  for (const std::string& trace : words_of(said("--traces", "steady,sinusoid,steps,mobile"))) {
    const TopologyFile changing = with_trace(topology, trace_named(trace), plan);
    for (const auto& [policy_name, usual] : kSettings) {
      const std::string policy(policy_name);
      const std::string settings = said("--" + policy, std::string(usual));
      if (settings == "no") continue;
      for (const Contender& contender : contenders(policy, said("--compressors", "topk"))) {
        std::string best;
        const auto runs = Cell(grid, changing).measure(contender, settings, best);
        const bool dzq = contender.compressor == "dzq";
        figures.add(name + ", " + trace + ": " + policy + (dzq ? " dzq" : "") + " (" + best + ")",
                    "s", runs);
      }
    }
  }
}

int main(int count, char** words) {
  set_training_threads(1);
  const Arguments said = [&](std::string_view name, const std::string& otherwise) {
    return argument(count, words, name, otherwise);
  };
  const Grid grid = grid_of(said);
  fmt::print("{}; a gradient takes {} of virtual time; seconds to the target, {} seeds\n",
             machine(), format_duration(grid.compute), grid.seeds);
  Figures figures;
  for (const std::string& topology :
       words_of(said("--topologies", "ring4,ring8,ps4,ps4-single,tree7,two-sites,graph5")))
    measure_topology(grid, topology, said, figures);
  return figures.write(said("--json", "")) ? 0 : 1;
}

}  // namespace
}  // namespace kimesh::bench

int main(int count, char** words) {
  return kimesh::bench::main(count, words);
}
