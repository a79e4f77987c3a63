#include "kimesh/link/shaper.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "kimesh/bandwidth/sharing.h"
#include "kimesh/util/check.h"

namespace kimesh {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNsPerSecond = 1e9;
constexpr double kNotShared = -1;

TimePoint after(TimePoint start, double whole_ns) {
  return start + Duration(static_cast<std::int64_t>(whole_ns));
}

}  // namespace

Shaper::Shaper(std::vector<LinkSpec> links, std::optional<double> uplink_bits_per_s,
               TimePoint start)
    : start_(start) {
  if (uplink_bits_per_s) uplink_ = *uplink_bits_per_s / kNsPerSecond;
  links_.resize(links.size());
  for (std::size_t i = 0; i < links.size(); ++i) links_[i].spec = std::move(links[i]);
}

void Shaper::start_traces(TimePoint start) {
  advance_to(since_start_ns(start));
  for (LinkState& link : links_) {
    settle(link);
    link.rate = kNotShared;
  }
  start_ = after(start_, std::round(now_ns_));
  now_ns_ = 0;
  for (LinkState& link : links_) follow_trace(link, 0);
  share();
}

void Shaper::push(TimePoint now, std::size_t index, std::size_t bytes, std::uint64_t tag) {
  advance_to(since_start_ns(now));
  LinkState& link = links_.at(index);
  link.frames.push_back({bytes, tag});
  if (link.frames.size() > 1) return;
  follow_trace(link, now_ns_ / kNsPerSecond);
  begin_frame(link);
  share();
}

void Shaper::clear(TimePoint now, std::size_t index) {
  advance_to(since_start_ns(now));
  links_.at(index).frames.clear();
  links_.at(index).flights.clear();
  share();
}

void Shaper::poll(TimePoint now, std::vector<Release>& due) {
  advance_to(since_start_ns(now));
  const std::size_t first = due.size();
  for (std::size_t i = 0; i < links_.size(); ++i) {
    std::deque<Flight>& flights = links_[i].flights;
    for (; !flights.empty() && flights.front().at <= now; flights.pop_front())
      due.push_back({i, flights.front().tag, flights.front().at});
  }
  std::stable_sort(due.begin() + static_cast<std::ptrdiff_t>(first), due.end(),
                   [](const Release& a, const Release& b) { return a.at < b.at; });
}

std::optional<TimePoint> Shaper::next() const {
  std::optional<TimePoint> first;
  // Upwards: at the nanosecond before, there would be nothing to do.
  if (const double event = next_event_ns(); event < kInfinity)
    first = after(start_, std::ceil(event));
  for (const LinkState& link : links_) {
    if (link.flights.empty()) continue;
    const TimePoint at = link.flights.front().at;
    first = first ? std::min(*first, at) : at;
  }
  return first;
}

std::size_t Shaper::queued(std::size_t index) const {
  return links_.at(index).frames.size();
}

double Shaper::rate_bits_per_s(std::size_t index, TimePoint now) const {
  const LinkSpec& spec = links_.at(index).spec;
  const double uplink = uplink_ ? *uplink_ * kNsPerSecond : kInfinity;
  if (!spec.rate) return uplink;
  return std::min(uplink, spec.rate->at(std::max(to_seconds(now - start_), 0.0)));
}

double Shaper::since_start_ns(TimePoint time) const {
  return std::max(static_cast<double>((time - start_).count()), now_ns_);
}

double Shaper::next_event_ns() const {
  double next = kInfinity;
  for (const LinkState& link : links_)
    if (!link.frames.empty())
      next = std::min({next, link.leaves_ns, link.cap_ends_s * kNsPerSecond});
  return next;
}

void Shaper::advance_to(double at_ns) {
  for (double event; (event = next_event_ns()) <= at_ns;) {
    now_ns_ = std::max(now_ns_, event);
    for (LinkState& link : links_) {
      if (link.frames.empty()) continue;
      // By the trace's own second: one that went through nanoseconds may come back just short of
      // it.
      if (link.cap_ends_s * kNsPerSecond <= now_ns_) follow_trace(link, link.cap_ends_s);
      if (link.leaves_ns > now_ns_) continue;
      const TimePoint left = after(start_, std::round(now_ns_));
      link.flights.push_back({link.frames.front().tag, left + link.spec.delay});
      link.frames.pop_front();
      if (!link.frames.empty()) begin_frame(link);
    }
    share();
  }
  now_ns_ = at_ns;
}

void Shaper::follow_trace(LinkState& link, double seconds) {
  link.cap = link.cap_ends_s = kInfinity;
  if (!link.spec.rate) return;
  link.cap = link.spec.rate->at(seconds) / kNsPerSecond;
  link.cap_ends_s = link.spec.rate->next_change_after(seconds);
}

void Shaper::begin_frame(LinkState& link) {
  link.bits_left = 8.0 * static_cast<double>(link.frames.front().bytes);
  link.rate = kNotShared;
}

// Gives every first frame its rate from now on.
void Shaper::share() {
  std::vector<Flow> flows;
  std::vector<LinkState*> active;
  for (LinkState& link : links_) {
    if (link.frames.empty()) continue;
    flows.push_back({link.cap, {uplink_ ? 0 : kNoGroup, kNoGroup}});
    active.push_back(&link);
  }
  std::vector<double> rates(flows.size());
  const double uplink = uplink_.value_or(kInfinity);
  max_min_shares(flows, {&uplink, 1}, rates);
  for (std::size_t i = 0; i < active.size(); ++i) set_rate(*active[i], rates[i]);
}

// What has left since its rate was set has left.
void Shaper::settle(LinkState& link) const {
  if (link.rate > 0 && now_ns_ > link.since_ns)
    link.bits_left = std::max(link.bits_left - link.rate * (now_ns_ - link.since_ns), 0.0);
}

void Shaper::set_rate(LinkState& link, double rate) {
  if (rate == link.rate) return;
  settle(link);
  link.since_ns = now_ns_;
  link.rate = rate;
  link.leaves_ns = link.bits_left > 0 ? now_ns_ + link.bits_left / rate : now_ns_;
}

}  // namespace kimesh
