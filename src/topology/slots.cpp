#include "slots.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <span>
#include <utility>

namespace kimesh {
namespace {

// The messages that `channel` waits for, in its tree. A view into the plan: where all of many nodes
// serve, copies would take the cube of their number.
std::span<const ChannelIndex> before(const Plan& plan, ChannelIndex channel) {
  const Channel& c = plan.channels[channel];
  const NodeChannels& here = plan.node_channels[c.shard][plan.link_of(channel).from];
  if (c.phase == Phase::kGather && here.gather_in) return {&*here.gather_in, 1};
  return here.reduce_in;
}

void count_remaining(Plan& plan, ShardIndex shard) {
  for (const Phase phase : {Phase::kGather, Phase::kReduce}) {
    const std::vector<Hop> hops = hops_of(plan, shard, phase);
    for (auto hop = hops.rbegin(); hop != hops.rend(); ++hop)
      for (const ChannelIndex earlier : before(plan, hop->channel)) {
        unsigned& remaining = plan.channels[earlier].remaining;
        remaining = std::max(remaining, plan.channels[hop->channel].remaining + 1);
      }
  }
}

class Schedule {
 public:
  explicit Schedule(const Plan& plan) : plan_(plan), queues_(plan.links.size()) {
    for (const std::vector<NodeChannels>& by_node : plan.node_channels) {
      std::vector<std::size_t>& missing = missing_.emplace_back();
      for (const NodeChannels& here : by_node) missing.push_back(here.reduce_in.size());
    }
    // All gradients are ready at once.
    for (std::size_t s = 0; s < plan.shards.size(); ++s)
      for (std::size_t n = 0; n < plan.view.nodes.size(); ++n)
        if (missing_[s][n] == 0) summed(static_cast<ShardIndex>(s), static_cast<NodeIndex>(n));
    queue_ready();
  }

  // All channels by the slot in which they are sent.
  std::vector<std::vector<ChannelIndex>> run() {
    std::vector<std::vector<ChannelIndex>> slots;
    while (waiting_ > 0) {
      std::vector<ChannelIndex>& sent = slots.emplace_back();
      for (std::deque<ChannelIndex>& queue : queues_) {
        if (queue.empty()) continue;
        sent.push_back(queue.front());
        queue.pop_front();
      }
      waiting_ -= sent.size();
      for (const ChannelIndex channel : sent) arrived(channel);
      queue_ready();
    }
    return slots;
  }

 private:
  // Called when `node` holds the sum of all nodes below it.
  void summed(ShardIndex shard, NodeIndex node) {
    const NodeChannels& here = plan_.node_channels[shard][node];
    if (here.reduce_out) return ready_.push_back(*here.reduce_out);
    ready_.insert(ready_.end(), here.gather_out.begin(), here.gather_out.end());
  }

  void arrived(ChannelIndex channel) {
    const ShardIndex shard = plan_.channels[channel].shard;
    const NodeIndex node = plan_.link_of(channel).to;
    if (plan_.channels[channel].phase == Phase::kReduce) {
      if (--missing_[shard][node] == 0) summed(shard, node);
      return;
    }
    const auto& further = plan_.node_channels[shard][node].gather_out;
    ready_.insert(ready_.end(), further.begin(), further.end());
  }

  void queue_ready() {
    std::ranges::sort(ready_, {}, [&](ChannelIndex c) {
      return std::pair(-static_cast<int>(plan_.channels[c].remaining), c);
    });
    for (const ChannelIndex c : ready_) queues_[plan_.channels[c].link].push_back(c);
    waiting_ += ready_.size();
    ready_.clear();
  }

  const Plan& plan_;
  std::vector<std::vector<std::size_t>> missing_;  // [shard][node]: children not arrived yet
  std::vector<std::deque<ChannelIndex>> queues_;   // by link
  std::vector<ChannelIndex> ready_;                // in this slot
  std::size_t waiting_ = 0;                        // in the queues
};

}  // namespace

void lay_slots(Plan& plan) {
  for (std::size_t s = 0; s < plan.shards.size(); ++s)
    count_remaining(plan, static_cast<ShardIndex>(s));
  const std::vector<std::vector<ChannelIndex>> slots = Schedule(plan).run();
  plan.slots = static_cast<unsigned>(slots.size());

  // The longest chain that ends, and that begins, with each channel.
  std::vector<unsigned> head(plan.channels.size(), 1), tail(plan.channels.size(), 1);
  std::vector<std::optional<ChannelIndex>> previous_on_link(plan.channels.size());
  std::vector<std::optional<ChannelIndex>> last(plan.links.size());
  for (const std::vector<ChannelIndex>& slot : slots)
    for (const ChannelIndex c : slot) {
      previous_on_link[c] = std::exchange(last[plan.channels[c].link], c);
      const auto follows = [&](ChannelIndex earlier) {
        head[c] = std::max(head[c], head[earlier] + 1);
      };
      std::ranges::for_each(before(plan, c), follows);
      if (previous_on_link[c]) follows(*previous_on_link[c]);
    }
  for (auto slot = slots.rbegin(); slot != slots.rend(); ++slot)
    for (const ChannelIndex c : *slot) {
      const auto leads = [&](ChannelIndex earlier) {
        tail[earlier] = std::max(tail[earlier], tail[c] + 1);
      };
      std::ranges::for_each(before(plan, c), leads);
      if (previous_on_link[c]) leads(*previous_on_link[c]);
    }
  for (std::size_t c = 0; c < plan.channels.size(); ++c)
    plan.channels[c].slots = head[c] + tail[c] - 1;
}

}  // namespace kimesh
