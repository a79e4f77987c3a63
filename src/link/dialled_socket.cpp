#include "dialled_socket.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "accepted_connections.h"
#include "endpoint.h"
#include "handshake.h"
#include "kimesh/util/check.h"

namespace kimesh {
namespace {

// Between a connection that ended by a mistake of one side, after which ZeroMQ does not dial again,
// and the next one. The other side may be started again with other keys, or be a stranger's.
constexpr Duration kDialAnew = std::chrono::seconds(1);
// Until a name of which nothing is known is looked up again: that of a container that starts.
constexpr Duration kAskAgain = std::chrono::milliseconds(500);
constexpr int kHandshakeFailed = ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                                 ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                                 ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;
// Handshakes in a row that the other side ends without a word before they are told of. A node that
// is just ending breaks one.
constexpr unsigned kHangUpsMax = 3;

}  // namespace

bool DialledSocket::dial(const std::string& endpoint) {
  endpoint_ = endpoint;
  const std::string name = name_in(endpoint);
  if (name.empty()) return connect();
  name_.emplace(name, shared_.names);
  name_->ask();
  return true;
}

// Connects to the host's address, with a new socket. Where there is no room for one it is tried
// again.
bool DialledSocket::connect() {
  socket_.close();  // stops its monitor first: ZeroMQ would wait for a reader that is gone
  is_connected_ = false;
  tcp_ = TcpPeek();
  socket_ = ZmqSocket(shared_.zmq, ZMQ_DEALER);
  if (!socket_) {
    shared_.events.push_once({sentence_no_room(far_.name, endpoint_), far_.node},
                             EventGate::peer(far_.node));
    redial_at_ = std::chrono::steady_clock::now() + shared_.zmq.times().redial;
    return true;
  }
  if (shared_.curve) {
    const auto far = shared_.curve->allowed.find(far_.name);
    KIMESH_CHECK(far != shared_.curve->allowed.end(), "the list has the keys of all peers");
    socket_.dial_curve(shared_.curve->own, far->second);
  }
  const int why = socket_.connect(name_ ? with_host(endpoint_, address_) : endpoint_);
  if (why == 0) return true;
  shared_.events.push(NetworkFailed{
      fmt::format("cannot dial node {} at {}: {}", far_.name, endpoint_, zmq_strerror(why))});
  close();
  return false;
}

// Takes the addresses that a lookup has found: the one behind the present address is dialled next.
// Where the lookup found none the present address stays, since name servers fail more often than
// addresses change.
void DialledSocket::found(const std::vector<std::string>& addresses, TimePoint now) {
  if (is_connected_) return;
  if (addresses.empty()) {
    if (address_.empty()) redial_at_ = now + kAskAgain;
    return;
  }
  const auto present = std::ranges::find(addresses, address_);
  const bool is_last = present == addresses.end() || present + 1 == addresses.end();
  const std::string& next = is_last ? addresses.front() : *(present + 1);
  if (socket_ && next == address_) return;  // ZeroMQ tries it again
  const ZmqContext::Times& times = shared_.zmq.times();
  if (socket_) pause_ = std::clamp(2 * pause_, times.redial, times.redial_max);
  next_address_ = next;
  redial_at_ = redial_at_.value_or(now + pause_);
}

std::optional<DialledSocket::Change> DialledSocket::next_change() {
  while (socket_) {
    const auto event = socket_.next_monitor_event();
    if (!event) break;
    if (event->event == ZMQ_EVENT_CONNECTED) {
      is_connected_ = true;
      if (std::exchange(next_address_, std::nullopt)) redial_at_.reset();
      tcp_ = TcpPeek(event->value);
      tcp_.limit_unsent(kUnsentBytes);
      undelivered_.begin(tcp_);
    }
    if (event->event == ZMQ_EVENT_CONNECT_RETRIED) {
      is_connected_ = false;
      if (!next_address_) {
        redial_at_.reset();
        if (name_) name_->ask();
      }
    }
    if (event->event & kHandshakeFailed) handshake_failed(*event);
    if (event->event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
      hang_ups_ = 0;
      pause_ = Duration(0);
      redial_at_.reset();
      return Change::kUp;
    }
    if (event->event == ZMQ_EVENT_DISCONNECTED) {
      is_connected_ = false;
      redial_at_ = std::chrono::steady_clock::now() + kDialAnew;  // unless ZeroMQ does it
      return Change::kDown;
    }
  }
  return std::nullopt;
}

// Nothing here ends the link: what a connection says before its handshake is anybody's word.
void DialledSocket::handshake_failed(const ZmqSocket::MonitorEvent& event) {
  const bool is_encrypted = shared_.curve != nullptr;
  const bool without_detail = event.event == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;
  if (without_detail) {
    const bool hung_up = event.value == EPIPE || event.value == ECONNRESET;  // not: took too long
    if (!hung_up || ++hang_ups_ != kHangUpsMax) return;
  }
  std::string sentence = sentence_no_handshake(far_.name, endpoint_, is_encrypted);
  if (event.event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)
    sentence = sentence_key_denied(far_.name, endpoint_, shared_.self);
  else if (event.value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH)
    sentence = sentence_other_security(far_.name, endpoint_, is_encrypted);
  shared_.events.push_once({sentence, far_.node}, EventGate::peer(far_.node));
  if (!without_detail) dial_anew();
}

void DialledSocket::redial(TimePoint now) {
  if (!is_dialled()) return;
  if (const auto addresses = name_ ? name_->take() : std::nullopt) found(*addresses, now);
  if (!redial_at_ || now < *redial_at_) return;
  redial_at_.reset();
  if (next_address_) address_ = *std::exchange(next_address_, std::nullopt);
  if (name_ && address_.empty()) return name_->ask();
  (void)connect();
}

void DialledSocket::hang_up() {
  end();
  dial_anew();
}

// Looks the name up as well, since another node may have its former address.
void DialledSocket::dial_anew() {
  is_connected_ = false;
  redial_at_ = std::chrono::steady_clock::now() + kDialAnew;
  if (name_) name_->ask();
}

void DialledSocket::close() {
  end();
  endpoint_.clear();
  name_.reset();
}

void DialledSocket::end() {
  next_address_.reset();
  redial_at_.reset();
  is_connected_ = false;
  tcp_ = TcpPeek();
  socket_.close();
}

bool DialledSocket::receive(ZmqPart& part) {
  if (!socket_.receive(part)) return false;
  undelivered_.delivered(part.bytes().size());
  return true;
}

bool DialledSocket::floods(TimePoint now) {
  if (!tcp_ || now < looked_ + kLookAtPeers) return false;
  looked_ = now;
  return undelivered_.exceed(tcp_, kUndeliveredBytesMax);
}

TimePoint DialledSocket::deadline() const {
  const TimePoint look = tcp_ ? looked_ + kLookAtPeers : TimePoint::max();
  return std::min(look, redial_at_.value_or(TimePoint::max()));
}

}  // namespace kimesh
