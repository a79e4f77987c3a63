#include "fluid.h"

#include <algorithm>

#include "kimesh/util/check.h"

namespace kimesh {

namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kSecondsLeftOver =
    1e-9;  // a message that needs less has ended: seconds are rounded, too
constexpr double kBytesLeftOver = 1e-3;  // and so are bytes
}  // namespace

Fluid::Fluid(std::vector<LinkShape> links, std::vector<double> group_bytes_per_s)
    : links_(std::move(links)),
      groups_(std::move(group_bytes_per_s)),
      flows_(links_.size()),
      since_(links_.size(), 0),
      versions_(links_.size(), 0) {}

double Fluid::rate(LinkIndex link, double now) const {
  return links_[link].rate ? links_[link].rate->at(now) / 8 : kInfinity;
}

void Fluid::begin(double now, LinkIndex link, double bytes, double mark) {
  FlowState& flow = flows_[link];
  KIMESH_CHECK(!flow.active && mark <= bytes, "one message at a time on a link");
  now_ = std::max(now_, now);
  flow = {};
  flow.active = true;
  flow.left = bytes;
  flow.mark_left = mark;
  flow.mark_seconds = now_;
  since_[link] = now_;
  if (grouped(link)) {
    active_grouped_.push_back(link);
    share();
  } else {
    set_own_rate(link);
  }
}

void Fluid::cancel(double now, LinkIndex link) {
  if (!flows_[link].active) return;
  now_ = std::max(now_, now);
  flows_[link].active = false;
  ++versions_[link];
  if (grouped(link)) {
    std::erase(active_grouped_, link);
    share();
  }
}

void Fluid::progress(LinkIndex link, double now) {
  FlowState& flow = flows_[link];
  const double seconds = now - since_[link];
  if (flow.rate == kInfinity) {
    flow.left = flow.mark_left = 0;
  } else if (seconds > 0) {
    const double bytes = seconds * flow.rate;
    if (flow.mark_left > 0 && bytes >= flow.mark_left - kBytesLeftOver)
      flow.mark_seconds = since_[link] + flow.mark_left / flow.rate;
    flow.mark_left = std::max(0.0, flow.mark_left - bytes);
    flow.left = std::max(0.0, flow.left - bytes);
  }
  since_[link] = now;
}

void Fluid::schedule(LinkIndex link) {
  FlowState& flow = flows_[link];
  const double end = flow.rate == kInfinity ? since_[link]
                     : flow.rate > 0        ? since_[link] + flow.left / flow.rate
                                            : kInfinity;
  const double change =
      links_[link].rate ? links_[link].rate->next_change_after(since_[link]) : kInfinity;
  flow.event = std::min(end, change);
  heap_.push_back({flow.event, link, ++versions_[link]});
  std::push_heap(heap_.begin(), heap_.end());
}

void Fluid::set_own_rate(LinkIndex link) {
  flows_[link].rate = rate(link, since_[link]);
  schedule(link);
}

void Fluid::share() {
  std::vector<Flow> demands;
  for (LinkIndex link : active_grouped_) {
    progress(link, now_);
    demands.push_back({rate(link, now_), links_[link].groups});
  }
  std::vector<double> rates(demands.size());
  max_min_shares(demands, groups_, rates);
  for (std::size_t i = 0; i < rates.size(); ++i) {
    flows_[active_grouped_[i]].rate = rates[i];
    schedule(active_grouped_[i]);
  }
}

double Fluid::next() const {
  // Outdated entries stay in the heap until they surface; an early answer is only an empty advance.
  return heap_.empty() ? kInfinity : heap_.front().at;
}

void Fluid::advance(double now, std::vector<End>& ended) {
  while (!heap_.empty() && heap_.front().at <= now) {
    const HeapItem item = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end());
    heap_.pop_back();
    if (item.version != versions_[item.link] || !flows_[item.link].active) continue;
    now_ = std::max(now_, item.at);
    progress(item.link, now_);
    FlowState& flow = flows_[item.link];
    if (flow.left <= std::max(kBytesLeftOver, flow.rate * kSecondsLeftOver)) {
      flow.active = false;
      ++versions_[item.link];
      ended.push_back({item.link, now_, flow.mark_seconds});
      if (grouped(item.link)) {
        std::erase(active_grouped_, item.link);
        share();
      }
    } else if (grouped(item.link)) {
      share();
    } else {
      set_own_rate(item.link);
    }
  }
  now_ = std::max(now_, now);
}

}  // namespace kimesh
