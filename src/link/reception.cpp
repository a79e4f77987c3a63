#include "src/link/reception.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "src/link/handshake.h"

namespace kimesh {
namespace {

// In frames, for each connection: 4 MB at the largest chunk that kimesh sends, 64 MB at the largest
// that ZeroMQ lets in.
constexpr int kReceiveQueueFrames = 64;
// Acks and the like that a peer lets pile up; ZeroMQ holds 1000 more. One who reads nothing for so
// long is not served.
constexpr std::size_t kRepliesMax = 4096;
constexpr Duration kRetryReplies =
    std::chrono::milliseconds(5);  // a ROUTER cannot say whose room came

std::string why_not_bound(int why) {
  switch (why) {
    case EADDRINUSE:
      return "the address is already in use; stop the other process or choose another port";
    case EADDRNOTAVAIL:
    case ENODEV:
      return "this machine has no such address";
    case EACCES:
      return "the system forbids that port; choose one over 1023";
    default:
      return zmq_strerror(why);
  }
}

}  // namespace

Reception::Reception(const std::vector<IncomingLink>& links, Shared shared)
    : shared_(std::move(shared)), socket_(shared_.zmq, ZMQ_ROUTER) {
  socket_.set(ZMQ_RCVHWM, kReceiveQueueFrames);
  for (const IncomingLink& link : links)
    lanes_.push_back(Lane{.spec = link, .inbox = Inbox(link.message_bytes_max), .routing_id = {}});
}

Status Reception::listen(const std::string& endpoint) {
  const int why = socket_.bind(endpoint);
  if (why == 0) return ok_status();
  return Error{ErrorCode::kNetwork, fmt::format("node {} cannot listen on {}: {}",
                                                shared_.hello.from, endpoint, why_not_bound(why))};
}

Reception::Lane* Reception::behind(const std::string& routing_id) {
  const auto at = std::ranges::find(lanes_, routing_id, &Lane::routing_id);
  return at == lanes_.end() ? nullptr : &*at;
}
Reception::Lane* Reception::named(const std::string& name) {
  const auto at = std::ranges::find_if(lanes_, [&](const Lane& l) { return l.spec.name == name; });
  return at == lanes_.end() ? nullptr : &*at;
}

void Reception::send_applied(LinkIndex link, const Applied& applied) {
  const auto at = std::ranges::find_if(lanes_, [&](const Lane& l) { return l.spec.link == link; });
  KIMESH_CHECK(at != lanes_.end(), "applied goes back on an incoming link");
  at->applied[{applied.shard, applied.phase}] = applied;
  reply(*at, applied, std::chrono::steady_clock::now());
}

void Reception::say(const Halt& halt) {
  halt_ = halt;
  for (Lane& lane : lanes_) reply(lane, halt, std::chrono::steady_clock::now());
}
void Reception::say_bye() {
  bye_ = true;
  for (Lane& lane : lanes_) reply(lane, Bye{shared_.hello.from}, std::chrono::steady_clock::now());
}

void Reception::hear_monitor() {
  while (const auto event = socket_.next_monitor_event()) {
    if (event->event != ZMQ_EVENT_DISCONNECTED) continue;
    // What the connection has brought is still in its queue and still counts.
    for (Lane& lane : lanes_)
      if (lane.open && lane.fd == event->value) leave(lane);
  }
}

void Reception::leave(Lane& lane) {
  lane.open = false;
  lane.tcp = TcpPeek();
  lane.replies.clear();  // each is said again, or asked for again
  shared_.peers.incoming(lane.spec.from, false);
}

void Reception::receive(std::size_t frames) {
  for (; frames > 0 && shared_.events.open(); --frames) {
    ZmqPart id, body;
    if (!socket_.receive(id)) return;
    const TimePoint now = std::chrono::steady_clock::now();
    const auto bytes = id.bytes();
    const std::string routing_id(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (!id.more() || !socket_.receive(body)) continue;
    bool more = body.more();
    if (!more) {
      frame_from(routing_id, body, now);
      continue;
    }
    while (more) {
      ZmqPart rest;
      more = socket_.receive(rest) && rest.more();
    }
    malformed(behind(routing_id), routing_id, "a frame of several parts");
  }
}

void Reception::frame_from(const std::string& routing_id, const ZmqPart& body, TimePoint now) {
  Lane* lane = behind(routing_id);
  const auto frame = decode_frame(body.bytes());
  if (!frame.ok()) return malformed(lane, routing_id, frame.error().message);
  if (const auto* hello = std::get_if<Hello>(&*frame)) {
    const int fd = body.source_fd();
    hear_monitor();  // the end of an older connection with the same fd lies before this hello
    return hello_from(routing_id, fd, *hello, now);
  }
  if (!lane) return;
  handle(*lane, *frame, now);
}

void Reception::hello_from(const std::string& routing_id, int fd, const Hello& hello,
                           TimePoint now) {
  const auto turn_away = [&](const std::string& sentence) {
    refuse(routing_id, sentence);
    shared_.events.tell_once(PeerRefused{sentence});
  };
  if (const auto sentence = refusal_of(hello, shared_.hello)) return turn_away(*sentence);
  Lane* lane = named(hello.from);
  if (!lane) return turn_away(sentence_stranger(hello.from, shared_.hello.from));
  switch (shared_.peers.judge(lane->spec.from, hello.incarnation, now)) {
    case Peers::Verdict::kSame:
      return admit(*lane, routing_id, fd, now);
    case Peers::Verdict::kSecond:
      return turn_away(sentence_second(hello.from, shared_.hello.from));
    case Peers::Verdict::kRestarted:
      refuse(routing_id, sentence_restarted(hello.from));
      shared_.events.tell(PeerRestarted{lane->spec.from, sentence_restarted(hello.from)});
  }
}

void Reception::admit(Lane& lane, const std::string& routing_id, int fd, TimePoint now) {
  const bool again = lane.open && lane.routing_id == routing_id;  // the hello was said twice
  if (!again) {
    lane.tcp = TcpPeek(fd);
    lane.inbox.restart();
    lane.replies.clear();
  }
  lane.routing_id = routing_id;
  lane.fd = fd;
  lane.open = true;
  shared_.peers.incoming(lane.spec.from, true);
  reply(lane, Welcome{shared_.hello.from, shared_.hello.incarnation}, now);
  if (again) return;
  for (const auto& [channel, applied] : lane.applied) reply(lane, applied, now);
  if (halt_) reply(lane, *halt_, now);
  if (bye_) reply(lane, Bye{shared_.hello.from}, now);
  shared_.events.tell(PeerArrived{lane.spec.from});
  if (shared_.peers.heard(lane.spec.from, now)) shared_.events.hint(PeerHeard{lane.spec.from});
}

void Reception::handle(Lane& lane, const Frame& frame, TimePoint now) {
  if (const auto* part = std::get_if<Chunk>(&frame)) {
    chunk(lane, *part, now);
  } else if (const auto* halt = std::get_if<Halt>(&frame)) {
    shared_.events.tell(halted_by(lane.spec.from, *halt));
  } else if (std::holds_alternative<Bye>(frame)) {
    shared_.events.tell(PeerBye{lane.spec.from});
  } else if (!std::holds_alternative<Heartbeat>(frame)) {
    return malformed(&lane, lane.routing_id, "a frame that only a receiver says");
  }
  if (shared_.peers.heard(lane.spec.from, now)) shared_.events.hint(PeerHeard{lane.spec.from});
}

void Reception::chunk(Lane& lane, const Chunk& chunk, TimePoint now) {
  auto arrival = lane.inbox.add(chunk, now, lane.tcp.received());
  if (!arrival.ok()) return malformed(&lane, lane.routing_id, arrival.error().message);
  if (arrival->ack) reply(lane, *arrival->ack, now);
  if (!arrival->message) return;
  auto message = decode_message(std::move(*arrival->message));
  if (!message.ok()) return malformed(&lane, lane.routing_id, message.error().message);
  shared_.events.tell(MessageArrived{lane.spec.link, std::move(*message)});
}

void Reception::malformed(Lane* lane, const std::string& routing_id, const std::string& what) {
  const std::string who = lane ? "node " + lane->spec.name : "somebody who has not said hello";
  const std::string sentence = sentence_malformed(who, what);
  refuse(routing_id, sentence);
  shared_.events.tell_once(PeerRefused{sentence});
  if (!lane) return;
  leave(*lane);
  lane->routing_id.clear();  // what else it says is dropped
}

void Reception::refuse(const std::string& routing_id, const std::string& sentence) {
  // Whoever has no room for it, or is gone, need not know.
  (void)socket_.send({encode_frame(Refuse{sentence})}, routing_id);
}

void Reception::reply(Lane& lane, const Frame& frame, TimePoint now) {
  if (!lane.open) return;
  lane.replies.push_back(encode_frame(frame));
  put_replies(lane, now);
}

void Reception::put_replies(Lane& lane, TimePoint now) {
  while (lane.open && !lane.replies.empty()) {
    const SendOutcome outcome = socket_.send({lane.replies.front()}, lane.routing_id);
    if (outcome == SendOutcome::kUnreachable) return leave(lane);
    if (outcome == SendOutcome::kFull) break;
    lane.replies.pop_front();
    lane.last_put = now;
  }
  if (lane.replies.size() > kRepliesMax)
    malformed(&lane, lane.routing_id, "nothing: it reads no answers");
}

void Reception::pump(TimePoint now) {
  for (Lane& lane : lanes_) {
    if (!lane.replies.empty()) put_replies(lane, now);
    if (lane.open && lane.replies.empty() && now >= lane.last_put + shared_.heartbeat)
      reply(lane, Heartbeat{}, now);
  }
}

TimePoint Reception::deadline() const {
  TimePoint deadline = TimePoint::max();
  for (const Lane& lane : lanes_) {
    if (!lane.open) continue;
    deadline = std::min(deadline, lane.last_put + shared_.heartbeat);
    if (!lane.replies.empty())
      deadline = std::min<TimePoint>(deadline, std::chrono::steady_clock::now() + kRetryReplies);
  }
  return deadline;
}

bool Reception::all_left() const {
  return std::ranges::none_of(lanes_, &Lane::open);
}

bool Reception::drained() const {
  return std::ranges::all_of(lanes_, [](const Lane& l) { return !l.open || l.replies.empty(); });
}

}  // namespace kimesh
