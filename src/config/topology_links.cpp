#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "src/config/limits.h"
#include "src/config/rate_trace.h"
#include "src/config/topology_kinds.h"

namespace kimesh {
namespace {

struct Ends {
  std::string_view from, to;
};

std::optional<Ends> split_ends(std::string_view key) {
  const std::size_t arrow = key.find("->");
  if (arrow == std::string_view::npos) return std::nullopt;
  std::string_view from = key.substr(0, arrow), to = key.substr(arrow + 2);
  while (from.ends_with(' ')) from.remove_suffix(1);
  while (to.starts_with(' ')) to.remove_prefix(1);
  return Ends{from, to};
}

class LinkReader {
 public:
  LinkReader(TopologyFile& topology, Complaints& complaints)
      : topology_(topology), complaints_(complaints) {}

  void read_default(const YamlMember& member) {
    read_spec(member.value, "links.default", topology_.default_link);
  }

  void read_named(const YamlMember& member) {
    LinkSpec spec = topology_.default_link;  // what is not written is as in default
    read_spec(member.value, "links." + member.key, spec);
    const auto ends = split_ends(member.key);
    if (!ends)
      return complaints_.add(member.line, fmt::format("{} is no link", quoted(member.key)),
                             "Write default, or FROM->TO with the names of two nodes");
    const auto from = find_node(topology_, ends->from), to = find_node(topology_, ends->to);
    if (!from || !to)
      return complaints_.add(
          member.line, fmt::format("there is no node {}", quoted(from ? ends->to : ends->from)),
          fmt::format("Write two of: {}", node_names(topology_)));
    // A rate for a link that carries nothing would be a mistake that nobody sees.
    if (*from == *to || !rules_of(topology_.kind).carries(topology_, *from, *to))
      return complaints_.add(member.line,
                             fmt::format("nothing travels from {} to {}", ends->from, ends->to),
                             std::string(rules_of(topology_.kind).remedy_for_unused));
    add({*from, *to, std::move(spec)}, member);
  }

 private:
  void add(TopologyFile::NamedLink link, const YamlMember& member) {
    const auto [it, is_new] = lines_.emplace(std::pair(link.from, link.to), member.line);
    if (is_new) return topology_.links.push_back(std::move(link));
    complaints_.add(member.line,
                    fmt::format("link {} was already given in line {}", member.key, it->second),
                    "Keep one of them");
  }

  void read_spec(const YamlValue& value, const std::string& where, LinkSpec& spec) {
    MapReader reader(complaints_, value, where, {"rate", "trace", "delay"});
    reader.read("delay", spec.delay, {0, limits::kDelaySecondsMax});
    if (reader.find("rate") != nullptr && reader.find("trace") != nullptr)
      return reader.complain("trace", where + " has both a rate and a trace", "Keep one of them");
    std::optional<double> rate;
    reader.read_rate("rate", rate);
    if (rate) spec.rate = RateTrace{{{0, *rate}}};
    std::string path;
    reader.read("trace", path);
    if (!path.empty()) spec.rate = trace(path, reader.line_of("trace"));
  }

  // Every file is read once, however many links use it.
  std::optional<RateTrace> trace(const std::string& path, int line) {
    const auto full = path_beside(complaints_.file(), path);
    const auto [it, is_new] = traces_.try_emplace(full);
    if (is_new) it->second = load_trace(full, line, complaints_);
    if (std::ranges::find(topology_.traces, path) == topology_.traces.end())
      topology_.traces.push_back(path);
    return it->second;
  }

  TopologyFile& topology_;
  Complaints& complaints_;
  std::map<std::pair<NodeIndex, NodeIndex>, int> lines_;
  std::map<std::string, std::optional<RateTrace>> traces_;
};

}  // namespace

void read_links(const YamlValue& value, TopologyFile& topology, Complaints& complaints) {
  if (value.kind != YamlValue::Kind::kMap)
    return complaints.add(value.line, fmt::format("links is {}, not a map", kind_name(value)),
                          "Write one line per link, such as a->b: {rate: 2Mbit}");
  LinkReader reader(topology, complaints);
  const YamlMember* first = nullptr;
  for (const YamlMember& member : value.members) {
    if (member.key != "default") continue;
    if (first != nullptr)
      complaints.add(member.line,
                     fmt::format("key 'default' was already given in line {}", first->line),
                     "Keep one of them");
    else
      reader.read_default(*(first = &member));
  }
  for (const YamlMember& member : value.members)
    if (member.key != "default") reader.read_named(member);
  std::sort(topology.links.begin(), topology.links.end(), [](const auto& a, const auto& b) {
    return std::pair(a.from, a.to) < std::pair(b.from, b.to);
  });
}

}  // namespace kimesh
