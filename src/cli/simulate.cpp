// kimesh simulate: the whole mesh in this process, in virtual time.
#include <fmt/format.h>

#include <chrono>

#include "commands.h"
#include "ending.h"
#include "job.h"
#include "kimesh/kernels/simd.h"
#include "kimesh/records/decision_log.h"
#include "kimesh/train/trainer.h"
#include "kimesh/util/units.h"
#include "live_view.h"
#include "page.h"
#include "say.h"
#include "signals.h"

namespace kimesh::cli {
namespace {

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
  collect(folder, mesh, ended->run);
  const int code = conclude(folder, ended->tally, ended->run, json);
  say(fmt::format("  {:<14}{} of virtual time in {}, {} messages", "simulated",
                  format_duration(from_seconds(ended->seconds)), format_duration(took),
                  ended->messages));
  return code;
}

}  // namespace

int simulate(const SimulateOptions& options) {
  if (const Status forced = kernels::force_simd(options.simd); !forced)
    return fail({forced.error().code, "--simd: " + forced.error().message});
  auto files = load_files(options.run.config, options.run.topology);
  if (!files) return kExitUser;
  MeshSimulationOptions run;
  run.run.digests = options.run.digests;
  if (!options.compute.empty()) {
    const auto compute = parse_duration(options.compute);
    if (!compute) return fail({ErrorCode::kUserInput, "--compute: " + compute.error().message});
    run.costs.gradient = *compute;
  }
  const auto page = listen_for_page(options.run.page);
  if (!page) return fail(page.error());
  run.run.watched = *page != nullptr;
  const auto mesh = make_mesh(std::move(*files));
  if (!mesh) return fail(mesh.error());
  if (const Status there = (*mesh)->check_device(); !there) return fail(there.error());
  if (!(*mesh)->config().quadratic) set_up_training(threads((*mesh)->config(), (*mesh)->nodes()));
  std::unique_ptr<LoggedDecisions> replay;
  const RunFolder replayed(options.replay);
  if (!options.replay.empty()) {
    auto loaded = load_decisions((*mesh)->plan(), options.replay);
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
