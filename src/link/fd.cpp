#include "fd.h"

// linux/tcp.h, not netinet/tcp.h: only the kernel's header has the byte counters of tcp_info.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstring>

namespace kimesh {
namespace {

Error io_error(const char* what) {
  return {ErrorCode::kIo, fmt::format("cannot make {}: {}", what, std::strerror(errno))};
}

void drain(int fd) {
  std::uint64_t count = 0;
  while (::read(fd, &count, sizeof count) < 0 && errno == EINTR) {
  }
}

// What the kernel tells of a connection; zeros where there is none, and in what an older kernel
// leaves out.
tcp_info info_of(const Fd& socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (!socket || ::getsockopt(socket.get(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return {};
  return info;
}

}  // namespace

Result<WakeEvent> WakeEvent::make() {
  Fd fd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!fd) return io_error("an event descriptor");
  return WakeEvent(std::move(fd));
}
void WakeEvent::signal() const {
  const std::uint64_t one = 1;
  // The write fails only when the counter is full, and then the event is signalled already.
  while (::write(fd_.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
}
void WakeEvent::clear() const {
  drain(fd_.get());
}

Result<Timer> Timer::make() {
  Fd fd(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  if (!fd) return io_error("a timer");
  return Timer(std::move(fd));
}
void Timer::set(std::optional<TimePoint> at) const {
  itimerspec when{};
  if (at) {
    // A time of 0 would switch the timer off; one that has passed wakes at once.
    const auto ns = std::max<std::int64_t>(at->time_since_epoch().count(), 1);
    when.it_value.tv_sec = ns / 1'000'000'000;
    when.it_value.tv_nsec = ns % 1'000'000'000;
  }
  ::timerfd_settime(fd_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}
void Timer::clear() const {
  drain(fd_.get());
}

TcpPeek::TcpPeek(int zmq_fd) : fd_(::fcntl(zmq_fd, F_DUPFD_CLOEXEC, 0)) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (fd_ && ::getsockopt(fd_.get(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) fd_ = Fd();
}

TcpPeek::Bytes TcpPeek::bytes() const {
  const tcp_info told = info_of(fd_);
  return {told.tcpi_bytes_sent, told.tcpi_bytes_retrans};
}

std::uint64_t TcpPeek::received() const {
  return info_of(fd_).tcpi_bytes_received;
}

Duration TcpPeek::round_trip() const {
  constexpr std::uint32_t kUnknown = 0xffffffff;
  const std::uint32_t us = info_of(fd_).tcpi_min_rtt;
  return us == kUnknown ? Duration{0} : std::chrono::microseconds(us);
}

bool TcpPeek::drained() const {
  int unsent = 0;
  return fd_ && ::ioctl(fd_.get(), SIOCOUTQNSD, &unsent) == 0 && unsent == 0;
}

std::uint64_t TcpPeek::unread() const {
  int bytes = 0;
  return fd_ && ::ioctl(fd_.get(), FIONREAD, &bytes) == 0 && bytes > 0
             ? static_cast<std::uint64_t>(bytes)
             : 0;
}

void TcpPeek::limit_unsent(int bytes) const {
  if (fd_) ::setsockopt(fd_.get(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof bytes);
}

void TcpPeek::wake_at(std::size_t bytes) const {
  if (fd_) wake_accepted_at(fd_.get(), bytes);
}

void TcpPeek::keep_pace(double bytes_per_s) const {
  constexpr double kAnyRate = 4e9;  // the option has 32 bits, and all of them mean no limit
  const bool limited = bytes_per_s > 0 && bytes_per_s < kAnyRate;
  const std::uint32_t rate = limited ? static_cast<std::uint32_t>(std::ceil(bytes_per_s)) : ~0U;
  if (fd_) ::setsockopt(fd_.get(), SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof rate);
}

void TcpPeek::break_connection() const {
  if (!fd_) return;
  // Dissolving the association sends a reset and drops both queues; shutdown would deliver what is
  // queued.
  sockaddr nobody{};
  nobody.sa_family = AF_UNSPEC;
  ::connect(fd_.get(), &nobody, sizeof nobody);
}

void wake_accepted_at(int listening_fd, std::size_t bytes) {
  const int least = static_cast<int>(bytes);
  (void)::setsockopt(listening_fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least);
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);  // else it stays what it was
}

}  // namespace kimesh
