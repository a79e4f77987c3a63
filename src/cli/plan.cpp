// kimesh plan TOPOLOGY: who sends what to whom; with --predict, how long a run takes and how much
// it sends; with --suggest, which joins of the nodes give the shortest rounds.
#include <fmt/format.h>

#include "commands.h"
#include "job.h"
#include "kimesh/records/plan_json.h"
#include "kimesh/records/text_file.h"
#include "kimesh/run/predict.h"
#include "kimesh/util/units.h"
#include "outputs.h"
#include "say.h"
#include "suggest.h"

namespace kimesh::cli {
namespace {

int show(const Plan& plan, const TopologyFile& topology, bool layout_known,
         const PlanOptions& options, const std::string& prediction = "",
         std::span<const Figure> figures = {}) {
  put(draw_plan(plan, topology, layout_known) + prediction);
  if (options.json.empty()) return kExitDone;
  const std::string json = plan_json(plan, topology, layout_known, figures);
  const Status written = write_whole(options.json, std::string_view(json));
  return written.ok() ? kExitDone : fail(written.error());
}

std::vector<Figure> figures_of(const Prediction& prediction, const RunConfig& config,
                               const Plan& plan) {
  std::vector<Figure> figures{{"round_time", prediction.round_s, "s", {}}};
  if (config.stop.rounds)
    figures.push_back({"run_time", prediction.round_s * *config.stop.rounds / 3600, "h", {}});
  for (LinkIndex i = 0; i < plan.links.size(); ++i) {
    const std::string name = fmt::format("{}->{}", plan.view.nodes[plan.links[i].from],
                                         plan.view.nodes[plan.links[i].to]);
    const PredictedLink& link = prediction.links[i];
    figures.push_back({"round_bytes " + name, link.bytes_per_round, "B", {}});
    if (link.rate_bits_per_s > 0) figures.push_back({"busy " + name, link.busy, "share", {}});
  }
  return figures;
}

// Errors: UserInput.
Result<SimulatedCosts> costs_of(const PlanOptions& options) {
  SimulatedCosts costs;
  if (options.compute.empty()) return costs;
  const auto compute = parse_duration(options.compute);
  if (!compute) return Error{ErrorCode::kUserInput, "--compute: " + compute.error().message};
  costs.gradient = *compute;
  return costs;
}

int show_predicted(const Mesh& mesh, const PlanOptions& options, const SimulatedCosts& costs) {
  const Prediction prediction =
      predict(mesh.config(), mesh.topology(), mesh.plan(), mesh.objective().weights(), costs);
  if (!prediction.trouble.empty())
    return fail({ErrorCode::kUserInput, "there is no prediction: " + prediction.trouble});
  return show(mesh.plan(), mesh.topology(), true, options,
              "\n" + prediction_text(prediction, mesh.config(), mesh.plan(), costs),
              figures_of(prediction, mesh.config(), mesh.plan()));
}

int show_sized(const PlanOptions& options) {
  // What is suggested is the topology's file, written anew.
  if (!options.suggest.empty() && !can_be_read_again({options.topology})) return kExitUser;
  auto files = load_files(options.config, options.topology);
  if (!files) return kExitUser;
  const auto mesh = make_mesh(std::move(*files));
  if (!mesh) return fail(mesh.error());
  const auto costs = costs_of(options);
  if (!costs) return fail(costs.error());
  if (!options.suggest.empty()) return suggest_joins(**mesh, options, *costs);
  if (options.predict) return show_predicted(**mesh, options, *costs);
  return show((*mesh)->plan(), (*mesh)->topology(), true, options);
}

}  // namespace

int plan(const PlanOptions& options) {
  const std::vector<std::string> inputs{options.topology, options.config};
  for (const Output& output :
       {Output{"--json", options.json, inputs, options.measured, "", ".json"},
        Output{"--suggest", options.suggest}})
    if (const Status place = check_output(output); !place) return fail(place.error());
  if (!options.compute.empty() && !options.predict && options.suggest.empty())
    return fail({ErrorCode::kUserInput,
                 "--compute is for --predict and --suggest: add one of them, or leave it out."});
  if (!options.config.empty()) return show_sized(options);
  if (options.predict || !options.suggest.empty())
    return fail({ErrorCode::kUserInput,
                 fmt::format("{} needs to know what is trained: add --config configs/digits.yaml",
                             options.predict ? "--predict" : "--suggest")});
  const auto topology = load_topology_alone(options.topology);
  if (!topology) return kExitUser;
  const auto plan = plan_without_sizes(*topology);
  if (!plan) return fail(plan.error());
  return show(*plan, *topology, false, options);
}

}  // namespace kimesh::cli
