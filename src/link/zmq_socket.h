// ZeroMQ without exceptions; its types stay within this layer.
#pragma once

#include <zmq.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kimesh/link/curve.h"
#include "kimesh/util/ids.h"

namespace kimesh {

// The sockets for which the context of a node with so many links has room.
[[nodiscard]] int sockets_max(std::size_t links);

// The context of ZeroMQ, which outlives its sockets. Its destruction waits at most as long as the
// sockets linger.
class ZmqContext {
 public:
  // How long the connections of its sockets take to give up, each a part of `dead_after`.
  struct Times {
    Duration handshake, connect;  // of a connection that is being made
    Duration give_up;             // of sent bytes that nobody acknowledges
    Duration redial, redial_max;  // between two tries
  };
  ZmqContext(int sockets_max, Duration dead_after, Duration redial);
  ~ZmqContext();
  ZmqContext(const ZmqContext&) = delete;
  ZmqContext& operator=(const ZmqContext&) = delete;
  [[nodiscard]] void* raw() const { return context_; }
  [[nodiscard]] const Times& times() const { return times_; }

 private:
  void* context_;
  Times times_;
};

// One received part of a message.
class ZmqPart {
 public:
  ZmqPart() { zmq_msg_init(&message_); }
  ~ZmqPart() { zmq_msg_close(&message_); }
  ZmqPart(const ZmqPart&) = delete;
  ZmqPart& operator=(const ZmqPart&) = delete;
  [[nodiscard]] std::span<const std::byte> bytes() const;
  [[nodiscard]] bool more() const;
  // The TCP socket that brought it, -1 where unknown.
  [[nodiscard]] int source_fd() const;
  // The node whose key the connection has, on parts that hold content; empty: it is not encrypted.
  [[nodiscard]] std::string_view user_id() const;
  [[nodiscard]] zmq_msg_t* raw() { return &message_; }

 private:
  mutable zmq_msg_t message_;
};

enum class SendOutcome { kSent, kFull, kUnreachable };

// A socket and its monitor. Move-only. Thread: one at a time; another may take over after a full
// memory fence.
class ZmqSocket {
 public:
  ZmqSocket() = default;
  // Sets the options that both types of sockets share. Empty where ZeroMQ or the process has no
  // room for another socket: one that was closed takes room until a thread of ZeroMQ has ended it.
  ZmqSocket(ZmqContext& context, int type);

  void set(int option, int value);
  // Before bind, with the answerer of ZAP in place: where there is none ZeroMQ takes every key.
  void serve_curve(const CurvePair& own, const char* zap_domain);
  // Before connect: only to a node that holds the secret of `far_key`.
  void dial_curve(const CurvePair& own, const std::string& far_key);
  // `endpoint` has an address, or *, and no name; an IPv6 address stands in brackets.
  [[nodiscard]] int bind(const std::string& endpoint);     // 0 or errno; EMFILE: it is empty
  [[nodiscard]] int connect(const std::string& endpoint);  // 0 or errno
  [[nodiscard]] std::string last_endpoint() const;

  // Sends `pieces` as one part, behind the routing id where there is one. Never blocks.
  [[nodiscard]] SendOutcome send(std::initializer_list<std::span<const std::byte>> pieces,
                                 const std::string& routing_id = {});
  // Receives one part without waiting. False: there is none.
  [[nodiscard]] bool receive(ZmqPart& part);

  struct MonitorEvent {
    int event = 0;  // ZMQ_EVENT_*
    int value = 0;  // the fd; of a handshake that failed: why, as zmq_socket_monitor says
  };
  [[nodiscard]] std::optional<MonitorEvent> next_monitor_event();

  [[nodiscard]] void* raw() const { return socket_.get(); }
  [[nodiscard]] void* monitor() const { return monitor_.get(); }
  explicit operator bool() const { return socket_ != nullptr; }
  void close();

 private:
  [[nodiscard]] bool watch(ZmqContext& context);
  void set(int option, const std::string& value);
  void take_addresses_of(const std::string& endpoint);

  struct Close {
    void operator()(void* socket) const { zmq_close(socket); }
  };
  std::unique_ptr<void, Close> socket_, monitor_;
};

}  // namespace kimesh
