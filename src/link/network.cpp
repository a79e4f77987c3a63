#include "kimesh/link/network.h"

#include <algorithm>
#include <future>
#include <random>

#include "kimesh/link/limits.h"
#include "network_thread.h"

namespace kimesh {

std::uint64_t new_incarnation() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

std::size_t event_weight(const NetworkEvent& event) {
  const auto beside = [](const auto& e) -> std::size_t {
    if constexpr (requires { e.message; })
      return e.message.payload.size() + e.message.control.size() * sizeof(double);
    if constexpr (requires { e.sentence; }) return e.sentence.size();
    if constexpr (requires { e.reason; }) return e.reason.size();
    return 0;
  };
  return sizeof(NetworkEvent) + std::visit(beside, event);
}

std::size_t receive_bytes_max(const NetworkOptions& options, std::size_t queue_bytes) {
  const std::size_t connection = kUndeliveredBytesMax + kConnectionBytes;
  std::size_t queued = queue_bytes, bytes = 0;
  for (const IncomingLink& link : options.incoming) {
    queued = std::max(queued, sizeof(NetworkEvent) + link.message_bytes_max);
    bytes += connection + link.message_bytes_max;
  }
  bytes += options.outgoing.size() * connection;
  return queued + bytes + kStrangersMax * (kStrangerBytesMax + kConnectionBytes);
}

EventSink sink_into(BoundedQueue<NetworkEvent>& events) {
  return [&events](NetworkEvent& event) {
    const std::size_t weight = event_weight(event);
    return events.try_push(std::move(event), weight) || events.closed();
  };
}

Result<std::unique_ptr<Network>> Network::start(NetworkOptions options, EventSink events) {
  raise_descriptor_limit();
  if (options.curve)
    if (const Status there = has_curve(); !there) return there.error();
  auto wake_event = WakeEvent::make();
  if (!wake_event.ok()) return wake_event.error();
  auto timer = Timer::make();
  if (!timer.ok()) return timer.error();
  auto thread = std::make_unique<Thread>(std::move(options), std::move(events),
                                         std::move(*wake_event), std::move(*timer));
  if (auto bound = thread->listen(); !bound.ok()) return bound.error();
  thread->begin();
  return std::unique_ptr<Network>(new Network(std::move(thread)));
}

Network::Network(std::unique_ptr<Thread> thread) : thread_(std::move(thread)) {}
Network::~Network() = default;

void Network::dial(LinkIndex link, std::string endpoint) {
  thread_->command(DialCommand{link, std::move(endpoint)});
}
void Network::start_emulation(TimePoint start) {
  thread_->command(EmulationCommand{start});
}
void Network::send(SendMessage action) {
  thread_->command(std::move(action));
}
void Network::send(const SendApplied& action) {
  thread_->command(action);
}
void Network::send(SendHalt action) {
  thread_->command(std::move(action));
}
void Network::send(SendBye action) {
  thread_->command(action);
}

void Network::flush(Duration limit) {
  FlushCommand flush;
  const auto done = flush.done.get_future();
  thread_->command(std::move(flush));
  (void)done.wait_for(limit);
}

std::string Network::bound_endpoint() const {
  return thread_->bound_endpoint();
}

namespace {

template <typename Counters>
Counters answer_of(std::future<Counters> answer) {
  try {
    return answer.get();
  } catch (const std::future_error&) {  // the thread has ended, and its commands with it
    return {};
  }
}

}  // namespace

NetworkCounters Network::counters() const {
  NetworkCountersCommand ask;
  auto answer = ask.answer.get_future();
  thread_->command(std::move(ask));
  return answer_of(std::move(answer));
}

LinkCounters Network::counters(LinkIndex link) const {
  CountersCommand ask{link, {}};
  auto answer = ask.answer.get_future();
  thread_->command(std::move(ask));
  return answer_of(std::move(answer));
}

}  // namespace kimesh
