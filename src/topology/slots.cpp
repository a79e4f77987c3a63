#include "slots.h"

#include <algorithm>
#include <deque>

namespace kimesh {
namespace {

class Schedule {
 public:
  explicit Schedule(const Plan& plan) : plan_(plan), queues_(plan.links.size()) {
    for (const std::vector<NodeChannels>& by_node : plan.node_channels) {
      std::vector<std::size_t>& missing = missing_.emplace_back();
      for (const NodeChannels& here : by_node) missing.push_back(here.reduce_in.size());
    }
    // All gradients are ready at once, shard by shard.
    for (std::size_t s = 0; s < plan.shards.size(); ++s)
      for (std::size_t n = 0; n < plan.view.nodes.size(); ++n)
        if (missing_[s][n] == 0) summed(static_cast<ShardIndex>(s), static_cast<NodeIndex>(n));
  }

  unsigned run() {
    unsigned slots = 0;
    for (; waiting_ > 0; ++slots) {
      std::vector<ChannelIndex> sent;
      for (std::deque<ChannelIndex>& queue : queues_) {
        if (queue.empty()) continue;
        sent.push_back(queue.front());
        queue.pop_front();
      }
      waiting_ -= sent.size();
      std::ranges::sort(sent, {}, [&](ChannelIndex c) { return plan_.channels[c].shard; });
      for (const ChannelIndex channel : sent) arrived(channel);
    }
    return slots;
  }

 private:
  void ready(ChannelIndex channel) {
    queues_[plan_.channels[channel].link].push_back(channel);
    ++waiting_;
  }

  // Called when `node` holds the sum of all nodes below it.
  void summed(ShardIndex shard, NodeIndex node) {
    const NodeChannels& here = plan_.node_channels[shard][node];
    if (here.reduce_out) return ready(*here.reduce_out);
    for (const ChannelIndex channel : here.gather_out) ready(channel);
  }

  void arrived(ChannelIndex channel) {
    const ShardIndex shard = plan_.channels[channel].shard;
    const NodeIndex node = plan_.link_of(channel).to;
    if (plan_.channels[channel].phase == Phase::kReduce) {
      if (--missing_[shard][node] == 0) summed(shard, node);
      return;
    }
    for (const ChannelIndex further : plan_.node_channels[shard][node].gather_out) ready(further);
  }

  const Plan& plan_;
  std::vector<std::vector<std::size_t>> missing_;  // [shard][node]: children not arrived yet
  std::vector<std::deque<ChannelIndex>> queues_;   // by link
  std::size_t waiting_ = 0;
};

}  // namespace

unsigned count_slots(const Plan& plan) {
  return Schedule(plan).run();
}

}  // namespace kimesh
