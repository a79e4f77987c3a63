// kimesh plan TOPOLOGY: who sends what to whom.
#include <fmt/format.h>

#include "kimesh/observe/plan_json.h"
#include "kimesh/observe/text_file.h"
#include "src/cli/job.h"
#include "src/cli/say.h"

namespace kimesh::cli {
namespace {

// Rows enough for a shard each on any topology that can be loaded.
constexpr std::size_t kStandInRows = kNodesMax;

int show(const Plan& plan, const TopologyFile& topology, bool layout_known,
         const PlanOptions& options) {
  fmt::print("{}", draw_plan(plan, topology, layout_known));
  if (options.json.empty()) return kExitDone;
  const Status written =
      write_whole(options.json, std::string_view(plan_json(plan, topology, layout_known)));
  return written.ok() ? kExitDone : fail(written.error());
}

int show_sized(const PlanOptions& options) {
  auto files = load_files(options.config, options.topology);
  if (!files) return kExitUser;
  const auto job = Job::make(std::move(*files));
  if (!job) return fail(job.error());
  return show((*job)->plan(), (*job)->topology(), true, options);
}

}  // namespace

int plan(const PlanOptions& options) {
  if (!options.config.empty()) return show_sized(options);
  const auto topology = load_topology(options.topology);
  for (const Problem& problem : topology.problems) complain(to_string(problem));
  if (!topology.ok()) return kExitUser;
  const auto plan = make_plan(topology.value, Layout::vector(kStandInRows));
  if (!plan) return fail(plan.error());
  return show(*plan, topology.value, false, options);
}

}  // namespace kimesh::cli
