#include "kimesh/emulation/fluid_links.h"

#include <algorithm>

#include "kimesh/util/check.h"

namespace kimesh {
namespace {

constexpr double kNoRateYet = -1;

}  // namespace

FluidLinks::FluidLinks(std::vector<Link> links, const std::vector<Group>& groups,
                       double time_units_per_s)
    : links_(std::move(links)), units_per_s_(time_units_per_s), states_(links_.size()) {
  for (const Group& group : groups)
    groups_.push_back({group.bits_per_s / units_per_s_, group.bucket_bits, group.bucket_bits});
  for (std::size_t link = 0; link < links_.size(); ++link)
    states_[link].tokens = links_[link].rate ? links_[link].bucket_bits : 0;
}

double FluidLinks::trace_seconds(double now) const {
  return std::max(now - trace_start_, 0.0) / units_per_s_;
}

double FluidLinks::own_rate_bits_per_s(std::size_t link, double now) const {
  const auto& rate = links_.at(link).rate;
  return rate ? rate->at(trace_seconds(now)) : kInfinity;
}

void FluidLinks::begin(double now, std::size_t link, double bits, double mark_bits,
                       Flowing flowing) {
  KIMESH_CHECK(flowing.weight > 0 && flowing.bits_per_s > 0, "a flow takes part in what is shared");
  State& state = states_.at(link);
  KIMESH_CHECK(!state.sending && mark_bits <= bits, "one transmission at a time on a link");
  now_ = std::max(now_, now);
  count_tokens(link);
  state.sending = true;
  state.left = bits;
  state.mark_left = mark_bits;
  state.mark_at = now_;
  state.rate = kNoRateYet;
  state.weight = flowing.weight;
  state.pace = flowing.bits_per_s / units_per_s_;
  follow_trace(link, trace_seconds(now_));
  shared(link) ? sending_shared_.push_back(link) : send_burst(state);
  share_out(link);
}

void FluidLinks::set_capacity(double now, std::uint32_t group, double bits_per_s) {
  now_ = std::max(now_, now);
  count_tokens(groups_.at(group));
  groups_[group].rate = bits_per_s / units_per_s_;
  share_groups();
}

void FluidLinks::cancel(double now, std::size_t link) {
  if (!states_.at(link).sending) return;
  now_ = std::max(now_, now);
  stop(link);
}

double FluidLinks::left_bits(double now, std::size_t link) const {
  const State& state = states_.at(link);
  if (!state.sending) return 0;
  if (now <= state.since) return state.left;
  return std::max(state.left - std::max(state.rate, 0.0) * (now - state.since), 0.0);
}

void FluidLinks::restart_traces(double now) {
  now_ = std::max(now_, now);
  for (std::size_t link = 0; link < links_.size(); ++link) count_tokens(link);
  trace_start_ = now_;
  for (std::size_t link = 0; link < links_.size(); ++link) {
    if (!states_[link].sending) continue;
    follow_trace(link, 0);
    if (!shared(link)) set_rate(link, states_[link].own_rate);
  }
  share_groups();
}

void FluidLinks::stop(std::size_t link) {
  count_tokens(link);
  states_[link].sending = false;
  states_[link].event_at = kInfinity;
  ++states_[link].version;
  if (shared(link)) {
    std::erase(sending_shared_, link);
    share_groups();
  }
  drop_void_events();
}

void FluidLinks::follow_trace(std::size_t link, double seconds) {
  const auto& rate = links_[link].rate;
  State& state = states_[link];
  state.own_rate = rate ? rate->at(seconds) / units_per_s_ : kInfinity;
  state.change_s = rate ? rate->next_change_after(seconds) : kInfinity;
}

// What an idle link's trace has put into its bucket.
double FluidLinks::tokens_saved_since(const State& state, const Link& link) const {
  double saved = 0, seconds = trace_seconds(state.tokens_at);
  const double end = trace_seconds(now_);
  while (seconds < end && saved < link.bucket_bits) {
    const double step = std::min(link.rate->next_change_after(seconds), end);
    saved += link.rate->at(seconds) * (step - seconds);
    seconds = step;
  }
  return saved;
}

// Brings the bucket up to now. Call it before the link begins, ends or changes a rate.
void FluidLinks::count_tokens(std::size_t index) {
  State& state = states_[index];
  const Link& link = links_[index];
  if (!link.rate || link.bucket_bits <= 0) return;
  if (state.empty_at <= now_) {
    state.tokens = 0;
  } else {
    const double saved =
        state.sending ? (state.own_rate - std::max(state.rate, 0.0)) * (now_ - state.tokens_at)
                      : tokens_saved_since(state, link);
    state.tokens = std::clamp(state.tokens + saved, 0.0, link.bucket_bits);
  }
  state.tokens_at = now_;
  state.empty_at = kInfinity;
}

// What the link itself allows.
double FluidLinks::cap(const State& state) const {
  return std::min(state.pace, state.tokens > 0 ? kInfinity : state.own_rate);
}

// Nothing bounds an unshared link while its bucket holds tokens: they leave at once.
void FluidLinks::send_burst(State& state) const {
  const double burst = std::min(state.tokens, state.left);
  state.tokens -= burst;
  state.left -= burst;
  state.mark_left = std::max(state.mark_left - burst, 0.0);
}

// Subtracts the bits that have left since the rate was set.
void FluidLinks::settle(State& state) const {
  if (state.rate <= 0 || now_ <= state.since) return;
  const double sent = state.rate * (now_ - state.since);
  state.left = std::max(state.left - sent, 0.0);
  state.mark_left = std::max(state.mark_left - sent, 0.0);
}

void FluidLinks::set_rate(std::size_t link, double rate) {
  State& state = states_[link];
  count_tokens(link);
  if (rate != state.rate) {
    settle(state);
    state.since = now_;
    state.rate = rate;
    state.ends_at = state.left > 0 ? now_ + state.left / rate : now_;
    if (state.mark_left > 0) state.mark_at = now_ + state.mark_left / rate;
  }
  if (state.tokens > 0 && rate > state.own_rate && shared(link))
    state.empty_at = now_ + state.tokens / (rate - state.own_rate);
  schedule(link);
}

void FluidLinks::schedule(std::size_t link) {
  State& state = states_[link];
  const double change_at = trace_start_ + state.change_s * units_per_s_;
  const double at = std::min({state.ends_at, change_at, state.empty_at});
  if (at == state.event_at) return;
  state.event_at = at;
  ++state.version;
  if (at < kInfinity) {
    events_.push_back({at, link, state.version});
    std::push_heap(events_.begin(), events_.end());
  }
  drop_void_events();
}

void FluidLinks::share_out(std::size_t link) {
  if (shared(link))
    share_groups();
  else
    set_rate(link, states_[link].own_rate);
}

// Brings a group's bucket up to now.
void FluidLinks::count_tokens(Shared& group) const {
  const double saved = (group.rate - group.used) * (now_ - group.tokens_at);
  group.tokens = group.empty_at <= now_ ? 0 : std::clamp(group.tokens + saved, 0.0, group.bucket);
  group.tokens_at = now_;
}

double FluidLinks::next_empty_group() const {
  double first = kInfinity;
  for (const Shared& group : groups_) first = std::min(first, group.empty_at);
  return first;
}

void FluidLinks::share_groups() {
  std::vector<double> capacities;
  for (Shared& group : groups_) {
    count_tokens(group);
    group.used = 0;
    capacities.push_back(group.tokens > 0 ? std::max(kLineBitsPerS / units_per_s_, group.rate)
                                          : group.rate);
  }
  std::vector<Flow> flows;
  flows.reserve(sending_shared_.size());
  for (const std::size_t link : sending_shared_) {
    count_tokens(link);
    flows.push_back({cap(states_[link]), links_[link].groups, states_[link].weight});
  }
  std::vector<double> rates(flows.size());
  max_min_shares(flows, capacities, rates);
  for (std::size_t i = 0; i < rates.size(); ++i) {
    for (const std::uint32_t group : flows[i].groups)
      if (group != kNoGroup) groups_[group].used += rates[i];
    set_rate(sending_shared_[i], rates[i]);
  }
  for (Shared& group : groups_)
    group.empty_at = group.tokens > 0 && group.used > group.rate
                         ? now_ + group.tokens / (group.used - group.rate)
                         : kInfinity;
}

void FluidLinks::drop_void_events() {
  while (!events_.empty() && events_.front().version != states_[events_.front().link].version) {
    std::pop_heap(events_.begin(), events_.end());
    events_.pop_back();
  }
}

double FluidLinks::next() const {
  return std::min(events_.empty() ? kInfinity : events_.front().at, next_empty_group());
}

void FluidLinks::advance(double now, std::vector<End>& ended) {
  while (next() <= now) {
    if (const double empty_at = next_empty_group();
        events_.empty() || empty_at < events_.front().at) {
      now_ = std::max(now_, empty_at);
      share_groups();
      continue;
    }
    const Event event = events_.front();
    now_ = std::max(now_, event.at);
    State& state = states_[event.link];
    count_tokens(event.link);
    // The change is compared in the trace's own seconds: a conversion to another unit and back may
    // fall just short.
    if (trace_start_ + state.change_s * units_per_s_ <= now_)
      follow_trace(event.link, state.change_s);
    if (state.ends_at <= now_) {
      ended.push_back({event.link, now_, state.mark_at});
      stop(event.link);
    } else {
      share_out(event.link);
    }
  }
  now_ = std::max(now_, now);
}

}  // namespace kimesh
