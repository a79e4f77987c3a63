#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "src/config/limits.h"
#include "src/config/rate_trace.h"
#include "src/config/topology_reader.h"

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

// A rate for a link that carries nothing would be a mistake that nobody sees.
bool carries(const TopologyFile& topology, NodeIndex from, NodeIndex to) {
  if (topology.kind == TopologyKind::kRing) return (from + 1u) % topology.nodes.size() == to;
  const auto serves = [&](NodeIndex node) {
    return std::binary_search(topology.servers.begin(), topology.servers.end(), node);
  };
  return serves(from) || serves(to);
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
    if (*from == *to || !carries(topology_, *from, *to))
      return complaints_.add(member.line,
                             fmt::format("nothing travels from {} to {}", ends->from, ends->to),
                             remedy_for_unused());
    add({*from, *to, std::move(spec)}, member);
  }

 private:
  std::string remedy_for_unused() const {
    if (topology_.kind == TopologyKind::kRing)
      return "A ring sends from each node to the next in the file, and from the last to the "
             "first: name one of these links";
    return "Name a link from a node to a server or from a server to a node";
  }

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

void read_servers(MapReader& top, TopologyFile& topology, Complaints& complaints) {
  topology.servers.clear();
  for (std::size_t i = 0; i < topology.nodes.size(); ++i)
    topology.servers.push_back(static_cast<NodeIndex>(i));
  const YamlMember* member = top.find("servers");
  if (member == nullptr || member->value.text == "all") return;
  if (topology.kind == TopologyKind::kRing)
    return top.refuse({"servers"}, "kind: ring, where every node serves");
  const std::string remedy = fmt::format("Write servers: all, or a list of names such as [{}]",
                                         topology.nodes.front().name);
  if (member->value.kind != YamlValue::Kind::kList || member->value.items.empty())
    return top.complain("servers", fmt::format("servers is {}", kind_name(member->value)), remedy);
  topology.servers.clear();
  for (const YamlValue& item : member->value.items) {
    const auto node = find_node(topology, item.text);
    auto& servers = topology.servers;
    if (!node)
      complaints.add(item.line, fmt::format("servers names {}, which is no node", kind_name(item)),
                     fmt::format("Write some of: {}", node_names(topology)));
    else if (std::find(servers.begin(), servers.end(), *node) != servers.end())
      complaints.add(item.line, fmt::format("servers names {} twice", item.text),
                     "Keep one of them");
    else
      servers.push_back(*node);
  }
  std::sort(topology.servers.begin(), topology.servers.end());
}

}  // namespace kimesh
