#include <fmt/format.h>

#include <algorithm>

#include "src/topology/shape.h"

namespace kimesh {
namespace {

// Every node talks to the owner itself: a parameter server, or several.
class Star final : public Shape {
 public:
  explicit Star(const TopologyFile& topology) : topology_(topology) {}

  Trees trees(NodeIndex owner) const override {
    const std::vector<NodeIndex> all_to_owner(topology_.nodes.size(), owner);
    return {all_to_owner, all_to_owner};
  }

  std::string picture() const override {
    return topology_.servers.size() == 1 ? one_server() : several_servers();
  }

 private:
  // Every other node on the left, the server at the middle row.
  std::string one_server() const {
    const NodeIndex server = topology_.servers.front();
    std::vector<std::string> others = names_of(topology_);
    others.erase(others.begin() + server);
    const std::vector<std::string> rows = picture_rows(std::move(others));
    const auto width = std::ranges::max(rows, {}, &std::string::size).size();
    std::string text;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const bool middle = i == (rows.size() - 1) / 2;
      const std::string right = middle ? fmt::format("--> {}", topology_.nodes[server].name) : "";
      text += fmt::format("  {:<{}} <--+{}\n", rows[i], width, right);
    }
    return text;
  }

  // Each is the centre of a star of all other nodes.
  std::string several_servers() const {
    std::vector<std::string> servers;
    for (const NodeIndex server : topology_.servers)
      servers.push_back(topology_.nodes[server].name);
    const std::string left = "every other node <--";
    std::string text;
    for (const std::string& server : picture_rows(std::move(servers))) {
      const std::string before = text.empty() ? left : std::string(left.size(), ' ');
      text += fmt::format("  {}+--> {}\n", before, server);
    }
    return text;
  }

  const TopologyFile& topology_;
};

}  // namespace

std::unique_ptr<Shape> make_star(const TopologyFile& topology) {
  return std::make_unique<Star>(topology);
}

}  // namespace kimesh
