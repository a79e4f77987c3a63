// kind: parameter_server. Every node talks to each server itself.
#include <fmt/format.h>

#include <algorithm>

#include "picture.h"
#include "written.h"

namespace kimesh {
namespace {

// Draws every other node on the left, and the server at the middle row.
std::string draw_one_server(const TopologyFile& topology) {
  const NodeIndex server = topology.servers.front();
  std::vector<std::string> others = names_of(topology);
  others.erase(others.begin() + server);
  const std::vector<std::string> rows = picture_rows(std::move(others));
  const auto width = std::ranges::max(rows, {}, &std::string::size).size();
  std::string text;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool middle = i == (rows.size() - 1) / 2;
    const std::string right = middle ? fmt::format("--> {}", topology.nodes[server].name) : "";
    text += fmt::format("  {:<{}} <--+{}\n", rows[i], width, right);
  }
  return text;
}

// Draws the servers, each of which is the centre of a star of all other nodes.
std::string draw_several_servers(const TopologyFile& topology) {
  std::vector<std::string> servers;
  for (const NodeIndex server : topology.servers) servers.push_back(topology.nodes[server].name);
  const std::string left = "every other node <--";
  std::string text;
  for (const std::string& server : picture_rows(std::move(servers))) {
    const std::string before = text.empty() ? left : std::string(left.size(), ' ');
    text += fmt::format("  {}+--> {}\n", before, server);
  }
  return text;
}

class ParameterServer final : public TopologyKind {
 public:
  bool is_one_hop() const override { return true; }

  bool carries(const TopologyFile& topology, NodeIndex from, NodeIndex to) const override {
    return serves(topology, from) || serves(topology, to);
  }

  std::string remedy_for_unused() const override {
    return "Name a link from a node to a server or from a server to a node";
  }

  std::vector<Trees> trees(const TopologyFile& topology) const override {
    std::vector<Trees> result;
    for (const NodeIndex owner : topology.servers) {
      const std::vector<NodeIndex> all_to_owner(topology.nodes.size(), owner);
      result.push_back({all_to_owner, all_to_owner});
    }
    return result;
  }

  std::string picture(const TopologyFile& topology) const override {
    return topology.servers.size() == 1 ? draw_one_server(topology)
                                        : draw_several_servers(topology);
  }
};

}  // namespace

extern constinit const Kind<TopologyKind> kParameterServer{
    "parameter_server", "every node talks to each server, one hop away",
    make_options<ParameterServer, TopologyKind>};

}  // namespace kimesh
