#include "kimesh/emulation/shaper.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace kimesh {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNsPerSecond = 1e9;
// Nobody waits for events after this (31 years). On a link of next to no rate a frame would end
// later than 64 bits of nanoseconds can tell.
constexpr double kNever = 1e18;
constexpr double kBitsPerByte = 8;

FluidLinks fluid_of(const std::vector<LinkSpec>& specs, std::optional<double> uplink) {
  std::vector<FluidLinks::Link> links;
  for (const LinkSpec& spec : specs)
    links.push_back({spec.rate,
                     {uplink ? 0 : kNoGroup, kNoGroup},
                     kBitsPerByte * static_cast<double>(spec.bucket_bytes)});
  return {std::move(links),
          uplink ? std::vector{FluidLinks::Group{*uplink}} : std::vector<FluidLinks::Group>{},
          kNsPerSecond};
}

}  // namespace

Shaper::Shaper(std::vector<LinkSpec> links, std::optional<double> uplink_bits_per_s,
               TimePoint start)
    : specs_(std::move(links)),
      queues_(specs_.size()),
      fluid_(fluid_of(specs_, uplink_bits_per_s)),
      uplink_bits_per_s_(uplink_bits_per_s),
      start_(start) {}

void Shaper::start_traces(TimePoint start) {
  advance_to(since_start_ns(start));
  fluid_.restart_traces(now_ns_);
}

void Shaper::push(TimePoint now, std::size_t index, std::size_t bytes, std::uint64_t tag) {
  advance_to(since_start_ns(now));
  queues_.at(index).frames.push_back({bytes, tag});
  if (queues_[index].frames.size() == 1) begin_frame(index);
}

void Shaper::clear(TimePoint now, std::size_t index) {
  advance_to(since_start_ns(now));
  queues_.at(index) = {};
  fluid_.cancel(now_ns_, index);
}

void Shaper::take_due(TimePoint now, std::vector<Release>& due) {
  advance_to(since_start_ns(now));
  const std::size_t first = due.size();
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    std::deque<Flight>& flights = queues_[i].flights;
    for (; !flights.empty() && flights.front().at <= now; flights.pop_front())
      due.push_back({i, flights.front().tag, flights.front().at});
  }
  std::stable_sort(due.begin() + static_cast<std::ptrdiff_t>(first), due.end(),
                   [](const Release& a, const Release& b) { return a.at < b.at; });
}

std::optional<TimePoint> Shaper::next() const {
  std::optional<TimePoint> first;
  // The time is rounded up: at the nanosecond before, there would be no work.
  if (const double event = fluid_.next(); event < kNever) first = at(std::ceil(event));
  for (const Queue& queue : queues_) {
    if (queue.flights.empty()) continue;
    const TimePoint arrival = queue.flights.front().at;
    first = first ? std::min(*first, arrival) : arrival;
  }
  return first;
}

std::size_t Shaper::queued(TimePoint now, std::size_t index) {
  advance_to(since_start_ns(now));
  return queues_.at(index).frames.size();
}

double Shaper::rate_bits_per_s(std::size_t index, TimePoint now) const {
  const double own = fluid_.own_rate_bits_per_s(index, static_cast<double>((now - start_).count()));
  return std::min(own, uplink_bits_per_s_.value_or(kInfinity));
}

double Shaper::since_start_ns(TimePoint time) const {
  return std::max(static_cast<double>((time - start_).count()), now_ns_);
}

TimePoint Shaper::at(double whole_ns) const {
  return start_ + Duration(static_cast<std::int64_t>(whole_ns));
}

// Advances event by event, so that the next frame of a link begins at the very time at which the
// previous one left.
void Shaper::advance_to(double at_ns) {
  for (double event; (event = fluid_.next()) <= at_ns;) {
    now_ns_ = std::max(now_ns_, event);
    ended_.clear();
    fluid_.advance(now_ns_, ended_);
    for (const FluidLinks::End& end : ended_) {
      Queue& queue = queues_[end.link];
      const TimePoint left = at(std::round(end.at));
      queue.flights.push_back({queue.frames.front().tag, left + specs_[end.link].delay});
      queue.frames.pop_front();
      if (!queue.frames.empty()) begin_frame(end.link);
    }
  }
  now_ns_ = at_ns;
}

void Shaper::begin_frame(std::size_t index) {
  fluid_.begin(now_ns_, index,
               kBitsPerByte * static_cast<double>(queues_[index].frames.front().bytes));
}

}  // namespace kimesh
