// File descriptors of the network thread: its wake event, its timer,
// and the TCP sockets that it looks into.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "kimesh/util/fd.h"
#include "kimesh/util/ids.h"
#include "kimesh/util/result.h"

namespace kimesh {

// An eventfd: any thread signals it, and the thread that polls it wakes.
class WakeEvent {
 public:
  [[nodiscard]] static Result<WakeEvent> make();
  void signal() const;
  void clear() const;
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  explicit WakeEvent(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

// A timerfd: wakes the thread that polls it at a time of the steady clock, to the microsecond;
// zmq_poll alone counts milliseconds.
class Timer {
 public:
  [[nodiscard]] static Result<Timer> make();
  void set(std::optional<TimePoint> at) const;  // nothing: never
  void clear() const;
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  explicit Timer(Fd fd) : fd_(std::move(fd)) {}
  Fd fd_;
};

inline constexpr int kUnsentBytes = 128 * 1024;  // in the kernel: measured to cost no throughput

// A second handle on a TCP socket of ZeroMQ. It stays valid after ZeroMQ has closed its own, so
// that the last figures of a connection can be read, and the system does not reuse the descriptor.
// It keeps the socket open, and is dropped soon after.
class TcpPeek {
 public:
  TcpPeek() = default;
  explicit TcpPeek(int zmq_fd);  // duplicates; no handle where that fails or it is no TCP socket

  struct Bytes {
    std::uint64_t sent = 0, retransmitted = 0;
  };
  [[nodiscard]] Bytes bytes() const;  // TCP_INFO; 0 where unknown
  // Bytes received on the connection so far (TCP_INFO); 0 where unknown.
  [[nodiscard]] std::uint64_t received() const;
  // The shortest of the last minutes, as the kernel measured it; 0: not known.
  [[nodiscard]] Duration round_trip() const;
  // True: the kernel holds nothing that has not been sent. False where unknown.
  [[nodiscard]] bool drained() const;
  // Bytes that the kernel holds and nobody has read (FIONREAD); 0 where unknown.
  [[nodiscard]] std::uint64_t unread() const;
  void limit_unsent(int bytes) const;  // TCP_NOTSENT_LOWAT
  // Who polls the socket is not told of fewer bytes (SO_RCVLOWAT); of its end it is.
  void wake_at(std::size_t bytes) const;
  // The kernel sends no faster (SO_MAX_PACING_RATE); 0: as fast as it can.
  void keep_pace(double bytes_per_s) const;
  // With a reset, as a failing network: queued bytes are lost. ZeroMQ reads the end.
  void break_connection() const;
  explicit operator bool() const { return static_cast<bool>(fd_); }
  [[nodiscard]] int fd() const { return fd_.get(); }

 private:
  Fd fd_;
};

// As TcpPeek::wake_at, for all connections that a listening socket accepts from now on.
void wake_accepted_at(int listening_fd, std::size_t bytes);

// Raises this process's limit on descriptors to the highest that it may have: each connection of a
// stranger takes two.
void raise_descriptor_limit();

}  // namespace kimesh
