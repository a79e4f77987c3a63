#include "zmq_socket.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "kimesh/link/limits.h"
#include "kimesh/util/check.h"
#include "kimesh/wire/frame.h"

namespace kimesh {
namespace {

// One second is longer than any round trip and its retransmission; more than the upper limits
// would only let a dead connection stand.
constexpr Duration kLeast = std::chrono::seconds(1);
constexpr Duration kHandshakeMax = std::chrono::seconds(3);  // silent connections must not pile up
constexpr Duration kRedialMax = std::chrono::seconds(2);

// A link that this node dials takes a socket and the two ends of its monitor.
constexpr std::size_t kSocketsOfLink = 3;
// All links may be dialled anew in one pass. ZeroMQ frees the room of a closed socket later, in a
// thread of its own: beside the sockets of a link those of its last two tries may take room.
constexpr std::size_t kTriesAtOnce = 3;
// The ROUTER with its monitor, and the answerer of ZAP, with room for others.
constexpr std::size_t kSocketsBesides = 16;

ZmqContext::Times times_of(Duration dead_after, Duration redial) {
  const Duration handshake = std::clamp(dead_after / 5, kLeast, kHandshakeMax);
  return {.handshake = handshake,
          .connect = handshake,
          .give_up = std::max(dead_after / 2, kLeast),
          .redial = redial,
          .redial_max = std::max(redial, std::min(dead_after / 8, kRedialMax))};
}

int milliseconds_of(Duration time) {
  return static_cast<int>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
}

void must(int rc, const char* what) {
  KIMESH_CHECK(rc == 0, fmt::format("{}: {}", what, zmq_strerror(zmq_errno())));
}

// False: ZeroMQ has made no socket, since its context or the process has no room for another one.
bool is_made(bool made, const char* what) {
  const int why = zmq_errno();
  KIMESH_CHECK(made || why == EMFILE || why == ENFILE,
               fmt::format("{}: {}", what, zmq_strerror(why)));
  return made;
}

}  // namespace

int sockets_max(std::size_t links) {
  return static_cast<int>(kTriesAtOnce * kSocketsOfLink * links + kSocketsBesides);
}

ZmqContext::ZmqContext(int sockets_max, Duration dead_after, Duration redial)
    : context_(zmq_ctx_new()), times_(times_of(dead_after, redial)) {
  KIMESH_CHECK(context_ != nullptr, "a ZeroMQ context");
  must(zmq_ctx_set(context_, ZMQ_IO_THREADS, 1), "one I/O thread");
  must(zmq_ctx_set(context_, ZMQ_MAX_SOCKETS, sockets_max), "the number of sockets");
}

ZmqContext::~ZmqContext() {
  while (zmq_ctx_term(context_) != 0 && zmq_errno() == EINTR) {
  }
}

std::span<const std::byte> ZmqPart::bytes() const {
  return {static_cast<const std::byte*>(zmq_msg_data(&message_)), zmq_msg_size(&message_)};
}
bool ZmqPart::more() const {
  return zmq_msg_more(&message_) != 0;
}
int ZmqPart::source_fd() const {
  return zmq_msg_get(&message_, ZMQ_SRCFD);
}
std::string_view ZmqPart::user_id() const {
  const char* id = zmq_msg_gets(&message_, "User-Id");
  return id ? id : std::string_view();
}

ZmqSocket::ZmqSocket(ZmqContext& context, int type) : socket_(zmq_socket(context.raw(), type)) {
  if (!is_made(socket_ != nullptr, "a ZeroMQ socket")) return;
  set(ZMQ_LINGER, 0);
  const ZmqContext::Times& times = context.times();
  set(ZMQ_HANDSHAKE_IVL, milliseconds_of(times.handshake));
  set(ZMQ_CONNECT_TIMEOUT, milliseconds_of(times.connect));
  set(ZMQ_TCP_MAXRT, milliseconds_of(times.give_up));
  set(ZMQ_RECONNECT_IVL, milliseconds_of(times.redial));
  set(ZMQ_RECONNECT_IVL_MAX, milliseconds_of(times.redial_max));
  set(ZMQ_RCVHWM, static_cast<int>(kReceiveQueueBytes / kChunkFrameBytesMax));
  set(ZMQ_SNDHWM, static_cast<int>(kSendQueueBytes / kChunkFrameBytesMax));
  const std::int64_t frame_max = kFrameBytesMax;
  must(zmq_setsockopt(raw(), ZMQ_MAXMSGSIZE, &frame_max, sizeof frame_max), "MAXMSGSIZE");
  if (type == ZMQ_DEALER) set(ZMQ_IMMEDIATE, 1);
  if (type == ZMQ_ROUTER) set(ZMQ_ROUTER_MANDATORY, 1);
  if (!watch(context)) close();
}

void ZmqSocket::set(int option, int value) {
  must(zmq_setsockopt(raw(), option, &value, sizeof value), "a socket option");
}

void ZmqSocket::set(int option, const std::string& value) {
  must(zmq_setsockopt(raw(), option, value.data(), value.size()), "a socket option");
}

void ZmqSocket::serve_curve(const CurvePair& own, const char* zap_domain) {
  set(ZMQ_CURVE_SERVER, 1);
  set(ZMQ_CURVE_SECRETKEY, own.secret_key);
  set(ZMQ_ZAP_DOMAIN, std::string(zap_domain));
}

void ZmqSocket::dial_curve(const CurvePair& own, const std::string& far_key) {
  set(ZMQ_CURVE_SERVERKEY, far_key);
  set(ZMQ_CURVE_PUBLICKEY, own.public_key);
  set(ZMQ_CURVE_SECRETKEY, own.secret_key);
}

// False: there is no room for the monitor.
bool ZmqSocket::watch(ZmqContext& context) {
  // The socket's address makes the name unique in this context.
  const std::string name = fmt::format("inproc://monitor-{}", fmt::ptr(raw()));
  constexpr int kEvents = ZMQ_EVENT_CONNECTED | ZMQ_EVENT_CONNECT_RETRIED |
                          ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_LISTENING | ZMQ_EVENT_ACCEPTED |
                          ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                          ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                          ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;
  if (!is_made(zmq_socket_monitor(raw(), name.c_str(), kEvents) == 0, "a monitor")) return false;
  monitor_.reset(zmq_socket(context.raw(), ZMQ_PAIR));
  if (!is_made(monitor_ != nullptr, "a monitor socket")) return false;
  const int none = 0;
  must(zmq_setsockopt(monitor(), ZMQ_LINGER, &none, sizeof none), "LINGER");
  // The monitor is unbounded, since ZeroMQ's I/O thread would wait for this thread at a full one.
  // Events have a few bytes and are read in every pass.
  must(zmq_setsockopt(monitor(), ZMQ_RCVHWM, &none, sizeof none), "RCVHWM");
  must(zmq_connect(monitor(), name.c_str()), "a monitor's connection");
  return true;
}

void ZmqSocket::take_addresses_of(const std::string& endpoint) {
  if (endpoint.find('[') != std::string::npos) set(ZMQ_IPV6, 1);
}

int ZmqSocket::bind(const std::string& endpoint) {
  if (!socket_) return EMFILE;
  take_addresses_of(endpoint);
  return zmq_bind(raw(), endpoint.c_str()) == 0 ? 0 : zmq_errno();
}
int ZmqSocket::connect(const std::string& endpoint) {
  take_addresses_of(endpoint);
  return zmq_connect(raw(), endpoint.c_str()) == 0 ? 0 : zmq_errno();
}

std::string ZmqSocket::last_endpoint() const {
  std::array<char, 256> text{};
  std::size_t size = text.size();
  must(zmq_getsockopt(raw(), ZMQ_LAST_ENDPOINT, text.data(), &size), "LAST_ENDPOINT");
  return text.data();
}

SendOutcome ZmqSocket::send(std::initializer_list<std::span<const std::byte>> pieces,
                            const std::string& routing_id) {
  if (!routing_id.empty() &&
      zmq_send(raw(), routing_id.data(), routing_id.size(), ZMQ_DONTWAIT | ZMQ_SNDMORE) < 0)
    return zmq_errno() == EAGAIN ? SendOutcome::kFull : SendOutcome::kUnreachable;
  std::size_t size = 0;
  for (const auto piece : pieces) size += piece.size();
  zmq_msg_t message;
  must(zmq_msg_init_size(&message, size), "memory for a frame");
  auto* data = static_cast<std::byte*>(zmq_msg_data(&message));
  for (const auto piece : pieces) {
    if (!piece.empty()) std::memcpy(data, piece.data(), piece.size());
    data += piece.size();
  }
  if (zmq_msg_send(&message, raw(), ZMQ_DONTWAIT) >= 0) return SendOutcome::kSent;
  const int why = zmq_errno();
  zmq_msg_close(&message);
  return why == EAGAIN ? SendOutcome::kFull : SendOutcome::kUnreachable;
}

bool ZmqSocket::receive(ZmqPart& part) {
  return zmq_msg_recv(part.raw(), raw(), ZMQ_DONTWAIT) >= 0;
}

std::optional<ZmqSocket::MonitorEvent> ZmqSocket::next_monitor_event() {
  ZmqPart first;
  if (zmq_msg_recv(first.raw(), monitor(), ZMQ_DONTWAIT) < 0) return std::nullopt;
  MonitorEvent event;
  std::uint16_t kind = 0;
  std::int32_t value = 0;
  if (first.bytes().size() == sizeof kind + sizeof value) {
    std::memcpy(&kind, first.bytes().data(), sizeof kind);
    std::memcpy(&value, first.bytes().data() + sizeof kind, sizeof value);
  }
  event.event = kind;
  event.value = value;
  for (bool more = first.more(); more;) {  // the address, which is not needed
    ZmqPart rest;
    if (zmq_msg_recv(rest.raw(), monitor(), ZMQ_DONTWAIT) < 0) break;
    more = rest.more();
  }
  return event;
}

void ZmqSocket::close() {
  if (socket_) zmq_socket_monitor(raw(), nullptr, 0);
  monitor_.reset();
  socket_.reset();
}

}  // namespace kimesh
