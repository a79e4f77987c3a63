// The plan of a view: the shards and their owners, and the links along which each shard travels.
// The layers above read only the plan; only the files of the kinds know rings, trees and graphs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kimesh/topology/layout.h"
#include "kimesh/topology/topology_file.h"
#include "kimesh/util/ids.h"
#include "kimesh/util/result.h"

namespace kimesh {

// The nodes of a run, which all nodes agree on. A run has one view, number 0.
struct View {
  std::uint32_t number = 0;
  std::vector<std::string> nodes;  // NodeIndex -> name
};

// The part of one layer that a shard holds. Offsets count from the start of the shard.
struct LayerSlice {
  std::uint32_t layer = 0;  // position in Layout::layers
  std::size_t offset = 0;
  std::size_t size = 0;
};

struct Shard {
  NodeIndex owner = 0;
  std::size_t begin = 0;  // elements from the start of the flat vector
  std::size_t size = 0;   // > 0
  std::vector<LayerSlice> layers;
};

// A directed connection, from -> to.
struct Link {
  NodeIndex from = 0, to = 0;
  bool operator==(const Link&) const = default;
};

struct Channel {
  LinkIndex link = 0;
  ShardIndex shard = 0;
  Phase phase = Phase::kReduce;
  // The messages of the longest way from here to the shard's last node, this one included. Where
  // several could be sent, the one with most goes first.
  unsigned remaining = 1;
  // The messages of the longest chain that this one is on, each of which waits for the one before
  // it: in its tree, or on its link. A round of time t holds them all where each takes t / slots.
  unsigned slots = 1;
  unsigned nodes = 1;  // of a reduce: those whose sum it carries
};

// The channels of one shard that end at one node. In the reduce tree messages come from the
// children and go to the parent (none at the owner); in the gather tree they come from the parent
// (none at the owner) and go to the children. All lists are in the node order of the far side.
struct NodeChannels {
  std::vector<ChannelIndex> reduce_in;
  std::optional<ChannelIndex> reduce_out;
  std::optional<ChannelIndex> gather_in;
  std::vector<ChannelIndex> gather_out;
};

struct Plan {
  View view;
  Layout layout;
  // Contiguous; together they cover the flat vector. Messages of shard 0 carry the control vector.
  std::vector<Shard> shards;
  std::vector<Link> links;                               // sorted by (from, to)
  std::vector<Channel> channels;                         // sorted by (link, phase, shard)
  std::vector<std::vector<NodeChannels>> node_channels;  // [shard][node]
  // Messages of one shard, one after another in a round: ring 2(N-1), parameter_server 2.
  unsigned hops = 2;
  // No node then adds what others send to its own before it passes it on.
  [[nodiscard]] bool has_one_hop_each_way() const { return hops <= 2; }
  // The most that a channel has: the number of equal parts of a round's time that hold all
  // messages. At least `hops`; with one shard a server ring 2(N-1), parameter_server 2.
  unsigned slots = 2;
  // The most messages that a node makes at the same moment: reduces that wait for no child, and
  // gathers of one shard, where each child gets one of its own.
  unsigned reduces_at_once = 1, gathers_at_once = 1;

  [[nodiscard]] const Link& link_of(ChannelIndex channel) const {
    return links[channels[channel].link];
  }
  [[nodiscard]] std::size_t elements(ChannelIndex channel) const {
    return shards[channels[channel].shard].size;
  }
  [[nodiscard]] std::optional<LinkIndex> find_link(NodeIndex from, NodeIndex to) const;
  [[nodiscard]] std::optional<ChannelIndex> find_channel(LinkIndex link, ShardIndex shard,
                                                         Phase phase) const;
};

// Cuts the layout into a part for each server, as evenly (or by shard_weight) as rows of tensors
// allow, and lays the trees that the topology's kind gives (topology_kind.h). Without
// `shard_elements_max` a part is one shard. With it a part is cut into several equal shards of
// about so many elements at most, 64 a server and 1,024 in all, so that the message of one shard
// can travel while those of others are made and added. Requires a topology as load_topology reads
// it, or as set_kind() completes it. Errors: UserInput when there are more servers than rows.
[[nodiscard]] Result<Plan> make_plan(const TopologyFile& topology, const Layout& layout,
                                     std::optional<std::size_t> shard_elements_max = {});

// Text for people: the links, then for each shard the sender, receiver and content of every hop.
// `layout_known` false leaves sizes out.
[[nodiscard]] std::string draw_plan(const Plan& plan, const TopologyFile& topology,
                                    bool layout_known);

// One message on the route of a shard.
struct Hop {
  unsigned number = 0;  // from 1, within the phase; Plan::hops counts both phases
  ChannelIndex channel = 0;
};
// All hops of shard `shard` in `phase`, sorted by number, then by sender.
[[nodiscard]] std::vector<Hop> hops_of(const Plan& plan, ShardIndex shard, Phase phase);

}  // namespace kimesh
