#include "network_thread.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace kimesh {
namespace {

// More than a node sends at one moment, except in meshes of about a thousand nodes: there a thread
// that sends waits for room.
constexpr std::size_t kCommandsMax = 65536;
constexpr std::size_t kFramesPerPass = 64;  // read from one socket before the others are read
// The engine signals no room: its queue is tried again after this, and then less and less often.
constexpr Duration kRetryGate = std::chrono::milliseconds(1);
constexpr Duration kRetryGateMax = std::chrono::milliseconds(16);
constexpr int kCleanLingerMs = 1000;
// While a flush waits, the thread looks again after this: no event tells that a peer has been
// silent for too long.
constexpr Duration kFlushLooks = std::chrono::milliseconds(50);
// Arrival times are measurements: this thread runs before computing ones, where the system allows.
constexpr int kNice = -5;
constexpr int kHeartbeatsOfLife = 3;
// After a pass that threw: how long until the next one, and how many may throw. Five seconds in
// all, in which a halt leaves.
constexpr Duration kAfterThrow = std::chrono::milliseconds(1);
constexpr int kThrowsMax = 5000;

std::vector<LinkSpec> specs_of(const std::vector<OutgoingLink>& links) {
  std::vector<LinkSpec> specs;
  for (const OutgoingLink& link : links) specs.push_back(link.spec);
  return specs;
}

bool emulated(const LinkSpec& spec) {
  return spec.rate.has_value() || spec.delay > Duration(0);
}

}  // namespace

Network::Thread::Thread(NetworkOptions options, EventSink events, WakeEvent wake_event, Timer timer)
    : options_(std::move(options)),
      zmq_(sockets_max(options_.outgoing.size() + options_.incoming.size()), options_.dead_after,
           options_.redial),
      wake_event_(std::move(wake_event)),
      timer_(std::move(timer)),
      commands_(kCommandsMax),
      events_(std::move(events)),
      peers_(kHeartbeatsOfLife * options_.heartbeat, options_.dials_again),
      shaper_(specs_of(options_.outgoing), options_.uplink_bits_per_s,
              std::chrono::steady_clock::now()),
      incoming_(options_.incoming, {zmq_, events_, peers_, options_.hello, options_.heartbeat,
                                    curve(), names(), options_.handshakes}) {}

Status Network::Thread::listen() {
  if (auto bound = incoming_.listen(options_.listen); !bound.ok()) return bound.error();
  bound_endpoint_ = incoming_.bound_endpoint();
  return ok_status();
}

void Network::Thread::begin() {
  for (std::size_t i = 0; i < options_.outgoing.size(); ++i) {
    const OutgoingLink& link = options_.outgoing[i];
    std::optional<std::size_t> shaper_index;
    if (emulated(link.spec) || options_.uplink_bits_per_s) shaper_index = i;
    outgoing_.emplace_back(
        link,
        OutgoingConnection::Shared{zmq_, events_, peers_, shaper_, options_.hello,
                                   options_.heartbeat, curve(), names()},
        shaper_index);
    places_[link.link] = i;
    if (link.awaits) incoming_.await(outgoing_.back());
  }
  thread_ = std::thread([this] { run(); });
}

Network::Thread::~Thread() {
  if (!thread_.joinable()) return;
  command(StopCommand{});
  thread_.join();
}

void Network::Thread::command(Command command) {
  if (commands_.push(std::make_unique<Command>(std::move(command)))) wake_event_.signal();
}

OutgoingConnection& Network::Thread::outgoing(LinkIndex link) {
  const auto place = places_.find(link);
  KIMESH_CHECK(place != places_.end(), "the link is one of our outgoing ones");
  return outgoing_[place->second];
}

void Network::Thread::run() {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice);  // refused to most users: fine
  for (int throws = 0; !stop_ && throws < kThrowsMax; ++passes_)
    if (!pass()) ++throws;
  commands_.close();
  while (commands_.try_pop()) {
  }  // whoever waits for an answer hears that none comes
  const int linger = clean_ ? kCleanLingerMs : 0;
  incoming_.linger(linger);
  for (OutgoingConnection& link : outgoing_) link.linger(linger);
}

// Looks at every socket. False: it threw.
bool Network::Thread::pass() {
  const auto work = [this] {
    wait();
    serve();
  };
  if (options_.thrown == nullptr) return work(), true;
  if (options_.thrown->guard("talking to other nodes", work)) return true;
  events_.shut();  // what has thrown may be their receiver
  std::this_thread::sleep_for(kAfterThrow);
  return false;
}

TimePoint Network::Thread::deadline() {
  TimePoint at = incoming_.deadline();
  for (const OutgoingConnection& link : outgoing_) at = std::min(at, link.deadline());
  if (const auto next = shaper_.next()) at = std::min(at, *next);
  if (!flushes_.empty())
    at = std::min<TimePoint>(at, std::chrono::steady_clock::now() + kFlushLooks);
  if (events_.drain()) {
    gate_retry_ = kRetryGate;
  } else {
    at = std::min<TimePoint>(at, std::chrono::steady_clock::now() + gate_retry_);
    gate_retry_ = std::min(2 * gate_retry_, kRetryGateMax);
  }
  return at;
}

// Waits for the wake event, the timer, room in a socket that was full, monitors, and frames, the
// last only while the engine has taken all events.
void Network::Thread::wait() {
  const TimePoint at = deadline();
  const std::optional<TimePoint> timer_at =
      at == TimePoint::max() ? std::nullopt : std::optional(at);
  if (timer_at != timer_at_) timer_.set(timer_at);
  timer_at_ = timer_at;
  const short reading = events_.drain() ? ZMQ_POLLIN : 0;
  poll_.clear();
  poll_.push_back({nullptr, wake_event_.fd(), ZMQ_POLLIN, 0});
  poll_.push_back({nullptr, timer_.fd(), ZMQ_POLLIN, 0});
  poll_.push_back({incoming_.monitor(), 0, ZMQ_POLLIN, 0});
  poll_.push_back({incoming_.socket(), 0, reading, 0});
  if (incoming_.zap()) poll_.push_back({incoming_.zap(), 0, ZMQ_POLLIN, 0});
  incoming_.poll(poll_, reading);
  for (const OutgoingConnection& link : outgoing_) {
    if (!link.socket()) continue;
    const int events = reading | (link.wants_room() ? ZMQ_POLLOUT : 0);
    poll_.push_back({link.monitor(), 0, ZMQ_POLLIN, 0});
    poll_.push_back({link.socket(), 0, static_cast<short>(events), 0});
  }
  const bool late = at <= std::chrono::steady_clock::now();
  const int rc = zmq_poll(poll_.data(), static_cast<int>(poll_.size()), late ? 0 : -1);
  KIMESH_CHECK(rc >= 0 || zmq_errno() == EINTR, "our sockets can be polled");
  if (rc <= 0) return;
  if (poll_[0].revents != 0) wake_event_.clear();
  if (poll_[1].revents != 0) {
    timer_.clear();
    timer_at_.reset();
  }
}

void Network::Thread::serve() {
  incoming_.read_monitor();
  for (OutgoingConnection& link : outgoing_) link.read_monitor();
  execute();
  incoming_.receive(kFramesPerPass);
  for (OutgoingConnection& link : outgoing_)
    link.receive(kFramesPerPass, std::chrono::steady_clock::now());
  const TimePoint now = std::chrono::steady_clock::now();
  due_.clear();
  shaper_.take_due(now, due_);
  for (const Shaper::Release& frame : due_) outgoing_[frame.index].released(frame);
  incoming_.pump(now);
  for (OutgoingConnection& link : outgoing_) link.pump(now);
  answer_flushes();
}

void Network::Thread::execute() {
  while (auto command = commands_.try_pop())
    std::visit([this](auto& what) { execute(what); }, **command);
}

void Network::Thread::execute(DialCommand& command) {
  if (incoming_.dials(command.link)) return incoming_.dial(command.link, command.endpoint);
  outgoing(command.link).dial(command.endpoint);
}

void Network::Thread::execute(SendHalt& command) {
  const Halt halt{options_.hello.from, command.kind, std::move(command.reason)};
  incoming_.send_halt(halt);
  for (OutgoingConnection& link : outgoing_) link.send_halt(halt);
}

void Network::Thread::execute(SendBye&) {
  incoming_.send_bye();
  for (OutgoingConnection& link : outgoing_) link.send_bye();
}

// The dialling side closes its connection first. With IMMEDIATE, ZeroMQ drops what a DEALER has not
// read when its connection ends: on a busy machine the last frames of a node that left would be
// lost.
void Network::Thread::answer_flushes() {
  if (flushes_.empty()) return;
  clean_ = true;
  const bool drained =
      incoming_.drained() && std::ranges::all_of(outgoing_, &OutgoingConnection::drained);
  if (!drained) return;
  for (OutgoingConnection& link : outgoing_) link.hang_up(kCleanLingerMs);
  incoming_.hang_up(kCleanLingerMs);
  if (!incoming_.all_left() || std::ranges::any_of(outgoing_, &OutgoingConnection::is_awaited))
    return;
  for (auto& flush : flushes_) flush.set_value();
  flushes_.clear();
}

}  // namespace kimesh
