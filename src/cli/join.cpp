// kimesh join RUN...: one model of what the nodes of a run left, fetched from several machines.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "commands.h"
#include "kimesh/model_files/node_model.h"
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

std::string text_of(const JoinedModel& joined) {
  std::string text;
  for (const auto& [node, round] : joined.sources) {
    text += (text.empty() ? "" : ", ") + node;
    if (round) text += fmt::format(" (round {})", *round);
  }
  return text;
}

}  // namespace

int join(const JoinOptions& options) {
  auto files = models_in(options.runs);
  if (!files) return fail(files.error());
  if (std::filesystem::exists(options.output)) {
    complain(options.output + " exists. Name another file with --output.");
    return kExitUser;
  }
  const auto joined = join_models(std::move(*files), options.output);
  if (!joined) {
    const bool is_input = joined.error().code == ErrorCode::kMalformed;
    return fail({is_input ? ErrorCode::kUserInput : joined.error().code, joined.error().message});
  }
  say(fmt::format("  {:<14}{}", "model", options.output));
  say(fmt::format("  {:<14}{}", "of", text_of(*joined)));
  say(fmt::format("  {:<14}{}", "complete",
                  joined->complete
                      ? "every shard is its owner's"
                      : "no: shards of nodes that left nothing are other nodes' copies"));
  return kExitDone;
}

}  // namespace kimesh::cli
