// Every policy on every topology over every kind of changing link: how long training takes to its
// accuracy, in virtual time. A run that has not arrived after `--seconds` counts as infinite;
// rounds are not limited. Each policy has its own setting, found by walking along its list from the
// middle towards less time, `--tried` seeds a setting, until both neighbours of the best one were
// tried; the best one is then run with all `--seeds`. A figure whose best setting is an end of its
// list says so: a better one may lie outside.
//
// Links follow traces as changing_links.h says.
//
//   bench_grid [--config FILE] [--topologies NAME,NAME,…] [--traces NAME,…] [--seeds 5]
//              [--tried 3] [--compute 1ms] [--seconds 1200] [--POLICY SETTING,…|no] [--json FILE]
//              [--compressors topk,dzq]  which each policy but none is run with
#include <array>
#include <functional>
#include <map>

#include "kimesh/train/trainer.h"
#include "kimesh/util/units.h"
#include "tests/bench/arguments.h"
#include "tests/bench/changing_links.h"
#include "tests/bench/timed_run.h"

namespace kimesh::bench {
namespace {

struct Grid {
  RunConfig config;
  Duration compute{0};
  unsigned seeds = 5, tried = 3;
  double seconds_max = 1200;  // virtual
};

// What each policy may be tried with, in order, unless `--POLICY LIST` says otherwise: the ratio
// (with dzq the bits per element, ten times as much), the round time, ε.
constexpr std::string_view kRatios = "0.0005,0.001,0.0025,0.005,0.01,0.02,0.05";
constexpr std::string_view kBits = "0.005,0.01,0.025,0.05,0.1,0.2,0.5";
constexpr std::string_view kRoundTimes = "6ms,12.5ms,25ms,50ms,100ms,200ms,400ms";
constexpr std::string_view kEpsilons = "0.02,0.05,0.1,0.2,0.3,0.5,0.7";
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kSettings{{
    {"none", "-"},
    {"fixed", kRatios},
    {"kimad", kRoundTimes},
    {"kimad_plus", kRoundTimes},
    {"gravac", kEpsilons},
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

struct Best {
  std::string setting;
  bool at_an_end = false;       // of a list of several
  std::vector<double> seconds;  // to the target, by seed
};

// One policy on one mesh.
class Cell {
 public:
  Cell(const Grid& grid, const TopologyFile& topology, Contender contender)
      : grid_(grid), topology_(topology), contender_(std::move(contender)) {}

  Best measure(const std::vector<std::string>& settings) {
    const std::size_t best = walk(settings);
    Best result{
        settings[best], settings.size() > 1 && (best == 0 || best + 1 == settings.size()), {}};
    for (unsigned seed = 0; seed < grid_.seeds; ++seed) {
      const auto tried = runs_.find({best, seed});
      const bool whole = tried != runs_.end() && std::isfinite(tried->second);
      result.seconds.push_back(whole ? tried->second
                                     : once(settings[best], seed, grid_.seconds_max));
    }
    return result;
  }

 private:
  // A local minimum: its neighbours were tried and take longer.
  std::size_t walk(const std::vector<std::string>& settings) {
    std::map<std::size_t, double> scores;
    std::size_t best = (settings.size() - 1) / 2;
    for (bool moved = true; moved;) {
      moved = false;
      for (const std::size_t i : {best, best - 1, best + 1})  // −1 wraps around: past the end
        if (i < settings.size() && !scores.contains(i)) scores[i] = score(i, settings[i]);
      for (const auto& [i, seconds] : scores)
        if (seconds < scores[best]) best = i, moved = true;
    }
    return best;
  }

  // The sum over the seeds that are tried. Runs that take far longer than the best are given up.
  double score(std::size_t index, const std::string& setting) {
    constexpr double kFar = 3, kMarginSeconds = 10;
    double sum = 0;
    for (unsigned seed = 0; seed < grid_.tried; ++seed) {
      const double limit = std::min(grid_.seconds_max, kFar * least_ + kMarginSeconds);
      const double seconds = runs_[{index, seed}] = once(setting, seed, limit);
      sum += std::min(seconds, grid_.seconds_max);
    }
    least_ = std::min(least_, sum / grid_.tried);
    return sum;
  }

  double once(const std::string& setting, unsigned seed, double seconds_max) {
    RunConfig config = configured(grid_.config, contender_, setting);
    config.seed += seed;
    return run_timed(config, topology_, grid_.compute, seconds_max).reached;
  }

  const Grid& grid_;
  const TopologyFile& topology_;
  const Contender contender_;
  double least_ = INFINITY;                                  // mean seconds of the best setting
  std::map<std::pair<std::size_t, unsigned>, double> runs_;  // by setting and seed
};

Grid grid_of(const Arguments& said) {
  Grid grid;
  const std::string config = std::string(KIMESH_SOURCE_DIR) + "/configs/digits-by-label.yaml";
  grid.config = loaded_or_exit(load_config(said("--config", config)));
  grid.config.stop.rounds.reset();  // the virtual clock ends what does not arrive
  grid.compute = or_exit(parse_duration(said("--compute", "1ms")));
  grid.seeds = static_cast<unsigned>(std::stoul(said("--seeds", "5")));
  grid.tried = std::min(grid.seeds, static_cast<unsigned>(std::stoul(said("--tried", "3"))));
  grid.seconds_max = std::stod(said("--seconds", "1200"));
  return grid;
}

// The compressors that the list names; policy none has none, and is run once.
std::vector<Contender> contenders(const std::string& policy, const std::string& compressors) {
  std::vector<Contender> all;
  for (const std::string& compressor : words_of(compressors)) {
    const bool dzq = compressor == "dzq";
    if (dzq && policy == "none") continue;
    all.push_back({policy, dzq ? "dzq" : "topk"});
  }
  return all;
}

void measure_topology(const Grid& grid, const std::string& name, const Arguments& said,
                      Figures& figures) {
  const std::string path = std::string(KIMESH_SOURCE_DIR) + "/topologies/" + name + ".yaml";
  const TopologyFile topology = loaded_or_exit(load_topology(path));
  const Plan plan = plan_of(topology, grid.config);
  for (const std::string& trace : words_of(said("--traces", "steady,sinusoid,steps,mobile"))) {
    const TopologyFile changing = with_trace(topology, trace_named(trace), plan);
    for (const auto& [policy_name, usual] : kSettings) {
      const std::string policy(policy_name);
      if (said("--" + policy) == "no") continue;
      for (const Contender& contender : contenders(policy, said("--compressors", "topk"))) {
        const bool dzq = contender.compressor == "dzq";
        const std::string_view list = policy == "fixed" && dzq ? kBits : usual;
        const Best best = Cell(grid, changing, contender)
                              .measure(words_of(said("--" + policy, std::string(list))));
        figures.add(fmt::format("{}, {}: {}{} ({}{})", name, trace, policy, dzq ? " dzq" : "",
                                best.setting, best.at_an_end ? ", an end of the list" : ""),
                    "s", best.seconds);
      }
    }
  }
}

int main(int count, char** words) {
  const Arguments said(
      count, words,
      {"--config", "--compute", "--seeds", "--tried", "--seconds", "--topologies", "--traces",
       "--compressors", "--json", "--none", "--fixed", "--kimad", "--kimad_plus", "--gravac"});
  set_up_training(1);
  const Grid grid = grid_of(said);
  fmt::print(
      "{}; a gradient takes {} of virtual time; seconds to the target, {} seeds; "
      "inf: not in {:g} s\n",
      machine(), format_duration(grid.compute), grid.seeds, grid.seconds_max);
  Figures figures;
  for (const std::string& topology :
       words_of(said("--topologies", "ring4,ring8,ps4,ps4-single,tree7,two-sites,graph5")))
    measure_topology(grid, topology, said, figures);
  return figures.write(said("--json")) ? 0 : 1;
}

}  // namespace
}  // namespace kimesh::bench

int main(int count, char** words) {
  return kimesh::bench::main(count, words);
}
