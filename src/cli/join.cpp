// kimesh join RUN...: one model of what the nodes of a run left, fetched from several machines, or
// checkpoints from which the run goes on under another topology.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "commands.h"
#include "job.h"
#include "kimesh/model_files/node_model.h"
#include "outputs.h"
#include "say.h"

namespace kimesh::cli {
namespace {

constexpr const char* kModelEnding = ".safetensors";

// The models of nodes in the folders of runs. Errors: UserInput, for a folder without any.
Result<std::vector<NodeModelFile>> models_in(const std::vector<std::string>& runs) {
  std::vector<NodeModelFile> files;
  for (const std::string& run : runs) {
    const std::size_t before = files.size();
    std::error_code code;
    std::filesystem::directory_iterator entries(std::filesystem::path(run) / "nodes", code);
    for (; !code && entries != std::filesystem::directory_iterator(); entries.increment(code)) {
      const std::filesystem::path& path = entries->path();
      if (path.extension() == kModelEnding) files.push_back({path.stem().string(), path.string()});
    }
    if (files.size() == before)
      return Error{ErrorCode::kUserInput,
                   fmt::format("{}/nodes holds no model of a node. Name the folders of runs that "
                               "have ended, such as runs/NAME",
                               run)};
  }
  return files;
}

std::string sources_of(const JoinedModel& joined) {
  std::string text;
  for (const auto& [node, round] : joined.sources) {
    text += (text.empty() ? "" : ", ") + node;
    if (round) text += fmt::format(" (round {})", *round);
  }
  return text;
}

int join_model(const JoinOptions& options, const std::string& output) {
  std::error_code unknown;
  if (std::filesystem::is_regular_file(output, unknown)) {
    complain(output + " exists. Name another file with --output.");
    return kExitUser;
  }
  if (const Status place = check_output({"--output", output}); !place) return fail(place.error());
  auto files = models_in(options.runs);
  if (!files) return fail(files.error());
  const auto joined = join_models(std::move(*files), output);
  if (!joined) {
    const bool is_input = joined.error().code == ErrorCode::kMalformed;
    return fail({is_input ? ErrorCode::kUserInput : joined.error().code, joined.error().message});
  }
  say(fmt::format("  {:<14}{}", "model", output));
  say(fmt::format("  {:<14}{}", "of", sources_of(*joined)));
  say(fmt::format("  {:<14}{}", "complete",
                  joined->complete
                      ? "every shard is its owner's"
                      : "no: shards of nodes that left nothing are other nodes' copies"));
  return kExitDone;
}

// Checkpoints of all nodes of another topology, in a folder of which each machine gets a copy.
int join_checkpoints(const JoinOptions& options) {
  if (!options.output.empty())
    if (const Status place = check_output_folder("--output", options.output); !place)
      return fail(place.error());
  const RunFolder first(options.runs.front());
  auto files = options.config.empty()
                   ? load_copied_files(first.config(), options.topology, first.given_config())
                   : load_copied_files(options.config, options.topology);
  auto before = load_topology_alone(options.before.empty() ? first.topology() : options.before);
  if (!files || !before) return kExitUser;
  const auto mesh = make_mesh(std::move(*files));
  if (!mesh) return fail(mesh.error());
  NewRunFolder to;
  if (!options.output.empty()) to = new_run_folder(options.output);
  to.after = options.runs.front();
  const auto carried = (*mesh)->carry_over(
      {std::move(*before), {options.runs.begin(), options.runs.end()}}, to, options.command);
  if (!carried) return fail(carried.error());
  say(text_of(*carried, options.topology));
  say(
      fmt::format("start every node with `kimesh node --name NAME --resume {}`, the folder or a "
                  "copy of it",
                  carried->folder.path()));
  return kExitDone;
}

}  // namespace

int join(const JoinOptions& options) {
  if (!options.topology.empty()) return join_checkpoints(options);
  if (!options.config.empty() || !options.before.empty())
    return fail({ErrorCode::kUserInput,
                 "--config and --from say how checkpoints go on under another topology: name it "
                 "with --topology"});
  return join_model(options, options.output.empty() ? "model.safetensors" : options.output);
}

}  // namespace kimesh::cli
