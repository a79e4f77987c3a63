// Whole meshes of Vectors, driven by hand through the trees of a plan, hop by hop: what the cores
// will order, without cores.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "kimesh/topology/plan.h"
#include "kimesh/vectors/vectors.h"
#include "tests/settings.h"

namespace kimesh {

inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

inline Plan plan_of(const std::string& kind, std::size_t nodes, std::vector<NodeIndex> servers,
                    std::vector<std::int64_t> rows) {
  TopologyFile topology;
  topology.kind = topology_kinds().make(kind);
  for (std::size_t n = 0; n < nodes; ++n) {
    NodeSpec spec;
    spec.name = std::string(1, static_cast<char>('a' + n));
    topology.nodes.push_back(spec);
  }
  topology.servers = std::move(servers);
  Layout layout;
  std::size_t offset = 0;
  for (const std::int64_t row : rows) {
    const auto size = static_cast<std::size_t>(row);
    layout.layers.push_back({"layer" + std::to_string(layout.layers.size()), {row}, offset, size});
    offset += size;
  }
  auto plan = make_plan(topology, layout);
  EXPECT_TRUE(plan.ok());
  return std::move(*plan);
}

class Mesh {
 public:
  // Called with the channel after each message that both ends have applied.
  using Watch = std::function<void(ChannelIndex, const AdvanceDone&, std::uint64_t far_digest)>;

  Mesh(const Plan& plan, const std::vector<VectorsOptions>& options)
      : plan_(plan),
        owners_send_to_themselves_(options.at(0).keeps_estimates && options[0].one_point) {
    for (std::size_t n = 0; n < options.size(); ++n)
      nodes.emplace_back(plan, static_cast<NodeIndex>(n), options[n]);
  }

  void reduce(Round round, const Setting& setting, bool restart = false) {
    for (ShardIndex s = 0; s < plan_.shards.size(); ++s) {
      for (const Hop& hop : hops_of(plan_, s, Phase::kReduce))
        send(hop.channel, reduce_terms(s, plan_.link_of(hop.channel).from),
             {BufferId::Kind::kEstimate, hop.channel}, round, setting, restart);
      const NodeIndex owner = plan_.shards[s].owner;
      const auto terms = reduce_terms(s, owner);
      (void)nodes[owner].step({s, round, terms, false});
    }
  }

  void gather(Round round, const Setting& setting, bool restart = false) {
    for (ShardIndex s = 0; s < plan_.shards.size(); ++s)
      for (const Hop& hop : hops_of(plan_, s, Phase::kGather)) {
        const bool from_owner = plan_.link_of(hop.channel).from == plan_.shards[s].owner;
        const BufferId source{from_owner ? BufferId::Kind::kOwned : BufferId::Kind::kParameters, s};
        send(hop.channel, {source}, gather_estimate(hop.channel), round, setting, restart);
      }
  }

  // The owner's w[s] stands for the estimate of its first child, unless it is x[s].
  [[nodiscard]] BufferId gather_estimate(ChannelIndex channel) const {
    const ShardIndex s = plan_.channels[channel].shard;
    const NodeChannels& owner = plan_.node_channels[s][plan_.shards[s].owner];
    const bool leads = owners_send_to_themselves_ && channel == owner.gather_out.front();
    return leads ? BufferId{BufferId::Kind::kParameters, s}
                 : BufferId{BufferId::Kind::kEstimate, channel};
  }

  [[nodiscard]] std::vector<BufferId> reduce_terms(ShardIndex shard, NodeIndex node) const {
    std::vector<BufferId> terms{{BufferId::Kind::kContribution, shard}};
    for (const ChannelIndex child : plan_.node_channels[shard][node].reduce_in)
      terms.push_back({BufferId::Kind::kEstimate, child});
    return terms;
  }

  std::vector<Vectors> nodes;
  Watch watch = [](ChannelIndex, const AdvanceDone&, std::uint64_t) {};

 private:
  void send(ChannelIndex channel, const std::vector<BufferId>& terms, BufferId estimate,
            Round round, Setting setting, bool restart) {
    const Link& link = plan_.link_of(channel);
    const ShardIndex shard = plan_.channels[channel].shard;
    const bool to_parameters = plan_.channels[channel].phase == Phase::kGather;
    const auto size = static_cast<std::uint32_t>(plan_.shards[shard].size);
    if (setting.budget.kind == Budget::Kind::kKeep)
      setting.budget = Budget::keep(std::min(setting.budget.elements(), size));
    auto made = nodes[link.from].advance({channel, round, terms, estimate, setting, restart, true});
    ASSERT_TRUE(made.ok()) << made.error().message;
    const BufferId held = to_parameters ? BufferId{BufferId::Kind::kParameters, shard}
                                        : BufferId{BufferId::Kind::kEstimate, channel};
    ApplyMessage message{channel, round, held, made->form, restart, true, std::move(made->payload)};
    auto digest = nodes[link.to].apply(message);
    made->payload = std::move(message.payload);
    ASSERT_TRUE(digest.ok()) << digest.error().message;
    watch(channel, *made, *digest);
  }

  const Plan& plan_;
  const bool owners_send_to_themselves_;
};

}  // namespace kimesh
