// The plan as text for people. Every link and transfer is listed; only the picture is shortened.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "cuts.h"
#include "kimesh/topology/plan.h"
#include "kimesh/util/units.h"

namespace kimesh {
namespace {

constexpr std::size_t kSlicesMax = 6;  // layers named per shard

std::string plural(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string describe_emulation(const LinkSpec& spec) {
  std::vector<std::string> parts;
  if (spec.rate) {
    const auto rate = &RateTrace::Step::bits_per_s;
    const auto [low, high] = std::ranges::minmax(spec.rate->steps, {}, rate);
    parts.push_back(format_rate(low.bits_per_s));
    if (high.bits_per_s > low.bits_per_s) parts.back() += " to " + format_rate(high.bits_per_s);
  }
  if (spec.bucket_bytes > 0)
    parts.push_back(
        fmt::format("a bucket of {}", format_bytes(static_cast<double>(spec.bucket_bytes))));
  if (spec.delay > Duration{0}) parts.push_back(format_duration(spec.delay) + " of delay");
  return parts.empty() ? "" : fmt::format("emulated: {}", fmt::join(parts, ", "));
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

// "a -> b", padded to the widest name on both sides so that what follows is aligned.
std::string arrow(const Plan& plan, const Link& link) {
  const auto width = std::ranges::max(plan.view.nodes, {}, &std::string::size).size();
  const std::vector<std::string>& names = plan.view.nodes;
  return fmt::format("{:<{}} -> {:<{}}", names[link.from], width, names[link.to], width);
}

std::string draw_links(const Plan& plan, const TopologyFile& topology) {
  std::vector<unsigned> reduce(plan.links.size()), gather(plan.links.size());
  for (const Channel& channel : plan.channels)
    ++(channel.phase == Phase::kReduce ? reduce : gather)[channel.link];

  std::string text = "links, with their messages in each phase of a round\n";
  for (std::size_t i = 0; i < plan.links.size(); ++i) {
    const Link& link = plan.links[i];
    text +=
        trimmed(fmt::format("  {}   reduce {:>2}, gather {:>2}   {}", arrow(plan, link), reduce[i],
                            gather[i], describe_emulation(topology.link(link.from, link.to))));
  }
  return text;
}

std::string describe_slice(const Plan& plan, const Shard& shard, const LayerSlice& slice) {
  const LayoutLayer& layer = plan.layout.layers[slice.layer];
  const std::string name = layer.name.empty() ? "the vector" : layer.name;
  if (slice.size == layer.size) return name;
  const std::size_t row = layer.row_size();
  const std::size_t first = (shard.begin + slice.offset - layer.offset) / row;
  const std::size_t count = slice.size / row;
  const std::string rows = count == 1 ? fmt::format("row {}", first)
                                      : fmt::format("rows {} to {}", first, first + count - 1);
  return fmt::format("{} {} of {}", name, rows, layer.size / layer.row_size());
}

std::string describe_contents(const Plan& plan, const Shard& shard) {
  std::string text = fmt::format("  {}, {} dense:", plural(shard.size, "element"),
                                 format_bytes(4.0 * static_cast<double>(shard.size)));
  const std::size_t shown = std::min(shard.layers.size(), kSlicesMax);
  for (std::size_t i = 0; i < shown; ++i)
    text += (i == 0 ? " " : ", ") + describe_slice(plan, shard, shard.layers[i]);
  if (shown < shard.layers.size())
    text += fmt::format(" and {}", plural(shard.layers.size() - shown, "more layer"));
  return text + "\n";
}

std::string draw_reduce(const Plan& plan, ShardIndex shard) {
  std::string text;
  std::vector<std::size_t> joined(plan.view.nodes.size(), 1);  // nodes whose gradients a sum holds
  for (const Hop& hop : hops_of(plan, shard, Phase::kReduce)) {
    const Link& link = plan.link_of(hop.channel);
    const std::size_t count = joined[link.from];
    joined[link.to] += count;
    text += fmt::format("  reduce {:>3}   {}   gradient{} of {}\n", hop.number, arrow(plan, link),
                        count == 1 ? "" : "s", plural(count, "node"));
  }
  return text;
}

std::string draw_gather(const Plan& plan, ShardIndex shard) {
  std::string text;
  for (const Hop& hop : hops_of(plan, shard, Phase::kGather))
    text += fmt::format("  gather {:>3}   {}   parameters\n", hop.number,
                        arrow(plan, plan.link_of(hop.channel)));
  return text;
}

// The shards from `first` up to `last`, exclusive, as one.
Shard joined(const Plan& plan, std::size_t first, std::size_t last) {
  const Shard &front = plan.shards[first], &back = plan.shards[last - 1];
  const std::size_t size = back.begin + back.size - front.begin;
  return {front.owner, front.begin, size, slices(plan.layout, front.begin, size)};
}

// Draws the shards from `first` up to `last`, exclusive. They have one owner and the same trees.
std::string draw_shards(const Plan& plan, std::size_t first, std::size_t last, bool layout_known) {
  const auto index = static_cast<ShardIndex>(first);
  const std::string which = last - first == 1 ? fmt::format("shard {}", first)
                                              : fmt::format("shards {} to {}", first, last - 1);
  return fmt::format("{}, owned by {}\n{}{}{}", which, plan.view.nodes[plan.shards[first].owner],
                     layout_known ? describe_contents(plan, joined(plan, first, last)) : "",
                     draw_reduce(plan, index), draw_gather(plan, index));
}

std::string headline(const Plan& plan, const TopologyKind& kind) {
  return fmt::format("{}: {}, {}, {}, {} a round\n", kind.kind_name(),
                     plural(plan.view.nodes.size(), "node"), plural(plan.shards.size(), "shard"),
                     plural(plan.links.size(), "link"), plural(plan.hops, "hop"));
}

}  // namespace

std::string draw_plan(const Plan& plan, const TopologyFile& topology, bool layout_known) {
  std::string text = fmt::format("{}\n{}\n{}", headline(plan, *topology.kind),
                                 topology.kind->picture(topology), draw_links(plan, topology));
  for (std::size_t first = 0, last = 0; first < plan.shards.size(); first = last) {
    while (last < plan.shards.size() && plan.shards[last].owner == plan.shards[first].owner) ++last;
    text += fmt::format("\n{}", draw_shards(plan, first, last, layout_known));
  }
  return text;
}

}  // namespace kimesh
