#include "kimesh/topology/plan.h"

#include <algorithm>
#include <functional>
#include <tuple>

#include "cuts.h"
#include "kimesh/util/check.h"
#include "slots.h"

namespace kimesh {
namespace {

// A channel whose link has no number yet.
struct Transfer {
  NodeIndex from, to;
  Phase phase;
  ShardIndex shard;
  auto operator<=>(const Transfer&) const = default;  // the order of Plan::channels
};

// `trees` is by server. A server owns one shard, or several that follow one another.
std::vector<Transfer> transfers(const std::vector<Trees>& trees, const std::vector<Shard>& shards) {
  std::vector<Transfer> result;
  std::size_t server = 0;
  for (std::size_t s = 0; s < shards.size(); ++s) {
    const auto shard = static_cast<ShardIndex>(s);
    if (s > 0 && shards[s].owner != shards[s - 1].owner) ++server;
    const auto& [reduce_parent, gather_parent] = trees[server];
    for (std::size_t n = 0; n < reduce_parent.size(); ++n) {
      const auto node = static_cast<NodeIndex>(n);
      if (node == shards[s].owner) continue;
      result.push_back({node, reduce_parent[n], Phase::kReduce, shard});
      result.push_back({gather_parent[n], node, Phase::kGather, shard});
    }
  }
  std::ranges::sort(result);
  return result;
}

void lay_links(const std::vector<Transfer>& sorted, Plan& plan) {
  plan.channels.reserve(sorted.size());
  for (const Transfer& transfer : sorted) {
    const Link link{transfer.from, transfer.to};
    if (plan.links.empty() || plan.links.back() != link) plan.links.push_back(link);
    const auto index = static_cast<LinkIndex>(plan.links.size() - 1);
    Channel& channel = plan.channels.emplace_back();
    channel.link = index;
    channel.shard = transfer.shard;
    channel.phase = transfer.phase;
  }
}

// Channels come sorted by (from, to), so every list of a node's channels comes out in node order.
void assign_node_channels(Plan& plan) {
  plan.node_channels.assign(plan.shards.size(), std::vector<NodeChannels>(plan.view.nodes.size()));
  for (std::size_t c = 0; c < plan.channels.size(); ++c) {
    const auto index = static_cast<ChannelIndex>(c);
    const Channel& channel = plan.channels[c];
    const Link& link = plan.links[channel.link];
    NodeChannels& from = plan.node_channels[channel.shard][link.from];
    NodeChannels& to = plan.node_channels[channel.shard][link.to];
    if (channel.phase == Phase::kReduce) {
      from.reduce_out = index;
      to.reduce_in.push_back(index);
    } else {
      from.gather_out.push_back(index);
      to.gather_in = index;
    }
  }
}

// The channels of one tree in an order in which each comes after its neighbour towards the owner.
std::vector<ChannelIndex> outwards(const Plan& plan, ShardIndex shard, Phase phase) {
  const std::vector<NodeChannels>& by_node = plan.node_channels[shard];
  const bool reduce = phase == Phase::kReduce;
  const auto far_channels = [&](NodeIndex node) -> const std::vector<ChannelIndex>& {
    return reduce ? by_node[node].reduce_in : by_node[node].gather_out;
  };
  std::vector<ChannelIndex> order = far_channels(plan.shards[shard].owner);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Link& link = plan.link_of(order[i]);
    const auto& further = far_channels(reduce ? link.from : link.to);
    order.insert(order.end(), further.begin(), further.end());
    KIMESH_CHECK(order.size() < by_node.size(), "a tree has one edge less than nodes");
  }
  return order;
}

unsigned last_hop(const Plan& plan, ShardIndex shard, Phase phase) {
  const std::vector<Hop> hops = hops_of(plan, shard, phase);
  return hops.empty() ? 0 : hops.back().number;
}

unsigned longest_chain(const Plan& plan) {
  unsigned longest = 0;
  for (std::size_t s = 0; s < plan.shards.size(); ++s) {
    const auto shard = static_cast<ShardIndex>(s);
    longest = std::max(
        longest, last_hop(plan, shard, Phase::kReduce) + last_hop(plan, shard, Phase::kGather));
  }
  return longest;
}

// Fills in Channel::nodes.
void count_nodes(Plan& plan) {
  for (std::size_t s = 0; s < plan.shards.size(); ++s)
    for (const Hop& hop : hops_of(plan, static_cast<ShardIndex>(s), Phase::kReduce)) {
      unsigned& nodes = plan.channels[hop.channel].nodes;
      for (const ChannelIndex child :
           plan.node_channels[s][plan.link_of(hop.channel).from].reduce_in)
        nodes += plan.channels[child].nodes;
    }
}

// Fills in Plan::reduces_at_once and gathers_at_once.
void count_messages_at_once(Plan& plan) {
  for (NodeIndex node = 0; node < plan.view.nodes.size(); ++node) {
    unsigned reduces = 0;
    for (const std::vector<NodeChannels>& of_shard : plan.node_channels) {
      const NodeChannels& its = of_shard[node];
      reduces += its.reduce_out && its.reduce_in.empty() ? 1 : 0;
      plan.gathers_at_once =
          std::max(plan.gathers_at_once, static_cast<unsigned>(its.gather_out.size()));
    }
    plan.reduces_at_once = std::max(plan.reduces_at_once, reduces);
  }
}

// shard_weight of every server; empty where they have none.
std::vector<double> weights_of(const TopologyFile& topology) {
  std::vector<double> weights;
  for (const NodeIndex server : topology.servers)
    if (const auto& weight = topology.nodes[server].shard_weight) weights.push_back(*weight);
  return weights;
}

// Checks what load_topology promises.
void check_servers(const TopologyFile& topology) {
  const std::size_t nodes = topology.nodes.size();
  const std::vector<NodeIndex>& servers = topology.servers;
  KIMESH_CHECK(topology.kind != nullptr, "the topology has a kind");
  KIMESH_CHECK(nodes >= 2 && nodes <= kNodesMax, "a topology has 2 to kNodesMax nodes");
  KIMESH_CHECK(!servers.empty() && servers.back() < nodes, "servers are nodes of the file");
  KIMESH_CHECK(std::ranges::adjacent_find(servers, std::greater_equal<>{}) == servers.end(),
               "servers ascend and none is named twice");
}

}  // namespace

std::optional<LinkIndex> Plan::find_link(NodeIndex from, NodeIndex to) const {
  const auto place = [](const Link& link) { return std::tuple(link.from, link.to); };
  const auto found = std::ranges::lower_bound(links, std::tuple(from, to), {}, place);
  if (found == links.end() || *found != Link{from, to}) return std::nullopt;
  return static_cast<LinkIndex>(found - links.begin());
}

std::optional<ChannelIndex> Plan::find_channel(LinkIndex link, ShardIndex shard,
                                               Phase phase) const {
  const auto place = [](const Channel& c) { return std::tuple(c.link, c.phase, c.shard); };
  const std::tuple wanted(link, phase, shard);
  const auto found = std::ranges::lower_bound(channels, wanted, {}, place);
  if (found == channels.end() || place(*found) != wanted) return std::nullopt;
  return static_cast<ChannelIndex>(found - channels.begin());
}

Result<Plan> make_plan(const TopologyFile& topology, const Layout& layout,
                       std::optional<std::size_t> shard_elements_max) {
  check_servers(topology);
  Result<std::vector<Shard>> shards =
      cut_shards(layout, topology.servers, weights_of(topology), shard_elements_max);
  if (!shards) return shards.error();

  Plan plan;
  for (const NodeSpec& node : topology.nodes) plan.view.nodes.push_back(node.name);
  plan.layout = layout;
  plan.shards = std::move(*shards);
  lay_links(transfers(topology.kind->trees(topology), plan.shards), plan);
  assign_node_channels(plan);
  plan.hops = longest_chain(plan);
  count_nodes(plan);
  count_messages_at_once(plan);
  lay_slots(plan);
  return plan;
}

std::vector<Hop> hops_of(const Plan& plan, ShardIndex shard, Phase phase) {
  const std::vector<ChannelIndex> order = outwards(plan, shard, phase);
  const std::size_t nodes = plan.view.nodes.size();
  std::vector<Hop> hops;
  hops.reserve(order.size());
  // By node: the number of the last hop that ended at it. Its own messages leave one hop later.
  std::vector<unsigned> reached(nodes, 0);
  const auto take = [&](ChannelIndex channel) {
    const Link& link = plan.link_of(channel);
    const unsigned number = reached[link.from] + 1;
    reached[link.to] = std::max(reached[link.to], number);
    hops.push_back({number, channel});
  };
  if (phase == Phase::kGather)
    std::for_each(order.begin(), order.end(), take);
  else
    std::for_each(order.rbegin(), order.rend(), take);
  // Channels are numbered by sender, which orders the transfers of one hop.
  std::ranges::sort(hops, {}, [](const Hop& hop) { return std::tuple(hop.number, hop.channel); });
  return hops;
}

}  // namespace kimesh
