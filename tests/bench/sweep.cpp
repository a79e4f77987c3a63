// How long the main job takes to its accuracy, by policy and setting: the mesh of a topology file
// on virtual time, with LibTorch's gradients. Rates come from the file, every gradient is charged
// the same given time, so the figures do not depend on what else the machine does.
//
// Two times are told. `reached`: the mesh calls its closing round, after two evaluations in a row
// at the target; only runs whose equal models confirmed it count. `whole`: with the dense gather
// that makes all models equal, which takes the same bytes whatever the policy. Whether 0.96 is
// confirmed has luck in it: seeds differ by a factor of three, and a setting is judged by the
// median of `seeds`, better 11 than 5. `none` in place of a list leaves that side out.
//
//   bench_sweep [--config FILE] [--topology FILE] [--compute 1ms] [--seeds 5] [--fixed R,R,…]
//               [--fixed-dzq B,B,…] [--kimad T,T,…] [--dzq T,T,…] [--lr X] [--momentum X]
//               [--decay X] [--nesterov true] [--batch N] [--every N] [--json FILE]
#include "kimesh/config/options_of_text.h"
#include "kimesh/train/trainer.h"
#include "kimesh/util/units.h"
#include "tests/bench/arguments.h"
#include "tests/bench/timed_run.h"

namespace kimesh::bench {
namespace {

struct Sweep {
  RunConfig config;
  TopologyFile topology;
  Duration compute{0};
  unsigned seeds = 5;
  double seconds_max = 60;  // virtual; falls to a multiple of the best that was found
};

// One setting over all seeds. The median of the time in which the target was reached.
double measure(Sweep& sweep, const std::string& name, Figures& figures) {
  std::vector<double> reached, whole, rounds, closings;
  const std::uint64_t first = sweep.config.seed;
  for (unsigned i = 0; i < sweep.seeds; ++i, ++sweep.config.seed) {
    const TimedRun timed =
        run_timed(sweep.config, sweep.topology, sweep.compute, sweep.seconds_max);
    reached.push_back(timed.reached);
    whole.push_back(timed.whole);
    rounds.push_back(timed.rounds);
    closings.push_back(timed.closings);
  }
  sweep.config.seed = first;
  const double middle = median(reached);
  figures.add(name + ": reached", "s", reached);
  figures.add(name + ": whole", "s", whole);
  figures.add(name + ": rounds", "", rounds);
  figures.add(name + ": dense gathers", "", closings);
  if (std::isfinite(middle)) sweep.seconds_max = std::min(sweep.seconds_max, 3 * middle + 10);
  return middle;
}

// What a list of the command line names; "none" leaves that side out.
std::vector<std::string> settings_of(const std::string& list) {
  return list == "none" ? std::vector<std::string>() : words_of(list);
}

struct Best {
  double seconds = INFINITY;
  std::string setting;
  void take(double other, const std::string& name) {
    if (other < seconds) seconds = other, setting = name;
  }
};

// `key`: what `list` gives the compressor, its ratio or its bits per element.
Best sweep_fixed(Sweep& sweep, const std::string& compressor, const std::string& key,
                 const std::string& list, Figures& figures) {
  Best best;
  for (const std::string& value : settings_of(list)) {
    sweep.config.compression =
        compression_options({{"policy", "fixed"}, {"compressor", compressor}, {key, value}});
    best.take(measure(sweep, "fixed " + compressor + " " + value, figures), value);
  }
  return best;
}

// The best of kimad beside the best of fixed with the same compressor.
void compare(const std::string& compressor, const Best& kimad, const Best& fixed,
             Figures& figures) {
  if (kimad.setting.empty() || fixed.setting.empty()) return;
  figures.add("best kimad, " + compressor + " (" + kimad.setting + ")", "s", {kimad.seconds});
  figures.add("best fixed, " + compressor + " (" + fixed.setting + ")", "s", {fixed.seconds});
  figures.add("kimad / fixed, " + compressor, "", {kimad.seconds / fixed.seconds});
}

Best sweep_kimad(Sweep& sweep, const std::string& compressor, const std::string& times,
                 Figures& figures) {
  Best best;
  sweep.config.compression = compression_options({{"policy", "kimad"}, {"compressor", compressor}});
  const std::string name = "kimad " + compressor + " ";
  for (const std::string& time : settings_of(times)) {
    sweep.config.round_time = or_exit(parse_duration(time));
    best.take(measure(sweep, name + time, figures), time);
  }
  return best;
}

Sweep sweep_of(const Arguments& said) {
  const std::string root = KIMESH_SOURCE_DIR;
  Sweep sweep{loaded_or_exit(load_config(said("--config", root + "/configs/digits.yaml"))),
              loaded_or_exit(load_topology(said("--topology", root + "/topologies/ring4.yaml")))};
  sweep.compute = parse_duration(said("--compute", "1ms")).value();
  sweep.seeds = static_cast<unsigned>(std::stoul(said("--seeds", "5")));
  const OptimizerOptions& optimizer = sweep.config.optimizer;
  const OptimizerKind::AtWorkers worker = optimizer.kind->at_workers();
  sweep.config.optimizer = options_of_text<OptimizerOptions>(
      fmt::format("{{kind: sgd, lr: {}, weight_decay: {}, momentum: {}, "
                  "nesterov: {}}}",
                  said("--lr", fmt::format("{}", optimizer.lr)),
                  said("--decay", fmt::format("{}", worker.decay)),
                  said("--momentum", fmt::format("{}", worker.momentum)),
                  said("--nesterov", worker.nesterov ? "true" : "false")));
  sweep.config.data.batch = std::stoi(said("--batch", std::to_string(sweep.config.data.batch)));
  const std::string every = std::to_string(sweep.config.evaluate_every);
  sweep.config.evaluate_every = static_cast<Round>(std::stoul(said("--every", every)));
  sweep.config.stop.rounds = 1500;  // the virtual clock ends what does not converge
  return sweep;
}

int main(int count, char** words) {
  const Arguments said(
      count, words,
      {"--config", "--topology", "--compute", "--seeds", "--lr", "--decay", "--momentum",
       "--nesterov", "--batch", "--every", "--kimad", "--dzq", "--fixed", "--fixed-dzq", "--json"});
  set_up_training(1);
  Sweep sweep = sweep_of(said);
  fmt::print("{}; a gradient takes {} of virtual time; medians of {} seeds\n", machine(),
             format_duration(sweep.compute), sweep.seeds);
  Figures figures;
  const std::string times = said("--kimad", "12.5ms,18ms,25ms,35ms,50ms");
  const Best dzq = sweep_kimad(sweep, "dzq", said("--dzq", "9ms," + times), figures);
  const Best kimad = sweep_kimad(sweep, "topk", times, figures);
  const Best fixed = sweep_fixed(
      sweep, "topk", "ratio", said("--fixed", "0.0014,0.002,0.0028,0.004,0.0056,0.008"), figures);
  const Best fixed_dzq = sweep_fixed(sweep, "dzq", "bits",
                                     said("--fixed-dzq", "0.01,0.02,0.04,0.08,0.16,0.32"), figures);
  if (!kimad.setting.empty() && !dzq.setting.empty())
    figures.add("kimad, dzq (" + dzq.setting + ") / topk (" + kimad.setting + ")", "",
                {dzq.seconds / kimad.seconds});
  compare("topk", kimad, fixed, figures);
  compare("dzq", dzq, fixed_dzq, figures);
  return figures.write(said("--json")) ? 0 : 1;
}

}  // namespace
}  // namespace kimesh::bench

int main(int count, char** words) {
  return kimesh::bench::main(count, words);
}
