// kimesh check FILE...: every problem of every file, and data and keys that are not there.
#include <fmt/format.h>

#include <algorithm>

#include "commands.h"
#include "kimesh/config/key_text.h"
#include "kimesh/config/yaml_tree.h"
#include "kimesh/mesh/keys.h"
#include "kimesh/run/check_together.h"
#include "say.h"

namespace kimesh::cli {
namespace {

// Whether the file has a key that is declared for topologies. A file that is no YAML is told by its
// name, since both loaders say the same about it.
bool is_topology(const std::string& path) {
  Complaints unheard(path);
  const auto root = read_yaml(path, unheard);
  if (!root) return path.find("topolog") != std::string::npos;
  const std::vector<KeyRow> declared = key_rows(describe_topology);
  return std::ranges::any_of(root->members, [&](const YamlMember& member) {
    return std::ranges::find(declared, member.key, &KeyRow::name) != declared.end();
  });
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
    if (is_topology(path)) {
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
  for (const Topology& topology : topologies) {
    if (const Status keys = check_keys(topology.value); !keys) return fail(keys.error());
    if (const std::string notice = security_notice(topology.value); !notice.empty())
      complain(notice + ".");
  }
  for (const Config& config : configs) say(fmt::format("{}: a config, no problem", config.path));
  for (const Topology& topology : topologies)
    say(fmt::format("{}: a topology of {} nodes, no problem", topology.path,
                    topology.value.nodes.size()));
  return kExitDone;
}

}  // namespace kimesh::cli
