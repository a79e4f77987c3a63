// The connection of a link that this node dials: a DEALER, its monitor and its handshakes. It is
// dialled again whenever it ends, until it is closed. A name is looked up whenever a try has
// failed, since the machine behind it may come back with another address; until there is an answer
// the last address is tried again.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>

#include "event_gate.h"
#include "fd.h"
#include "name_lookup.h"
#include "undelivered_bytes.h"
#include "zmq_socket.h"

namespace kimesh {

// Thread: the network's. The references outlive it.
class DialledSocket {
 public:
  struct Shared {
    ZmqContext& zmq;
    EventGate& events;
    const CurveKeys* curve;  // null: connections are not encrypted
    std::string self;        // this node's name
    NameLookup::Shared names;
  };
  struct Far {
    NodeIndex node;
    std::string name;
  };
  DialledSocket(Shared shared, Far far) : shared_(std::move(shared)), far_(std::move(far)) {}

  // Dials tcp://HOST:PORT, once the host's address is known. False: it cannot be dialled, which the
  // engine is told.
  bool dial(const std::string& endpoint);
  // The next thing that has happened to the connection; nothing: no more has. A connection that is
  // up can be spoken over; tcp() stays until it is dropped.
  enum class Change { kUp, kDown };
  [[nodiscard]] std::optional<Change> next_change();
  // Dials what ZeroMQ has given up, and the address that a lookup has found.
  void redial(TimePoint now);
  // Ends the connection; it is dialled again after a second.
  void hang_up();
  void close();

  [[nodiscard]] SendOutcome send(std::initializer_list<std::span<const std::byte>> parts) {
    return socket_.send(parts);
  }
  // The next frame. False: there is none.
  [[nodiscard]] bool receive(ZmqPart& part);
  // Whether the far side sends messages that do not end, or more than this thread reads. Looks
  // every kLookAtPeers.
  [[nodiscard]] bool floods(TimePoint now);

  [[nodiscard]] TcpPeek& tcp() { return tcp_; }
  [[nodiscard]] const TcpPeek& tcp() const { return tcp_; }
  void drop_tcp() { tcp_ = TcpPeek(); }
  [[nodiscard]] TimePoint deadline() const;                             // of redial() and floods()
  [[nodiscard]] bool is_dialled() const { return !endpoint_.empty(); }  // and not closed
  // Null, as monitor(): the host's address is not known yet, or nothing is dialled now.
  [[nodiscard]] void* socket() const { return socket_.raw(); }
  [[nodiscard]] void* monitor() const { return socket_.monitor(); }
  void linger(int ms) {
    if (socket_) socket_.set(ZMQ_LINGER, ms);
  }

 private:
  bool connect();
  void end();
  void dial_anew();
  void found(const std::vector<std::string>& addresses, TimePoint now);
  void handshake_failed(const ZmqSocket::MonitorEvent& event);

  Shared shared_;
  Far far_;
  std::string endpoint_;                     // empty: it is closed
  std::optional<NameLookup> name_;           // nothing: the host is an address
  std::string address_;                      // dialled for the name; empty: none is known yet
  std::optional<std::string> next_address_;  // dialled in place of address_ at redial_at_
  ZmqSocket socket_;
  bool is_connected_ = false;  // by TCP
  TcpPeek tcp_;
  UndeliveredBytes undelivered_;
  TimePoint looked_{};                  // at those
  unsigned hang_ups_ = 0;               // handshakes in a row
  Duration pause_{0};                   // before the next address of a name, where one has failed
  std::optional<TimePoint> redial_at_;  // ZeroMQ has given up, and this node has not
};

}  // namespace kimesh
