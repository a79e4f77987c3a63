// kimesh check FILE...: every problem of every file, and data and keys that are not there.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "commands.h"
#include "kimesh/config/key_text.h"
#include "kimesh/config/yaml_tree.h"
#include "kimesh/mesh/keys.h"
#include "kimesh/run/check_together.h"
#include "kimesh/run/hosts_file.h"
#include "say.h"

namespace kimesh::cli {
namespace {

// Whether the file has a key of these. A file that is no YAML is told by its name, since all
// loaders say the same about it.
bool has_key_of(const std::string& path, const char* in_name,
                const std::function<void(Keys&)>& describe) {
  Complaints unheard(path);
  const auto root = read_yaml(path, unheard);
  if (!root) return path.find(in_name) != std::string::npos;
  const std::vector<KeyRow> declared = key_rows(describe);
  return std::ranges::any_of(root->members, [&](const YamlMember& member) {
    return std::ranges::find(declared, member.key, &KeyRow::name) != declared.end();
  });
}

bool is_topology(const std::string& path) {
  return has_key_of(path, "topolog", describe_topology);
}

bool is_hosts(const std::string& path) {
  return has_key_of(path, "hosts", [](Keys& keys) { HostsFile().describe(keys); });
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
  std::vector<std::string> hosts;
  for (const std::string& path : files) {
    std::vector<Problem> found;
    if (is_hosts(path)) {
      found = load_hosts(path).problems;
      hosts.push_back(path);
    } else if (is_topology(path)) {
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
  for (const std::string& path : hosts) say(fmt::format("{}: a file of hosts, no problem", path));
  for (const Topology& topology : topologies)
    say(fmt::format("{}: a topology of {} nodes, no problem", topology.path,
                    topology.value.nodes.size()));
  return kExitDone;
}

}  // namespace kimesh::cli
