// kimesh check FILE...: every problem of every file, and data that is not there.
#include <fmt/format.h>

#include <regex>

#include "commands.h"
#include "kimesh/records/text_file.h"
#include "kimesh/run/check_together.h"
#include "say.h"

namespace kimesh::cli {
namespace {

constexpr std::size_t kYamlBytesMax = 16 << 20;  // far more than the loaders take

// By its keys: the first of a line that stands at the margin, or behind the brace of a whole
// written in braces.
bool looks_like_topology(const std::string& path) {
  const auto text = read_whole(path, kYamlBytesMax);
  if (!text) return path.find("topolog") != std::string::npos;
  static const std::regex key(
      "(^|\n)(\\{[ ]*)?[\"']?(kind|nodes|links|servers|security|dead_after|start_timeout)[\"']?"
      "[ ]*:");
  return std::regex_search(*text, key);
}

}  // namespace

int check(const std::vector<std::string>& files) {
  struct Config {
    std::string path;
    RunConfig value;
  };
  struct Topology {
    std::string path;
    TopologyFile value;
  };
  std::vector<Config> configs;
  std::vector<Topology> topologies;
  std::vector<Problem> problems;
  for (const std::string& path : files) {
    std::vector<Problem> found;
    if (looks_like_topology(path)) {
      auto loaded = load_topology(path);
      found = loaded.problems;
      topologies.push_back({path, std::move(loaded.value)});
    } else {
      auto loaded = load_config(path);
      found = loaded.ok() ? missing_files(loaded.value) : loaded.problems;
      configs.push_back({path, std::move(loaded.value)});
    }
    problems.insert(problems.end(), found.begin(), found.end());
  }
  if (problems.empty() && configs.size() == 1 && topologies.size() == 1)
    problems = check_together(configs[0].value, configs[0].path, topologies[0].value);
  for (const Problem& problem : problems) complain(to_string(problem));
  if (!problems.empty()) return kExitUser;
  for (const Config& config : configs) say(fmt::format("{}: a config, no problem", config.path));
  for (const Topology& topology : topologies)
    say(fmt::format("{}: a topology of {} nodes, no problem", topology.path,
                    topology.value.nodes.size()));
  return kExitDone;
}

}  // namespace kimesh::cli
