// Ends of TCP connections that speak as much of ZeroMQ's protocol as an attacker needs (ZMTP 3.1,
// NULL security, rfc.zeromq.org/spec/37).
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace kimesh {

class RawClient {
 public:
  // Connects to tcp://127.0.0.1:PORT.
  explicit RawClient(const std::string& endpoint) : RawClient(::socket(AF_INET, SOCK_STREAM, 0)) {
    EXPECT_TRUE(connect(endpoint)) << errno;
  }
  // Who tries to, and may fail: for this long, or, where that is no time, without waiting at all.
  static RawClient that_tries(const std::string& endpoint, std::chrono::seconds time) {
    RawClient client(::socket(AF_INET, SOCK_STREAM | (time.count() > 0 ? 0 : SOCK_NONBLOCK), 0));
    client.be_patient(time);
    static_cast<void>(client.connect(endpoint));
    return client;
  }
  // The end of a connection that a RawServer has accepted.
  explicit RawClient(int fd) : fd_(fd) { be_patient(std::chrono::seconds(30)); }
  RawClient(RawClient&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  RawClient& operator=(RawClient&&) = delete;
  ~RawClient() {
    if (fd_ >= 0) ::close(fd_);
  }

  // How long send() and receive() wait for the far side, at first 30 s.
  void be_patient(std::chrono::seconds time) {
    const timeval patience{.tv_sec = time.count(), .tv_usec = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  }
  // False: the far side has ended the connection, or reads nothing for so long.
  bool send(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return true;
  }
  // Greeting and READY, and those of the far side, before which no frame may be sent.
  // `routing_id`: that it claims; empty: none.
  bool greet(const std::string& socket_type = "DEALER", const std::string& routing_id = "") {
    std::vector<std::byte> bytes = greeting("NULL");
    using namespace std::string_view_literals;
    std::string ready("\x05READY\x0bSocket-Type\0\0\0\x06"sv);
    ready += socket_type;  // DEALER and ROUTER have six letters
    if (!routing_id.empty())
      ready +=
          std::string("\x08Identity\0\0\0"sv) + static_cast<char>(routing_id.size()) + routing_id;
    bytes.push_back(std::byte{4});
    bytes.push_back(static_cast<std::byte>(ready.size()));
    for (const char c : ready) bytes.push_back(static_cast<std::byte>(c));
    std::vector<std::byte> answer(kGreetingBytes + 2);
    if (!send(bytes) || !receive(answer)) return false;
    answer.resize(std::to_integer<std::size_t>(answer.back()));
    return receive(answer);
  }
  // The greeting of a client that has a key, and that of the far side: what comes next should be
  // the client's first command.
  bool begin_curve() {
    std::vector<std::byte> answer(kGreetingBytes);
    return send(greeting("CURVE")) && receive(answer);
  }
  // The content of the next frame, empty where the connection has ended.
  std::vector<std::byte> next_frame() {
    std::vector<std::byte> head(2);
    if (!receive(head)) return {};
    std::size_t size = std::to_integer<std::size_t>(head[1]);
    if ((head[0] & std::byte{2}) !=
        std::byte{0}) {  // a length of 64 bits, of which this is the first
      std::vector<std::byte> rest(7);
      if (!receive(rest)) return {};
      size = 0;
      for (const std::byte byte : rest) size = size << 8 | std::to_integer<std::size_t>(byte);
    }
    std::vector<std::byte> content(size);
    return receive(content) ? content : std::vector<std::byte>();
  }
  // A frame as ZeroMQ sends it.
  bool frame(std::span<const std::byte> content, bool more = false) {
    std::vector<std::byte> bytes(9);
    bytes[0] = std::byte{static_cast<unsigned char>(more ? 3 : 2)};  // with a length of 64 bits
    for (std::size_t i = 0; i < 8; ++i)
      bytes[8 - i] = static_cast<std::byte>(content.size() >> (8 * i));
    bytes.insert(bytes.end(), content.begin(), content.end());
    return send(bytes);
  }
  // Without waiting: whether the far side has ended the connection. What it said is dropped.
  bool has_ended() {
    std::array<std::byte, 4096> bytes;
    for (;;) {
      const ssize_t count = ::recv(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (count <= 0) return count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
    }
  }
  // Reads on. True: the far side ended the connection; false: it stood for 30 s in silence.
  bool ended() {
    std::array<std::byte, 4096> bytes;
    for (;;) {
      const ssize_t count = ::recv(fd_, bytes.data(), bytes.size(), 0);
      if (count > 0) continue;
      return count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
    }
  }

 private:
  static constexpr std::size_t kGreetingBytes = 64;
  static std::vector<std::byte> greeting(const char* mechanism) {
    std::vector<std::byte> bytes(kGreetingBytes);
    bytes[0] = std::byte{0xff};
    bytes[9] = std::byte{0x7f};
    bytes[10] = std::byte{3};
    append(bytes, 12, mechanism);
    return bytes;
  }
  [[nodiscard]] bool connect(const std::string& endpoint) const {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int port = std::stoi(endpoint.substr(endpoint.rfind(':') + 1));
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  bool receive(std::span<std::byte> bytes) {
    return ::recv(fd_, bytes.data(), bytes.size(), MSG_WAITALL) == std::ssize(bytes);
  }
  static void append(std::vector<std::byte>& bytes, std::size_t at, const char* text) {
    for (; *text; ++text, ++at) bytes[at] = static_cast<std::byte>(*text);
  }
  int fd_;
};

// Listens on loopback.
class RawServer {
 public:
  // At tcp://127.0.0.1:PORT, where connections of who listened there before may still end. Port 0:
  // the kernel chooses one.
  explicit RawServer(const std::string& endpoint = "tcp://127.0.0.1:0")
      : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const int again = 1;
    ::setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &again, sizeof again);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int port = std::stoi(endpoint.substr(endpoint.rfind(':') + 1));
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(fd_, raw, size) | ::listen(fd_, 8), 0);
    EXPECT_EQ(::getsockname(fd_, raw, &size), 0);
    port_ = ntohs(address.sin_port);
  }
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;
  ~RawServer() { ::close(fd_); }
  [[nodiscard]] std::string endpoint() const { return "tcp://127.0.0.1:" + std::to_string(port_); }
  // The next one who connects.
  [[nodiscard]] RawClient accept() const { return RawClient(::accept(fd_, nullptr, nullptr)); }

 private:
  int fd_, port_ = 0;
};

}  // namespace kimesh
