#include "written.h"

#include <fmt/format.h>

#include <algorithm>

#include "kimesh/config/map_reader.h"

namespace kimesh {
namespace {

WrittenLink written_link(std::string name, const LinkSpec& spec, const LinkWay& way) {
  WrittenLink link;
  link.name = std::move(name);
  if (way.dialled_by != DialledBy::kSender) link.dial = way.dialled_by;
  link.address = way.address;
  link.delay = spec.delay;
  if (spec.bucket_bytes > 0) link.bucket_bytes = spec.bucket_bytes;
  if (!spec.rate) return link;
  if (spec.rate->steps.size() == 1)
    link.bits_per_s = spec.rate->steps[0].bits_per_s;
  else
    link.steps = spec.rate->steps;
  return link;
}

bool same(const LinkSpec& a, const LinkSpec& b) {
  const auto steps = [](const LinkSpec& spec) {
    return spec.rate ? spec.rate->steps : std::vector<RateTrace::Step>();
  };
  const auto equal = [](const RateTrace::Step& x, const RateTrace::Step& y) {
    return x.seconds == y.seconds && x.bits_per_s == y.bits_per_s;
  };
  return a.delay == b.delay && a.bucket_bytes == b.bucket_bytes &&
         std::ranges::equal(steps(a), steps(b), equal);
}

}  // namespace

Written written(const TopologyFile& topology) {
  Written written;
  if (topology.servers.size() != topology.nodes.size())
    for (const NodeIndex server : topology.servers)
      written.servers.push_back(topology.nodes[server].name);
  written.default_link =
      written_link("default", topology.default_link, {topology.default_dialled_by, {}});
  for (const auto& [from, to, spec, way] : topology.links)
    if (!same(spec, topology.default_link) || way.dialled_by != topology.default_dialled_by)
      written.links.push_back(written_link(
          fmt::format("{}->{}", topology.nodes[from].name, topology.nodes[to].name), spec, way));
  return written;
}

void resolve_servers(const Written& written, TopologyFile& topology, Findings& findings) {
  if (written.servers.empty() || topology.kind->all_serve()) return;
  topology.servers.clear();
  for (std::size_t i = 0; i < written.servers.size(); ++i) {
    const std::string& name = written.servers[i];
    if (name.empty()) continue;  // no text: there is a complaint about it
    const std::string place = fmt::format("servers.{}", i);
    const auto node = topology.find_node(name);
    if (!node)
      findings.add(place, fmt::format("servers names {}, which is no node", quoted(name)),
                   fmt::format("Write some of: {}", node_names(topology)));
    else if (std::ranges::find(topology.servers, *node) != topology.servers.end())
      findings.add(place, fmt::format("servers names {} twice", name), "Keep one of them");
    else
      topology.servers.push_back(*node);
  }
  std::ranges::sort(topology.servers);
}

bool serves(const TopologyFile& topology, NodeIndex node) {
  return std::ranges::binary_search(topology.servers, node);
}

std::string node_names(const TopologyFile& topology) {
  constexpr std::size_t kShown = 8;
  std::vector<std::string_view> names;
  for (const NodeSpec& node : topology.nodes)
    if (names.size() < kShown) names.push_back(node.name);
  return joined(names) + (topology.nodes.size() > kShown ? ", ..." : "");
}

}  // namespace kimesh
