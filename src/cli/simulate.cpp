// kimesh simulate: the whole mesh in this process, in virtual time.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "commands.h"
#include "ending.h"
#include "job.h"
#include "kimesh/kernels/simd.h"
#include "kimesh/records/decision_log.h"
#include "kimesh/run/options.h"
#include "kimesh/train/trainer.h"
#include "kimesh/util/units.h"
#include "live_view.h"
#include "outputs.h"
#include "page.h"
#include "say.h"
#include "signals.h"

namespace kimesh::cli {
namespace {

// Errors: UserInput (the run had other settings, or kept no decisions), and those of reading them.
Result<std::unique_ptr<LoggedDecisions>> decisions_of(const RunFolder& run, const Mesh& mesh) {
  const std::string settings = run.settings();
  if (settings.empty() || settings == mesh.settings())
    return load_decisions(mesh.plan(), run.path());
  return Error{ErrorCode::kUserInput,
               fmt::format("--replay: {0} holds a run with another config or topology, and its "
                           "decisions belong to that. Name the files of that run, of which {0} has "
                           "copies.",
                           run.path())};
}

int run_simulation(const Mesh& mesh, const RunFolder& folder, MeshSimulationOptions options,
                   const std::string& json) {
  LiveView view(run_of(mesh, folder));
  options.run.callbacks.round = [&](NodeIndex node, const RoundRecord& round,
                                    const RunTally& tally) {
    view.observe(node, round);
    view.update(tally, std::chrono::steady_clock::now());
  };
  options.run.callbacks.notice = [&](NodeIndex node, const std::string& text) {
    view.notice(mesh.plan().view.nodes[node] + ": " + text);
  };
  stop_on_signals();
  stop_on_lost_output();
  options.run.stop = &stop_wanted();
  options.run.folder = &folder;
  const auto begun = std::chrono::steady_clock::now();
  auto ended = mesh.simulate(options);
  const Duration took = std::chrono::steady_clock::now() - begun;
  if (!ended) return fail(ended.error());
  view.finish(ended->tally);
  const bool kept = collect(folder, mesh, ended->run);
  const int code = conclude(folder, ended->tally, ended->run, json, kept);
  say(fmt::format("  {:<14}{} of virtual time in {}, {} messages", "simulated",
                  format_duration(from_seconds(ended->seconds)), format_duration(took),
                  ended->messages));
  return code;
}

// Reads --compute. Errors: UserInput.
Status set_gradients(const std::vector<std::string>& texts, const Mesh& mesh,
                     SimulatedCosts& costs) {
  const auto wrong = [](const std::string& what) {
    return Error{ErrorCode::kUserInput, "--compute: " + what};
  };
  const std::vector<NodeSpec>& nodes = mesh.topology().nodes;
  std::optional<Duration> of_all;
  std::vector<std::optional<Duration>> of_nodes(nodes.size());
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const bool is_of_node = equals != std::string::npos;
    const std::string name = is_of_node ? text.substr(0, equals) : "";
    const auto node = std::ranges::find(nodes, name, &NodeSpec::name);
    if (is_of_node && node == nodes.end())
      return wrong(fmt::format("the topology has no node {}; it has {}", name,
                               fmt::join(mesh.plan().view.nodes, ", ")));
    const auto time = parse_duration(is_of_node ? text.substr(equals + 1) : text);
    if (!time) return wrong(time.error().message);
    auto& place = is_of_node ? of_nodes[static_cast<std::size_t>(node - nodes.begin())] : of_all;
    if (place)
      return wrong("two times for " + (is_of_node ? "node " + name : "all nodes") + "; give one");
    place = *time;
  }
  costs.gradient = of_all.value_or(costs.gradient);
  if (std::ranges::none_of(of_nodes, [](const auto& time) { return time.has_value(); }))
    return ok_status();
  const std::vector<unsigned> steps = local_steps(mesh.config(), mesh.topology());
  for (std::size_t i = 0; i < nodes.size(); ++i)
    costs.node_gradients.push_back(steps[i] * of_nodes[i].value_or(costs.gradient));
  return ok_status();
}

}  // namespace

int simulate(const SimulateOptions& options) {
  if (const Status forced = kernels::force_simd(options.simd); !forced)
    return fail({forced.error().code, "--simd: " + forced.error().message});
  if (const Status place = check_output({"--json",
                                         options.run.json,
                                         {options.run.config, options.run.topology},
                                         {options.replay},
                                         options.run.run,
                                         ".json"});
      !place)
    return fail(place.error());
  auto files = load_copied_files(options.run.config, options.run.topology);
  if (!files) return kExitUser;
  MeshSimulationOptions run;
  run.run.digests = options.run.digests;
  const auto page = listen_for_page(options.run.page);
  if (!page) return fail(page.error());
  run.run.watched = *page != nullptr;
  load_gpu(files->config);
  const auto mesh = make_mesh(std::move(*files));
  if (!mesh) return fail(mesh.error());
  if (const Status set = set_gradients(options.compute, **mesh, run.costs); !set)
    return fail(set.error());
  if (const Status there = (*mesh)->check_device(); !there) return fail(there.error());
  if (!(*mesh)->config().quadratic) set_up_training(threads((*mesh)->config(), (*mesh)->nodes()));
  std::unique_ptr<LoggedDecisions> replay;
  const RunFolder replayed(options.replay);
  if (!options.replay.empty()) {
    auto loaded = decisions_of(replayed, **mesh);
    if (!loaded) return fail(loaded.error());
    replay = std::move(*loaded);
  }
  run.replay = replay.get();
  run.replayed = &replayed;
  const auto folder = (*mesh)->make_folder({options.run.run}, options.run.command);
  if (!folder) return fail(folder.error());
  if (const Status shown = show_page(page->get(), options.run.page, *folder); !shown)
    return fail(shown.error());
  return run_simulation(**mesh, *folder, std::move(run), options.run.json);
}

}  // namespace kimesh::cli
