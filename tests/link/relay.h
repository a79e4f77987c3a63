// A TCP relay on loopback that can stop one direction: a way that is dead while the way back is
// alive.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace kimesh {

class Relay {
 public:
  Relay() : listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = loopback(0);
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_, raw, size) | ::listen(listener_, 8), 0);
    EXPECT_EQ(::getsockname(listener_, raw, &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  ~Relay() {
    stop_ = true;
    thread_.join();
    ::close(listener_);
  }
  [[nodiscard]] std::string address() const { return "tcp://127.0.0.1:" + std::to_string(port_); }
  // Where connections go from now on: tcp://127.0.0.1:PORT. Before, nobody may connect.
  void lead_to(const std::string& target) {
    target_port_ = std::stoi(target.substr(target.rfind(':') + 1));
  }
  // From now on nothing goes from those who connect to the target.
  void block() { blocked_ = true; }

 private:
  struct Pipe {
    int from, to;
  };
  static sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
  }
  void run() {
    std::vector<Pipe> pipes;
    while (!stop_) {
      std::vector<pollfd> polled{{listener_, POLLIN, 0}};
      for (const Pipe& pipe : pipes) {
        polled.push_back({pipe.from, POLLIN, 0});
        polled.push_back({pipe.to, POLLIN, 0});
      }
      constexpr int kLookAtStopMs = 50;
      ::poll(polled.data(), polled.size(), kLookAtStopMs);
      for (std::size_t i = pipes.size(); i-- > 0;) {
        const bool alive =
            (polled[2 * i + 1].revents == 0 || pass(pipes[i].from, pipes[i].to, blocked_)) &&
            (polled[2 * i + 2].revents == 0 || pass(pipes[i].to, pipes[i].from, false));
        if (alive) continue;
        close(pipes[i]);
        pipes.erase(pipes.begin() + static_cast<std::ptrdiff_t>(i));
      }
      if (polled[0].revents != 0) pipes.push_back(join(::accept(listener_, nullptr, nullptr)));
    }
    for (const Pipe& pipe : pipes) close(pipe);
  }
  Pipe join(int from) const {
    const int to = ::socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in address = loopback(target_port_);
    (void)::connect(to, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    return {from, to};
  }
  static void close(const Pipe& pipe) {
    ::close(pipe.from);
    ::close(pipe.to);
  }
  // False: one of the two has ended.
  static bool pass(int from, int to, bool drop) {
    std::array<char, 65536> bytes;
    const ssize_t count = ::recv(from, bytes.data(), bytes.size(), 0);
    if (count <= 0) return false;
    return drop || ::send(to, bytes.data(), static_cast<std::size_t>(count), MSG_NOSIGNAL) == count;
  }

  std::atomic<int> target_port_ = 0;
  int listener_, port_ = 0;
  std::atomic<bool> stop_{false}, blocked_{false};
  std::thread thread_;
};

}  // namespace kimesh
