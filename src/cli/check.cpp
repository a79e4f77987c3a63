// kimesh check FILE...: every problem of every file, and data and keys that are not there.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "commands.h"
#include "kimesh/config/key_text.h"
#include "kimesh/config/yaml_tree.h"
#include "kimesh/mesh/keys.h"
#include "kimesh/run/check_together.h"
#include "kimesh/run/explain.h"
#include "kimesh/run/hosts_file.h"
#include "say.h"

namespace kimesh::cli {
namespace {

enum class FileKind { kConfig, kTopology, kHosts };

// Tells what a file is by its keys: it is of the kind that has most of them, since a key may stand
// in the wrong place. A file that is no YAML (null) is told by its name, since all loaders say the
// same about it.
FileKind kind_of(const std::string& path, const YamlValue* root) {
  struct Sign {
    FileKind kind;
    std::string_view in_name;
    std::string_view section;  // of explain_sections()
  };
  constexpr Sign kSigns[]{{FileKind::kConfig, "config", "config"},
                          {FileKind::kHosts, "hosts", "hosts"},
                          {FileKind::kTopology, "topolog", "topology"}};
  const auto known_keys = [&](const Sign& sign) {
    const auto section = std::ranges::find(explain_sections(), sign.section, &ExplainSection::name);
    const std::vector<KeyRow> rows = key_rows(section->describe);
    return std::ranges::count_if(root->members, [&](const YamlMember& member) {
      return std::ranges::find(rows, member.key, &KeyRow::name) != rows.end();
    });
  };
  const auto rank = [&](const Sign& sign) {
    const bool is_named = path.find(sign.in_name) != std::string::npos;
    return std::pair(root ? known_keys(sign) : 0, is_named);
  };
  return std::ranges::max_element(kSigns, {}, rank)->kind;
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
    // Read once: a pipe has nothing left for a second reader.
    Complaints complaints(path);
    const auto read = read_yaml(path, complaints);
    const YamlValue* root = read ? &*read : nullptr;
    const FileKind kind = kind_of(path, root);
    if (kind == FileKind::kHosts) {
      found = load_hosts(root, std::move(complaints)).problems;
      hosts.push_back(path);
    } else if (kind == FileKind::kTopology) {
      auto loaded = load_topology(root, std::move(complaints));
      found = loaded.problems;
      topologies.push_back({path, std::move(loaded.value)});
    } else {
      auto loaded = load_config(root, std::move(complaints));
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
