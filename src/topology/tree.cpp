// kind: tree. Its key is one of `parents`, `fan_out`, and `sites` with a head each.
#include <fmt/format.h>

#include <algorithm>

#include "kimesh/config/map_reader.h"
#include "kimesh/util/check.h"
#include "picture.h"
#include "written.h"

namespace kimesh {
namespace {

constexpr NodeIndex kNobody = 0xFFFF;  // no node has this index: kNodesMax is far below
static_assert(kNodesMax < kNobody);

constexpr ListRule kParentsRule{1, kNodesMax, "nodes and their parents", "{b: a, c: a}"};
constexpr ListRule kMembersRule{1, kNodesMax, "nodes", "[a, b, c]"};
constexpr EntryRule kSiteRule{"site", "SITE",   "paris: {head: a, nodes: [a, b, c]}", "", nullptr,
                              1,      kNodesMax};

struct Site {
  std::string name, head;
  std::vector<std::string> nodes;

  void describe(Keys& keys) {
    keys.require("head", "head: with the node that talks to the other sites");
    keys.require("nodes", "nodes: with a list of the site's nodes");
    keys.text("head", head, "the node of the site that talks to the other sites' heads");
    keys.texts("nodes", nodes, kMembersRule, "all nodes of the site, its head included");
  }
};

std::optional<NodeIndex> known_node(const TopologyFile& topology, std::string_view where,
                                    const std::string& place, const std::string& name,
                                    Findings& findings) {
  const auto node = topology.find_node(name);
  if (!node)
    findings.add(place, fmt::format("{} names {}, which is no node", where, quoted(name)),
                 fmt::format("Write some of: {}", node_names(topology)));
  return node;
}

// Makes each site's head the parent of the site's nodes.
class SiteResolver {
 public:
  SiteResolver(const TopologyFile& topology, Findings& findings)
      : topology_(topology),
        findings_(findings),
        site_of_(topology.nodes.size()),
        parents_(topology.nodes.size(), kNobody) {}

  // Returns false where there is a complaint.
  bool resolve(const std::vector<Site>& sites) {
    bool good = !sites.empty();
    for (const Site& site : sites) good = resolve_site(site) && good;
    return good && all_belong();
  }
  [[nodiscard]] std::vector<NodeIndex> parents() const { return parents_; }

 private:
  bool resolve_site(const Site& site) {
    const std::string where = "sites." + site.name;
    if (!findings_.is_given(where + ".head") || site.nodes.empty()) return false;
    const auto head = known_node(topology_, where, where + ".head", site.head, findings_);
    if (!take_members(site, where) || !head) return false;
    if (site_of_[*head] != site.name) {
      findings_.add(where + ".head",
                    fmt::format("{} is not among the nodes of {}", site.head, where),
                    "Name one of them as the head");
      return false;
    }
    for (std::size_t n = 0; n < site_of_.size(); ++n)
      if (site_of_[n] == site.name) parents_[n] = *head;
    return true;
  }

  bool take_members(const Site& site, const std::string& where) {
    bool good = true;
    for (std::size_t i = 0; i < site.nodes.size(); ++i) {
      const std::string place = fmt::format("{}.nodes.{}", where, i);
      good = good && !site.nodes[i].empty();
      if (site.nodes[i].empty()) continue;  // no text: there is a complaint about it
      const auto node = known_node(topology_, where, place, site.nodes[i], findings_);
      if (node && site_of_[*node])
        findings_.add(place,
                      fmt::format("node {} was already given to site {}", site.nodes[i],
                                  quoted(*site_of_[*node])),
                      "Keep it in one of them");
      good = good && node && !site_of_[*node];
      if (node) site_of_[*node] = site.name;
    }
    return good;
  }

  bool all_belong() {
    const auto without =
        std::ranges::find_if_not(site_of_, [](const auto& site) { return site.has_value(); });
    if (without == site_of_.end()) return true;
    const auto node = static_cast<std::size_t>(without - site_of_.begin());
    findings_.add("sites", fmt::format("node {} belongs to no site", topology_.nodes[node].name),
                  "Add it to the nodes of one site");
    return false;
  }

  const TopologyFile& topology_;
  Findings& findings_;
  std::vector<std::optional<std::string>> site_of_;  // by node
  std::vector<NodeIndex> parents_;                   // by node
};

// One tree; or one tree a site, whose roots, the sites' heads, are all joined with each other.
// There is one way between each node and each owner, which the reduce takes towards the owner and
// the gather away from it.
class Tree final : public TopologyKind {
 public:
  void describe(Keys& keys) override {
    keys.text_pairs("parents", pairs_, kParentsRule,
                    "NODE: PARENT for every node but one, the root");
    keys.whole("fan_out", fan_out_, {1, static_cast<double>(kNodesMax)},
               "children of each node, in the order of the file; the first node is the root");
    Site defaults;
    keys.entries("sites", sites_, defaults, kSiteRule,
                 "places whose nodes have the site's head as parent; the heads are joined with "
                 "each other");
    std::vector<std::string_view> given;
    for (const std::string_view key : {"parents", "fan_out", "sites"})
      if (keys.is_given(key)) given.push_back(key);
    if (given.size() > 1)
      keys.check(false, given[1], fmt::format("the tree is given twice, by {}", joined(given)),
                 "Keep one of them");
    keys.check(!given.empty(), "kind", "kind: tree does not say which node hangs on which",
               "Add one of fan_out: 2, parents: {b: a, c: a} and sites: with a head each");
  }

  bool resolve(const TopologyFile& topology, Findings& findings) override {
    const bool by_sites = findings.is_given("sites"), by_fan_out = findings.is_given("fan_out");
    if (by_sites + by_fan_out + findings.is_given("parents") != 1) return false;
    const bool good = by_sites     ? resolve_sites(topology, findings)
                      : by_fan_out ? resolve_fan_out(topology)
                                   : resolve_parents(topology, findings);
    if (good) write_as_parents(topology);
    return good;
  }

  // Between the heads of two sites messages travel where one of the sites has a server.
  bool carries(const TopologyFile& topology, NodeIndex from, NodeIndex to) const override {
    if (parents_[from] == to || parents_[to] == from) return true;
    if (parents_[from] != from || parents_[to] != to) return false;
    return std::ranges::any_of(topology.servers, [&](NodeIndex server) {
      const NodeIndex head = way_up(server).back();
      return head == from || head == to;
    });
  }

  std::string remedy_for_unused() const override {
    return "Name a link between a node and the one that it hangs on, or between the heads of two "
           "sites";
  }

  std::vector<Trees> trees(const TopologyFile& topology) const override {
    std::vector<Trees> result;
    for (const NodeIndex owner : topology.servers) {
      const std::vector<NodeIndex> way = way_up(owner);
      std::vector<NodeIndex> next(parents_);
      for (const NodeIndex root : children(kNobody)) next[root] = way.back();
      // Nodes above the owner send down, towards it.
      for (std::size_t i = 1; i < way.size(); ++i) next[way[i]] = way[i - 1];
      next[owner] = owner;
      result.push_back({next, next});
    }
    return result;
  }

  std::string picture(const TopologyFile& topology) const override {
    const std::vector<std::string> names = names_of(topology);
    const std::vector<NodeIndex> roots = children(kNobody);
    std::vector<std::string> rows;
    if (roots.size() > 1) {
      rows.push_back("heads of sites, each joined with every other");
      for (const NodeIndex root : roots) draw_below(names, root, "", root == roots.back(), rows);
    } else {
      rows.push_back(names[roots.front()]);
      const std::vector<NodeIndex> below = children(roots.front());
      for (const NodeIndex child : below) draw_below(names, child, "", child == below.back(), rows);
    }
    return picture_of(std::move(rows));
  }

 private:
  bool resolve_sites(const TopologyFile& topology, Findings& findings) {
    SiteResolver resolver(topology, findings);
    const bool good = resolver.resolve(sites_);
    parents_ = resolver.parents();
    return good;
  }

  bool resolve_fan_out(const TopologyFile& topology) {
    if (!fan_out_) return false;  // there is a complaint about it
    parents_.assign(1, 0);
    for (std::int64_t n = 1; n < static_cast<std::int64_t>(topology.nodes.size()); ++n)
      parents_.push_back(static_cast<NodeIndex>((n - 1) / *fan_out_));
    return true;
  }

  bool resolve_parents(const TopologyFile& topology, Findings& findings) {
    parents_.assign(topology.nodes.size(), kNobody);
    bool good = !pairs_.empty();
    for (const auto& [child_name, parent_name] : pairs_) {
      const std::string place = fmt::format("parents.{}", child_name);
      const auto child = known_node(topology, "parents", place, child_name, findings);
      const auto parent = known_node(topology, "parents", place, parent_name, findings);
      good = good && child && parent;
      if (child && parent) parents_[*child] = *parent;
    }
    return good && has_one_root(topology, findings) && ends_at_root(topology, findings);
  }

  bool has_one_root(const TopologyFile& topology, Findings& findings) {
    constexpr std::size_t kShown = 8;
    std::vector<std::string_view> roots;
    for (std::size_t n = 0; n < parents_.size(); ++n) {
      if (parents_[n] != kNobody) continue;
      parents_[n] = static_cast<NodeIndex>(n);
      if (roots.size() < kShown) roots.push_back(topology.nodes[n].name);
    }
    if (roots.size() <= 1) return true;
    findings.add("parents", fmt::format("nodes {} have no parent", joined(roots)),
                 "Give every node but one a parent");
    return false;
  }

  // Whether every node's way up ends at a root. Complains about the first node on a cycle.
  bool ends_at_root(const TopologyFile& topology, Findings& findings) {
    for (std::size_t n = 0; n < parents_.size(); ++n) {
      auto node = static_cast<NodeIndex>(n);
      for (std::size_t steps = 0; parents_[node] != node; ++steps) {
        node = parents_[node];
        if (steps < parents_.size()) continue;
        findings.add("parents",
                     fmt::format("node {} hangs on itself, by way of its parents",
                                 topology.nodes[node].name),
                     "Give every node but one a parent, so that all hang on that one in the end");
        return false;
      }
    }
    return true;
  }

  // Replaces the keys by `parents`, so that trees of the same meaning have the same keys.
  void write_as_parents(const TopologyFile& topology) {
    fan_out_.reset();
    sites_.clear();
    pairs_.clear();
    for (std::size_t n = 0; n < parents_.size(); ++n)
      pairs_.emplace_back(topology.nodes[n].name, topology.nodes[parents_[n]].name);
  }

  // The nodes from `node` to its root, both included.
  std::vector<NodeIndex> way_up(NodeIndex node) const {
    KIMESH_CHECK(node < parents_.size(), "the tree is resolved");
    std::vector<NodeIndex> way{node};
    while (parents_[way.back()] != way.back()) {
      way.push_back(parents_[way.back()]);
      KIMESH_CHECK(way.size() <= parents_.size(), "every way up ends at a root");
    }
    return way;
  }

  // The children of `node`; those of kNobody are the roots.
  std::vector<NodeIndex> children(NodeIndex node) const {
    std::vector<NodeIndex> result;
    for (std::size_t n = 0; n < parents_.size(); ++n) {
      const bool is_root = parents_[n] == n;
      if (is_root ? node == kNobody : parents_[n] == node)
        result.push_back(static_cast<NodeIndex>(n));
    }
    return result;
  }

  // Recurses as deep as the tree, at most kNodesMax levels.
  void draw_below(const std::vector<std::string>& names, NodeIndex node, const std::string& margin,
                  bool last, std::vector<std::string>& rows) const {
    rows.push_back(fmt::format("{}+-- {}", margin, names[node]));
    const std::vector<NodeIndex> below = children(node);
    for (const NodeIndex child : below)
      draw_below(names, child, margin + (last ? "    " : "|   "), child == below.back(), rows);
  }

  std::vector<std::pair<std::string, std::string>> pairs_;  // node and parent
  std::optional<std::int64_t> fan_out_;
  std::vector<Site> sites_;
  std::vector<NodeIndex> parents_;  // by node, once resolved; a root's is itself
};

}  // namespace

extern constinit const Kind<TopologyKind> kTree{
    "tree", "each node talks to its parent and its children; or sites with a head each",
    make_options<Tree, TopologyKind>};

}  // namespace kimesh
