#include "kimesh/records/plan_json.h"

#include "json.h"

namespace kimesh {
namespace {

const std::string& name(const Plan& plan, NodeIndex node) {
  return plan.view.nodes[node];
}

Json links_json(const Plan& plan) {
  std::vector<unsigned> reduce(plan.links.size()), gather(plan.links.size());
  for (const Channel& channel : plan.channels)
    ++(channel.phase == Phase::kReduce ? reduce : gather)[channel.link];
  Json links = Json::array();
  for (std::size_t i = 0; i < plan.links.size(); ++i)
    links.push_back({{"from", name(plan, plan.links[i].from)},
                     {"to", name(plan, plan.links[i].to)},
                     {"reduce_messages", reduce[i]},
                     {"gather_messages", gather[i]}});
  return links;
}

Json hops_json(const Plan& plan, ShardIndex shard, Phase phase) {
  Json hops = Json::array();
  for (const Hop& hop : hops_of(plan, shard, phase)) {
    const Link& link = plan.link_of(hop.channel);
    hops.push_back(
        {{"hop", hop.number}, {"from", name(plan, link.from)}, {"to", name(plan, link.to)}});
  }
  return hops;
}

Json layers_json(const Plan& plan, const Shard& shard) {
  Json layers = Json::array();
  for (const LayerSlice& slice : shard.layers) {
    const LayoutLayer& layer = plan.layout.layers[slice.layer];
    layers.push_back({{"name", layer.name},
                      {"first", shard.begin + slice.offset - layer.offset},
                      {"elements", slice.size}});
  }
  return layers;
}

Json shard_json(const Plan& plan, ShardIndex index, bool layout_known) {
  const Shard& shard = plan.shards[index];
  Json json;
  json["shard"] = index;
  json["owner"] = name(plan, shard.owner);
  if (layout_known) {
    json["begin"] = shard.begin;
    json["elements"] = shard.size;
    json["layers"] = layers_json(plan, shard);
  }
  json["reduce"] = hops_json(plan, index, Phase::kReduce);
  json["gather"] = hops_json(plan, index, Phase::kGather);
  return json;
}

}  // namespace

std::string plan_json(const Plan& plan, const TopologyFile& topology, bool layout_known,
                      std::span<const Figure> figures) {
  Json json;
  json["kind"] = topology.kind->kind_name();
  json["nodes"] = plan.view.nodes;
  json["hops"] = plan.hops;
  if (layout_known) json["elements"] = plan.layout.size();
  json["links"] = links_json(plan);
  json["shards"] = Json::array();
  for (ShardIndex s = 0; s < plan.shards.size(); ++s)
    json["shards"].push_back(shard_json(plan, s, layout_known));
  for (const Figure& figure : figures)
    json["figures"].push_back({{"name", figure.name},
                               {"value", number(figure.value)},
                               {"unit", figure.unit},
                               {"runs", Json::array()}});
  return text_of(json, 2) + "\n";
}

}  // namespace kimesh
