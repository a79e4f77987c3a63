#include "kimesh/emulation/fluid_links.h"

#include <algorithm>

#include "kimesh/util/check.h"

namespace kimesh {
namespace {

constexpr double kNoRateYet = -1;

}  // namespace

FluidLinks::FluidLinks(std::vector<Link> links, const std::vector<double>& group_bits_per_s,
                       double time_units_per_s)
    : links_(std::move(links)), units_per_s_(time_units_per_s), states_(links_.size()) {
  for (const double rate : group_bits_per_s) groups_.push_back(rate / units_per_s_);
}

double FluidLinks::trace_seconds(double now) const {
  return std::max(now - trace_start_, 0.0) / units_per_s_;
}

double FluidLinks::own_rate_bits_per_s(std::size_t link, double now) const {
  const auto& rate = links_.at(link).rate;
  return rate ? rate->at(trace_seconds(now)) : kInfinity;
}

void FluidLinks::begin(double now, std::size_t link, double bits, double mark_bits) {
  State& state = states_.at(link);
  KIMESH_CHECK(!state.sending && mark_bits <= bits, "one transmission at a time on a link");
  now_ = std::max(now_, now);
  state.sending = true;
  state.left = bits;
  state.mark_left = mark_bits;
  state.mark_at = now_;
  state.rate = kNoRateYet;
  follow_trace(link, trace_seconds(now_));
  if (shared(link)) sending_shared_.push_back(link);
  share_out(link);
}

void FluidLinks::cancel(double now, std::size_t link) {
  if (!states_.at(link).sending) return;
  now_ = std::max(now_, now);
  stop(link);
}

void FluidLinks::restart_traces(double now) {
  now_ = trace_start_ = std::max(now_, now);
  for (std::size_t link = 0; link < links_.size(); ++link) {
    if (!states_[link].sending) continue;
    follow_trace(link, 0);
    if (!shared(link)) set_rate(link, states_[link].own_rate);
  }
  share_groups();
}

void FluidLinks::stop(std::size_t link) {
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

// Subtracts the bits that have left since the rate was set.
void FluidLinks::settle(State& state) const {
  if (state.rate <= 0 || now_ <= state.since) return;
  const double sent = state.rate * (now_ - state.since);
  state.left = std::max(state.left - sent, 0.0);
  state.mark_left = std::max(state.mark_left - sent, 0.0);
}

void FluidLinks::set_rate(std::size_t link, double rate) {
  State& state = states_[link];
  if (rate != state.rate) {
    settle(state);
    state.since = now_;
    state.rate = rate;
    state.ends_at = state.left > 0 ? now_ + state.left / rate : now_;
    if (state.mark_left > 0) state.mark_at = now_ + state.mark_left / rate;
  }
  schedule(link);
}

void FluidLinks::schedule(std::size_t link) {
  State& state = states_[link];
  const double change_at = trace_start_ + state.change_s * units_per_s_;
  const double at = std::min(state.ends_at, change_at);
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

void FluidLinks::share_groups() {
  std::vector<Flow> flows;
  flows.reserve(sending_shared_.size());
  for (const std::size_t link : sending_shared_)
    flows.push_back({states_[link].own_rate, links_[link].groups});
  std::vector<double> rates(flows.size());
  max_min_shares(flows, groups_, rates);
  for (std::size_t i = 0; i < rates.size(); ++i) set_rate(sending_shared_[i], rates[i]);
}

void FluidLinks::drop_void_events() {
  while (!events_.empty() && events_.front().version != states_[events_.front().link].version) {
    std::pop_heap(events_.begin(), events_.end());
    events_.pop_back();
  }
}

double FluidLinks::next() const {
  return events_.empty() ? kInfinity : events_.front().at;
}

void FluidLinks::advance(double now, std::vector<End>& ended) {
  while (next() <= now) {
    const Event event = events_.front();
    now_ = std::max(now_, event.at);
    State& state = states_[event.link];
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
