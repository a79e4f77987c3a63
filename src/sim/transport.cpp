// Links of the simulator: they carry one message at a time, keep it until its ack, go on behind the
// chunks that have come after a cut, and deliver it once.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kimesh/util/check.h"
#include "kimesh/util/random.h"
#include "kimesh/wire/frame.h"
#include "state.h"

namespace kimesh {

void Simulator::State::send(SendMessage action) {
  LinkState& link = links[action.link];
  SentMessage sent;
  sent.message = std::move(action.message);
  sent.pace_bytes_per_s = action.pace_bytes_per_s;
  sent.sequence = ++link.sequence;
  const Message& message = sent.message;
  const std::size_t whole = message_bytes(message.payload.size(), optional_bytes(message));
  sent.chunks = static_cast<std::uint16_t>(chunk_count(whole));
  sent.bytes = wire_bytes(whole, sent.chunks);
  link.unacked.push_back(std::move(sent));
  begin_next(action.link, false);
}

// `behind`: the message before it has left the link just now.
void Simulator::State::begin_next(LinkIndex index, bool behind) {
  LinkState& link = links[index];
  if (!link.up || link.sending || link.next >= link.unacked.size()) return;
  SentMessage& sent = link.unacked[link.next];
  link.sending = true;
  sent.again = sent.begun > 0;
  sent.begun = now;
  sent.followed = behind && link.next > 0;
  sent.first = sent.sequence == link.delivered + 1 ? link.held : std::uint16_t{0};
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double pace = sent.pace_bytes_per_s;
  const unsigned first_half = std::max<unsigned>(sent.chunks / 2, sent.first);
  fluid.begin(now, index, 8 * sent.bytes_of(sent.first, sent.chunks),
              8 * sent.bytes_of(sent.first, first_half),
              {weight_of(index, sent.sequence), pace > 0 ? 8 * pace : kInfinity});
  schedule_flow();
}

void Simulator::State::schedule_flow() {
  const double next = std::max(fluid.next(), now);
  if (next >= flow_due) return;
  flow_due = next;
  push(next, FlowsChange{});
}

// What chance does to a message of a link, of which less than 2^32 are sent: the seed has the upper
// half of the generator's key.
Random Simulator::State::noise(LinkIndex link, std::uint64_t sequence, std::uint32_t draw) const {
  return {setup.costs.seed << 32 | sequence, link, draw, Purpose::kNoise};
}

// Seconds that a message's last chunk waits for a busy machine.
double Simulator::State::late_by(LinkIndex link, std::uint64_t sequence) const {
  if (setup.costs.hiccup_chance <= 0) return 0;
  constexpr std::uint32_t kFirstDraw = 0;
  Random random = noise(link, sequence, kFirstDraw);
  if (random.uniform() >= setup.costs.hiccup_chance) return 0;
  return random.uniform() * to_seconds(setup.costs.hiccup);
}

// Seconds that a message which has arrived waits until its receiver gets a core and reads it.
double Simulator::State::read_late_by(LinkIndex link, std::uint64_t sequence) const {
  if (setup.costs.wait_chance <= 0) return 0;
  constexpr std::uint32_t kThirdDraw = 2;
  Random random = noise(link, sequence, kThirdDraw);
  if (random.uniform() >= setup.costs.wait_chance) return 0;
  return random.uniform() * to_seconds(setup.costs.wait);
}

bool Simulator::State::is_split(LinkIndex link, std::uint64_t sequence) const {
  if (setup.costs.split_share <= 0) return false;
  constexpr std::uint32_t kFourthDraw = 3;
  Random random = noise(link, sequence, kFourthDraw);
  return random.uniform() < setup.costs.split_share;
}

// Of a message, in what its link shares with others.
double Simulator::State::weight_of(LinkIndex link, std::uint64_t sequence) const {
  if (setup.costs.unfairness <= 0) return 1;
  constexpr std::uint32_t kSecondDraw = 1;
  Random random = noise(link, sequence, kSecondDraw);
  return std::exp(setup.costs.unfairness * random.normal());
}

void Simulator::State::flow_ended(const FluidLinks::End& end) {
  LinkState& link = links[end.link];
  KIMESH_CHECK(link.sending && link.next < link.unacked.size(), "a message was under way");
  const SentMessage& sent = link.unacked[link.next];
  const double late = late_by(static_cast<LinkIndex>(end.link), sent.sequence);
  const double wait = read_late_by(static_cast<LinkIndex>(end.link), sent.sequence);
  const double arrival =
      end.at + to_seconds(setup.links[end.link].delay) + to_seconds(setup.costs.hop) + late + wait;
  const double before = std::exchange(link.last_arrival, std::max(link.last_arrival, arrival));
  // Who reads all chunks at once has measured nothing. Chunks are read in order, so that a tail
  // begins after the message before.
  const bool at_once = wait > 0 && !is_split(static_cast<LinkIndex>(end.link), sent.sequence);
  const double tail_s =
      at_once ? 0 : std::min(end.at - end.mark_at + late + wait, link.last_arrival - before);
  push(link.last_arrival,
       MessageArrives{static_cast<LinkIndex>(end.link), sent.sequence, link.epoch, tail_s});
  link.sending = false;
  ++link.next;
  begin_next(static_cast<LinkIndex>(end.link), true);
}

void Simulator::State::deliver(const MessageArrives& what) {
  const LinkState& link = links[what.link];
  const NodeIndex to = plan.links[what.link].to;
  if (what.epoch != link.epoch || !link.up) return;
  if (!nodes[to].frozen) return read(what);
  // Once it thaws it reads all chunks at once, which measures nothing.
  constexpr double kNoTail = 0;
  nodes[to].held.emplace_back(MessageArrives{what.link, what.sequence, what.epoch, kNoTail});
}

// The receiver reads a message that has arrived. Its connection may have broken since: then the
// sender hears of it once there is another one.
void Simulator::State::read(const MessageArrives& what) {
  LinkState& link = links[what.link];
  const NodeIndex to = plan.links[what.link].to;
  if (nodes[to].crashed) return;
  if (what.epoch == link.epoch && link.up)
    push(now + to_seconds(setup.links[what.link].delay),
         AckArrives{what.link, what.sequence, what.epoch, what.tail_s});
  if (what.sequence <= link.delivered) return;  // a copy
  link.delivered = what.sequence;
  link.held = 0;
  const auto sent = std::find_if(link.unacked.begin(), link.unacked.end(),
                                 [&](const SentMessage& c) { return c.sequence == what.sequence; });
  KIMESH_CHECK(sent != link.unacked.end(), "kept until acked");
  ++messages;
  ++link.totals.messages;
  link.totals.bytes += sent->bytes;
  MessageArrived arrived{what.link, std::move(sent->message)};
  feed(to, PeerHeard{plan.links[what.link].from, what.link});
  feed(to, std::move(arrived));
}

void Simulator::State::acked(const AckArrives& what) {
  LinkState& link = links[what.link];
  if (what.epoch != link.epoch || !link.up || link.unacked.empty()) return;
  const SentMessage& sent = link.unacked.front();
  KIMESH_CHECK(sent.sequence == what.sequence, "acks come in order");
  LinkSample sample;
  sample.bytes = sent.bytes;
  sample.chunks = sent.chunks;
  sample.followed = sent.followed;
  sample.elapsed = from_seconds(now - (sent.followed ? link.last_ack : sent.begun));
  if (sent.begun < link.last_ack) sample.since_ack = from_seconds(now - link.last_ack);
  if (what.tail_s > 0 && sent.chunks > 1)
    sample.tail_bytes = sent.bytes - sent.bytes * (sent.chunks / 2) / sent.chunks;
  sample.tail_time = sent.chunks > 1 ? from_seconds(what.tail_s) : Duration{0};
  sample.round_trip = 2 * setup.links[what.link].delay;
  // The time of a message that was sent twice contains an outage, and says nothing of the rate.
  const std::optional<LinkSample> told = sent.again ? std::nullopt : std::optional(sample);
  link.last_ack = now;
  link.unacked.pop_front();
  --link.next;
  const NodeIndex from = plan.links[what.link].from;
  feed(from, PeerHeard{plan.links[what.link].to, what.link});
  feed(from, MessageAcked{what.link, told});
}

void Simulator::State::send_applied(const SendApplied& action) {
  links[action.link].applied[{action.applied.shard, action.applied.phase}] = action.applied;
  control(action.link, plan.links[action.link].from, MessageApplied{action.link, action.applied});
}

// Sends a small frame in either direction of a link's connection: it takes the delay, and none of
// the rate.
void Simulator::State::control(LinkIndex link, NodeIndex to, Event event) {
  if (!links[link].up) return;
  const double arrival = now + to_seconds(setup.links[link].delay) + to_seconds(setup.costs.hop);
  push(arrival, ControlFrame{link, links[link].epoch, to, std::move(event)});
}

void Simulator::State::send_bye(NodeIndex from) {
  for (LinkIndex l = 0; l < links.size(); ++l) {
    if (plan.links[l].from == from) {
      links[l].bye = true;
      control(l, plan.links[l].to, PeerBye{from});
    } else if (plan.links[l].to == from) {
      links[l].bye_back = true;
      control(l, plan.links[l].from, PeerBye{from});
    }
  }
}

void Simulator::State::send_halt(NodeIndex from, const SendHalt& action) {
  for (LinkIndex l = 0; l < links.size(); ++l) {
    const Link& link = plan.links[l];
    if (link.from != from && link.to != from) continue;
    const PeerHalted halted{from, action.kind, action.reason};
    (link.from == from ? links[l].halt : links[l].halt_back) = halted;
    control(l, link.from == from ? link.to : link.from, halted);
  }
}

double Simulator::State::way_of_a_chunk(LinkIndex link) const {
  return to_seconds(setup.links[link].delay) + to_seconds(setup.costs.hop);
}

Simulator::State::Reached Simulator::State::reached(LinkIndex index) const {
  const LinkState& link = links[index];
  if (!link.sending) return {};
  const SentMessage& sent = link.unacked[link.next];
  const double left = fluid.left_bits(now, index) / 8;
  auto chunks = static_cast<std::uint16_t>(sent.chunks - 1);  // the last one makes it whole
  while (chunks > sent.first && sent.bytes_of(chunks, sent.chunks) < left) --chunks;
  return {sent.sequence, chunks};
}

void Simulator::State::cut(LinkIndex index) {
  LinkState& link = links[index];
  if (!link.up) return;
  const Reached before = std::exchange(link.reached, {});
  if (before.sequence == link.delivered + 1) link.held = std::max(link.held, before.chunks);
  link.up = false;
  ++link.epoch;
  link.sending = false;
  link.next = 0;
  fluid.cancel(now, index);
  schedule_flow();
  feed(plan.links[index].from, LinkDown{index});
}

void Simulator::State::restore(LinkIndex index) {
  LinkState& link = links[index];
  if (link.up) return;
  link.up = true;
  const auto waits = [&](const SentMessage& sent) { return sent.sequence > link.delivered; };
  const auto first = std::ranges::find_if(link.unacked, waits);
  const auto acks_lost = std::distance(link.unacked.begin(), first);
  link.unacked.erase(link.unacked.begin(), first);
  feed(plan.links[index].from, LinkUp{index});
  for (auto i = acks_lost; i > 0; --i)
    feed(plan.links[index].from, MessageAcked{index, std::nullopt});
  for (const auto& [channel, applied] : link.applied)
    control(index, plan.links[index].from, MessageApplied{index, applied});
  if (link.halt) control(index, plan.links[index].to, *link.halt);
  if (link.halt_back) control(index, plan.links[index].from, *link.halt_back);
  if (link.bye) control(index, plan.links[index].to, PeerBye{plan.links[index].from});
  if (link.bye_back) control(index, plan.links[index].from, PeerBye{plan.links[index].to});
  begin_next(index, false);
}

}  // namespace kimesh
