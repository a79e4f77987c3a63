// ZeroMQ behind values: no exception, no foreign type beyond these folders' sources.
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
#include <vector>

#include "kimesh/util/ids.h"

namespace kimesh {

// The library's state; outlives its sockets. Destruction waits for the sockets' linger at most.
class ZmqContext {
 public:
  explicit ZmqContext(int sockets_max);
  ~ZmqContext();
  ZmqContext(const ZmqContext&) = delete;
  ZmqContext& operator=(const ZmqContext&) = delete;
  [[nodiscard]] void* raw() const { return context_; }

 private:
  void* context_;
};

// One received part.
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
  [[nodiscard]] zmq_msg_t* raw() { return &message_; }

 private:
  mutable zmq_msg_t message_;
};

enum class SendOutcome { kSent, kFull, kUnreachable };

// A socket and its monitor. Move-only. Thread: one at a time, handed over with a full fence.
class ZmqSocket {
 public:
  ZmqSocket() = default;
  // Sets every option that both kinds share.
  ZmqSocket(ZmqContext& context, int type);

  void set(int option, int value);
  [[nodiscard]] int bind(const std::string& endpoint);     // 0 or errno
  [[nodiscard]] int connect(const std::string& endpoint);  // 0 or errno
  [[nodiscard]] std::string last_endpoint() const;

  // Never blocks. `pieces` follow one another in one part; a routing id in front of it where there
  // is one.
  [[nodiscard]] SendOutcome send(std::initializer_list<std::span<const std::byte>> pieces,
                                 const std::string& routing_id = {});
  // One part of a message, without waiting; false: there is none.
  [[nodiscard]] bool receive(ZmqPart& part);

  struct MonitorEvent {
    int event = 0;  // ZMQ_EVENT_*
    int value = 0;  // the fd, for those that we ask for
  };
  [[nodiscard]] std::optional<MonitorEvent> next_monitor_event();

  [[nodiscard]] void* raw() const { return socket_.get(); }
  [[nodiscard]] void* monitor() const { return monitor_.get(); }
  explicit operator bool() const { return socket_ != nullptr; }
  void close();

 private:
  void watch(ZmqContext& context);

  struct Close {
    void operator()(void* socket) const { zmq_close(socket); }
  };
  std::unique_ptr<void, Close> socket_, monitor_;
};

}  // namespace kimesh
