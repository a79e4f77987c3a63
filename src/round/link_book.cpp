#include "link_book.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kimesh/emulation/max_min.h"
#include "kimesh/util/check.h"

namespace kimesh {

namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
// The size of a message that was carried counts for about ten messages more.
constexpr double kProvenFades = 0.9;
// A message that took longer than this proves that it was too large.
constexpr double kSlow = 1.35;
constexpr Duration kSlowBesides = std::chrono::microseconds(500);
constexpr double kProvenFalls = 0.5;
// Of the time that it took longer, its tail, scaled to all of its bytes, explains so much.
constexpr double kWireShareMin = 0.5;
// More than any message has, and few enough for a size_t.
constexpr double kBytesMax = 1e15;
}  // namespace

LinkBook::LinkBook(const Plan& plan, NodeIndex self, std::optional<double> uplink_bytes_per_s,
                   bool keeps_pace)
    : uplink_(uplink_bytes_per_s), keeps_pace_(keeps_pace) {
  for (LinkIndex link = 0; link < plan.links.size(); ++link) {
    if (plan.links[link].from != self) continue;
    if (entries_.empty()) first_ = link;
    Entry entry;
    entry.link = link;
    entry.share = uplink_.value_or(kInfinity);
    entry.report.link = link;
    entries_.push_back(entry);
  }
  found_ = SharedUplink(entries_.size());
}

LinkBook::Entry& LinkBook::entry(LinkIndex link) {
  KIMESH_CHECK(link >= first_ && link - first_ < entries_.size(), "an outgoing link of this node");
  return entries_[link - first_];
}

const LinkBook::Entry& LinkBook::entry(LinkIndex link) const {
  return const_cast<LinkBook*>(this)->entry(link);
}

// Whether the message was too large for its link. What its own node held up says nothing of the
// link, and neither does one whose receiver waited for a core: its tail was not late.
bool LinkBook::was_too_large(const LinkEstimate& estimate, const LinkSample& sample) {
  if (sample.sender_limited || sample.tail_bytes == 0 || !estimate.known()) return false;
  const double predicted_s = to_seconds(estimate.time_of(sample.bytes));
  if (sample.elapsed <= from_seconds(kSlow * predicted_s) + kSlowBesides) return false;
  const double late_s = to_seconds(sample.elapsed) - predicted_s;
  const auto tail_bytes = static_cast<double>(sample.tail_bytes);
  const double tail_late_s = to_seconds(sample.tail_time) - tail_bytes / estimate.bytes_per_s;
  return tail_late_s * static_cast<double>(sample.bytes) / tail_bytes >= kWireShareMin * late_s;
}

// Growth goes on from what was carried in time: from an overshoot it would go on to the next one.
void LinkBook::prove(Entry& e, const LinkSample& sample) {
  const bool slow = was_too_large(e.estimate, sample);
  sent_too_large_ = sent_too_large_ || slow;
  const auto bytes = static_cast<double>(sample.bytes);
  e.proven = slow ? kProvenFalls * e.proven : std::max(bytes, kProvenFades * e.proven);
  const double least = std::min(e.largest, static_cast<double>(kFirstBytesMax));
  e.largest = slow ? std::max(kProvenFalls * e.largest, least) : std::max(bytes, e.largest);
}

double LinkBook::send(LinkIndex link) {
  Entry& e = entry(link);
  const bool paced =
      keeps_pace_ && found_.is_shared() && e.estimate.known() && !e.estimate.lower_bound;
  e.paces.push_back(paced ? e.pace.of(usable_rate(context(link))) : 0);
  return e.paces.back();
}

void LinkBook::acked(LinkIndex link, const std::optional<LinkSample>& sample, TimePoint now) {
  Entry& e = entry(link);
  double pace = 0;
  if (!e.paces.empty()) {  // an ack that is one too many ends nothing
    pace = e.paces.front();
    e.paces.pop_front();
  }
  if (!sample) return;
  found_.acked(number(link), *sample, now);
  e.pace.add(*sample, pace);
  add(e, *sample);
}

void LinkBook::add(Entry& e, const LinkSample& sample) {
  prove(e, sample);
  e.sustained.add(sample);
  e.estimator.add(sample);
  e.estimate = e.estimator.estimate();
  e.unfilled = e.estimate.lower_bound ? e.unfilled + 1 : 0;
  e.report.wire += sample.elapsed;
  if (uplink_) share_uplink();
  if (!sample.sender_limited) e.steady.add(e.believed_bytes_per_s());
}

// A link whose rate is not known yet takes part without a bound, so that the others get too small a
// share until its first samples come.
void LinkBook::share_uplink() {
  std::vector<Flow> flows(entries_.size());
  std::vector<double> rates(entries_.size());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const LinkEstimate& estimate = entries_[i].estimate;
    const bool bounded = estimate.known() && !estimate.lower_bound;
    flows[i] = {bounded ? estimate.bytes_per_s : kInfinity, {0, kNoGroup}};
  }
  const double capacity[] = {*uplink_};
  max_min_shares(flows, capacity, rates);
  for (std::size_t i = 0; i < entries_.size(); ++i) entries_[i].share = rates[i];
}

double LinkBook::Entry::long_run_bytes_per_s() const {
  const double sustains = sustained.bytes_per_s();
  return sustains > 0 ? std::min(share, sustains) : share;
}

double LinkBook::Entry::believed_bytes_per_s() const {
  const double long_run = long_run_bytes_per_s();
  return estimate.is_a_guess() ? long_run : std::min(estimate.bytes_per_s, long_run);
}

// Where no limit is known yet, the steady rate is not used: messages grow until they find one.
MessageContext LinkBook::context(LinkIndex link) const {
  const Entry& e = entry(link);
  MessageContext context;
  context.link = e.estimate;
  context.link_number = number(link);
  context.share_bytes_per_s = e.long_run_bytes_per_s();
  if (holds_rates_ && e.estimate.known() && std::isfinite(context.share_bytes_per_s)) {
    const double held = std::min(e.steady.of(e.believed_bytes_per_s()), e.share);
    context.share_bytes_per_s = held;
    if (!e.estimate.is_a_guess())
      context.link.bytes_per_s = std::max(context.link.bytes_per_s, held);
  }
  context.proven_bytes = static_cast<std::size_t>(e.proven);
  context.largest_bytes = static_cast<std::size_t>(e.largest);
  context.unfilled_messages = e.unfilled;
  // A limit of 0 is none.
  context.first_rounds_bytes = static_cast<std::size_t>(std::ceil(e.limit));
  return context;
}

void LinkBook::limit_growth(double times) {
  for (Entry& e : entries_) {
    const double of = times > 1 || e.sent == 0 ? std::max(e.sent, e.limit) : e.sent;
    e.limit = std::min(times * of, kBytesMax);
  }
}

void LinkBook::add_budget(LinkIndex link, std::size_t budget_bytes) {
  Entry& e = entry(link);
  e.report.budget_bytes += budget_bytes;
}

void LinkBook::add_message(const AdvanceDone& done, const Channel& channel, std::size_t elements,
                           std::size_t bytes) {
  Entry& e = entry(channel.link);
  e.sent = std::max(e.sent, static_cast<double>(bytes));
  e.report.bytes += bytes;
  e.report.elements += elements;
  e.report.kept += done.kept;
  e.wanted += done.wanted_energy;
  e.missing += done.missing_energy;
  EnergyReport& energies = channel.phase == Phase::kReduce ? e.report.reduce : e.report.gather;
  energies.to_send += done.energy_to_send;
  energies.missing += done.missing_energy;
}

void LinkBook::add_forwarded(LinkIndex link, std::size_t elements, std::size_t bytes) {
  Entry& e = entry(link);
  e.sent = std::max(e.sent, static_cast<double>(bytes));
  LinkReport& report = e.report;
  report.bytes += bytes;
  report.elements += elements;
  report.kept += elements;
}

std::vector<LinkReport> LinkBook::take_reports() {
  found_.end_round();
  sent_too_large_ = false;
  std::vector<LinkReport> reports;
  reports.reserve(entries_.size());
  for (Entry& e : entries_) {
    e.report.bytes_per_s = e.estimate.bytes_per_s;
    e.report.relative_error = e.estimate.relative_error;
    e.report.lower_bound = e.estimate.known() && e.estimate.lower_bound;
    e.report.fixed_cost = e.estimate.fixed_cost;
    const bool has_all = e.report.elements > 0 && e.report.kept == e.report.elements;
    e.report.gain = e.wanted > 0 ? 1 - e.missing / e.wanted : has_all ? 1 : 0;
    reports.push_back(e.report);
    e.report = {};
    e.report.link = e.link;
    e.wanted = e.missing = e.sent = 0;
  }
  return reports;
}

// Sizes become whole numbers.
bool LinkBook::Entry::is_sound() const {
  const auto is_size = [](double bytes) { return bytes >= 0 && bytes <= kBytesMax; };
  return is_size(proven) && is_size(largest) && is_size(limit);
}

void LinkBook::save(StateWriter& writer) const {
  for (const Entry& e : entries_) writer.put(e);
  writer.put(found_);
}

void LinkBook::restore(StateReader& reader) {
  for (Entry& e : entries_) {
    reader.get(e);
    e.estimate = e.estimator.estimate();
    e.paces.clear();
    e.report = {};
    e.report.link = e.link;
  }
  found_ = SharedUplink(entries_.size());
  reader.get(found_);
  reader.require(found_.links() == entries_.size());
}

LinkEstimate LinkBook::estimate(LinkIndex link) const {
  return entry(link).estimate;
}

}  // namespace kimesh
