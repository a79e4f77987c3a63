// What `policy: auto` chooses beside what a person could have written: digits on meshes whose links
// all have one rate, or follow a trace, in virtual time with LibTorch's gradients.
//
// In each cell (topology, rate, split) every setting runs with `--tried` seeds, the best
// `--finalists` with `--seeds`; the best of these and auto then run with `--fresh` other seeds, in
// pairs, so that luck in the search is not taken for a better setting. The settings are auto with
// one key varied, all round times of a geometric list, messages of one size, with every way to take
// gradients and up to four local steps, and `--random` drawn ones; beside a trace messages of one
// size alone. A winner at an end of its list is told as such. Runs that take kFar times the best
// median and longer are given up; their time counts as that limit, of auto and of settings alike.
//
//   bench_choices [--topologies ring4,ps4,tree7,graph5] [--rates 1Mbit,10Mbit]
//                 [--traces NAME,…]  in place of rates; links follow them as changing_links.h says
//                 [--faster 100]     times as fast as the trace's file says: a run takes a second
//                 [--splits even,by-label] [--compute 1ms] [--tried 3] [--finalists 4] [--seeds 11]
//                 [--fresh 33] [--random 12] [--draws SEED] [--json FILE]
//                 [--only "{KEYS};{KEYS}"]  these settings of the section compression alone
#include <array>
#include <cmath>
#include <map>
#include <random>
#include <sstream>

#include "kimesh/config/options_of_text.h"
#include "kimesh/train/trainer.h"
#include "kimesh/util/units.h"
#include "tests/bench/arguments.h"
#include "tests/bench/changing_links.h"
#include "tests/bench/timed_run.h"

namespace kimesh::bench {
namespace {

constexpr double kFar = 4;                  // times the best median
constexpr double kSecondsMax = 600;         // virtual, before any setting has arrived
constexpr std::uint64_t kFreshSeed = 1001;  // no seed of the search
// Evaluations cost nothing here, and the fewer rounds lie between them the less luck a time holds.
constexpr Round kEvaluateEvery = 1;

constexpr std::array kRoundTimes{"2ms",  "3ms",  "5ms",  "8ms",  "12ms",
                                 "20ms", "32ms", "50ms", "80ms", "130ms"};
constexpr std::array kBits{"0.01", "0.02", "0.04", "0.08", "0.16", "0.32", "0.64"};

// The section `compression`, and a round time where one is given.
struct Setting {
  std::string compression;
  std::string round_time;
  bool at_an_end = false;  // of its list
  [[nodiscard]] std::string name() const {
    return round_time.empty() ? compression : compression + " round_time: " + round_time;
  }
};

const Setting kAuto{"{policy: auto}", "", false};

// The keys that auto uses by default, written out for another policy.
std::string like_auto(const std::string& keys, bool look_ahead, bool overlap,
                      unsigned local_steps = 1) {
  return fmt::format(
      "{{{}, compressor: dzq, feedback: ef14, gather: shared, look_ahead: {}, overlap: {}, "
      "local_steps: {}}}",
      keys, look_ahead, overlap, local_steps);
}

void add_lists(std::vector<Setting>& all) {
  for (std::size_t i = 0; i < kRoundTimes.size(); ++i) {
    const bool end = i == 0 || i + 1 == kRoundTimes.size();
    all.push_back({kAuto.compression, kRoundTimes[i], end});
    all.push_back({like_auto("policy: kimad", false, false), kRoundTimes[i], end});
  }
}

// Adds messages of one size with auto's codec, every way to take gradients and 1, 2 or 4 steps.
void add_fixed(std::vector<Setting>& all) {
  constexpr std::array kLookAndOverlap{std::pair{false, false}, std::pair{true, false},
                                       std::pair{true, true}};
  for (std::size_t i = 0; i < kBits.size(); ++i)
    for (const auto& [look_ahead, overlap] : kLookAndOverlap)
      for (const unsigned local_steps : {1U, 2U, 4U})
        all.push_back({like_auto(fmt::format("policy: fixed, bits: {}", kBits[i]), look_ahead,
                                 overlap, local_steps),
                       "", i == 0 || i + 1 == kBits.size()});
}

void add_single_keys(std::vector<Setting>& all) {
  for (const char* key :
       {"feedback: ef21", "gather: per_link", "overlap: false", "look_ahead: false",
        "look_ahead: true, overlap: true", "compressor: topk", "local_steps: 1", "local_steps: 2",
        "local_steps: 4", "local_steps: 8"})
    all.push_back({fmt::format("{{policy: auto, {}}}", key), ""});
}

// Adds random settings. A setting that no config may have is drawn again.
void add_random(std::vector<Setting>& all, unsigned count, std::uint64_t seed) {
  std::mt19937_64 draws(seed);
  const auto one_of = [&](const auto& list) {
    return std::string(list[draws() % std::size(list)]);
  };
  const std::array policies{"auto", "kimad", "kimad_plus", "fixed"};
  const std::array compressors{"dzq", "topk"};
  const std::array feedbacks{"ef21", "ef14", "ef14"};  // most keys are of ef14
  const std::array gathers{"per_link", "shared"};
  const std::array truths{"false", "true"};
  const std::array steps{"1", "1", "2", "4"};
  for (unsigned drawn = 0; drawn < count;) {
    const std::string policy = one_of(policies), compressor = one_of(compressors);
    const std::string bits = one_of(kBits), time = one_of(kRoundTimes);
    std::string keys = fmt::format("policy: {}, compressor: {}", policy, compressor);
    if (policy == "fixed")
      keys += compressor == "dzq" ? ", bits: " + bits
                                  : fmt::format(", ratio: {:g}", std::stod(bits) / 10);
    keys += fmt::format(", feedback: {}, gather: {}, look_ahead: {}, overlap: {}, local_steps: {}",
                        one_of(feedbacks), one_of(gathers), one_of(truths), one_of(truths),
                        one_of(steps));
    const Setting setting{"{" + keys + "}", policy == "fixed" ? "" : time};
    if (!load_options<CompressionOptions>(setting.compression).ok()) continue;
    all.push_back(setting);
    ++drawn;
  }
}

RunConfig configured(RunConfig config, const Setting& setting) {
  config.compression = options_of_text<CompressionOptions>(setting.compression);
  config.round_time.reset();
  if (!setting.round_time.empty()) config.round_time = or_exit(parse_duration(setting.round_time));
  return config;
}

// The geometric mean of paired ratios, and the upper end of its 90 % interval.
struct Ratio {
  double middle = 1, high = 1;
};

Ratio paired_ratio(const std::vector<double>& ours, const std::vector<double>& theirs) {
  const auto n = static_cast<double>(ours.size());
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const double log = std::log(ours[i] / theirs[i]);
    sum += log;
    squares += log * log;
  }
  const double mean = sum / n;
  const double deviation = std::sqrt(std::max(squares - n * mean * mean, 0.0) / (n - 1));
  // The 95 % point of Student's t, by its first terms around the normal one (Fisher, Cornish).
  constexpr double kNormal = 1.6449;
  const double t = kNormal + (std::pow(kNormal, 3) + kNormal) / (4 * (n - 1));
  const double half = t * deviation / std::sqrt(n);
  return {std::exp(mean), std::exp(mean + half)};
}

struct Search {
  Duration compute{0};
  unsigned tried = 3, finalists = 4, seeds = 11, fresh = 33;
};

class Cell {
 public:
  Cell(const Search& search, RunConfig config, TopologyFile topology)
      : search_(search), config_(std::move(config)), topology_(std::move(topology)) {}

  void measure(const std::string& name, const std::vector<Setting>& settings, Figures& figures) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < settings.size(); ++i) {
      run(settings, i, search_.tried);
      order.push_back(i);
    }
    const auto by_median = [&](std::size_t i) { return median(runs_[i]); };
    std::ranges::stable_sort(order, {}, by_median);
    order.resize(std::min<std::size_t>(order.size(), search_.finalists));
    for (const std::size_t i : order) run(settings, i, search_.seeds);
    std::ranges::stable_sort(order, {}, by_median);
    const Setting& best = settings[order.front()];
    for (const std::size_t i : order) figures.add("  " + settings[i].name(), "s", runs_[i]);

    std::vector<double> ours, theirs;
    for (unsigned i = 0; i < search_.fresh; ++i) {
      ours.push_back(once(kAuto, kFreshSeed + i));
      theirs.push_back(once(best, kFreshSeed + i));
    }
    const Ratio ratio = paired_ratio(ours, theirs);
    figures.add(name + ": auto", "s", ours);
    figures.add(fmt::format("{}: best other{}, {}", name,
                            best.at_an_end ? " (at an end of its list)" : "", best.name()),
                "s", theirs);
    figures.add(name + ": auto / best other", "", {ratio.middle});
    figures.add(name + ": the same, upper end of 90 %", "", {ratio.high});
  }

 private:
  double once(const Setting& setting, std::uint64_t seed) {
    RunConfig config = configured(config_, setting);
    config.seed = seed;
    return std::min(run_timed(config, topology_, search_.compute, limit_).reached, limit_);
  }

  void run(const std::vector<Setting>& settings, std::size_t index, unsigned seeds) {
    std::vector<double>& runs = runs_[index];
    while (runs.size() < seeds) runs.push_back(once(settings[index], runs.size() + 1));
    limit_ = std::min(limit_, kFar * median(runs));
  }

  const Search& search_;
  const RunConfig config_;
  const TopologyFile topology_;
  double limit_ = kSecondsMax;
  std::map<std::size_t, std::vector<double>> runs_;  // seconds by setting, of seeds 1, 2, …
};

TopologyFile with_rate(TopologyFile topology, double bits_per_s) {
  topology.default_link.rate = RateTrace{{{0, bits_per_s}}};
  for (auto& link : topology.links) link.spec.rate = topology.default_link.rate;
  return topology;
}

RateTrace faster_trace(const std::string& name, double times) {
  RateTrace trace = trace_named(name);
  for (RateTrace::Step& step : trace.steps) step.seconds /= times;
  return trace;
}

RunConfig config_of(const std::string& split) {
  const bool even = split == "even";
  const std::string root = std::string(KIMESH_SOURCE_DIR) + "/configs/";
  RunConfig config =
      loaded_or_exit(load_config(root + (even ? "digits-auto.yaml" : "digits-by-label.yaml")));
  config.stop.rounds.reset();  // the virtual clock ends what does not arrive
  config.stop.accuracy = even ? 0.96 : 0.95;
  config.evaluate_every = kEvaluateEvery;
  return config;
}

int main(int count, char** words) {
  const Arguments said(
      count, words,
      {"--compute", "--tried", "--finalists", "--seeds", "--fresh", "--only", "--random", "--draws",
       "--topologies", "--rates", "--traces", "--faster", "--splits", "--json"});
  set_up_training(1);
  const auto number = [&](const std::string& name, const std::string& otherwise) {
    return static_cast<unsigned>(std::stoul(said(name, otherwise)));
  };
  const Search search{or_exit(parse_duration(said("--compute", "1ms"))), number("--tried", "3"),
                      number("--finalists", "4"), number("--seeds", "11"), number("--fresh", "33")};
  std::vector<Setting> settings;
  std::istringstream only(said("--only"));
  for (std::string keys; std::getline(only, keys, ';');) settings.push_back({keys, ""});
  const std::vector<std::string> traces = words_of(said("--traces"));
  const std::vector<std::string> rates = words_of(said("--rates", "1Mbit,10Mbit"));
  const bool follow_traces = !traces.empty();
  const double faster = std::stod(said("--faster", "100"));
  if (settings.empty() && follow_traces) {
    add_fixed(settings);
  } else if (settings.empty()) {
    add_lists(settings);
    add_fixed(settings);
    add_single_keys(settings);
    add_random(settings, number("--random", "12"), number("--draws", "1"));
  }
  fmt::print("{}; a gradient takes {} of virtual time; {} settings, {} fresh seeds\n", machine(),
             format_duration(search.compute), settings.size(), search.fresh);
  Figures figures;
  for (const std::string& name : words_of(said("--topologies", "ring4,ps4,tree7,graph5"))) {
    const std::string path = std::string(KIMESH_SOURCE_DIR) + "/topologies/" + name + ".yaml";
    const TopologyFile topology = loaded_or_exit(load_topology(path));
    for (const std::string& links : follow_traces ? traces : rates)
      for (const std::string& split : words_of(said("--splits", "even,by-label"))) {
        const RunConfig config = config_of(split);
        Cell cell(search, config,
                  follow_traces
                      ? with_trace(topology, faster_trace(links, faster), plan_of(topology, config))
                      : with_rate(topology, or_exit(parse_rate_bits_per_s(links))));
        cell.measure(fmt::format("{}, {}, {}", name, links, split), settings, figures);
        if (!figures.write(said("--json"))) return 1;  // what is known so far
      }
  }
  return 0;
}

}  // namespace
}  // namespace kimesh::bench

int main(int count, char** words) {
  return kimesh::bench::main(count, words);
}
