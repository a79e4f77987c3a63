// A TCP relay on loopback: it can stop one direction (a way that is dead while the way back is
// alive), hold connections back, delay bytes, let few of them pass, and cut connections at any
// byte.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <limits>
#include <list>
#include <string>
#include <thread>
#include <vector>

namespace kimesh {

class Relay {
 public:
  enum class Way { kThere, kBack };  // from who connects to the target, and back

  explicit Relay(std::chrono::milliseconds delay = {})
      : delay_(delay), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
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
  // From now on nobody is led on, until let_through().
  void hold() { held_ = true; }
  void let_through() { held_ = false; }
  // From now on nothing goes from those who connect to the target.
  void block() { blocked_ = true; }
  // From now on only so many bytes go this way, over all connections together.
  static constexpr std::ptrdiff_t kNoStint = std::numeric_limits<std::ptrdiff_t>::max();
  void stint(Way way, std::ptrdiff_t bytes) { left_[index(way)] = bytes; }
  // From the first byte on, `bytes` bytes go this way in each interval of length `every`, for
  // `times` intervals. After these all bytes go, or none to the target (block()).
  struct Pace {
    Way way;
    std::ptrdiff_t bytes;
    std::chrono::milliseconds every;
    int times;
    bool then_blocks = false;
  };
  // Called once, before anybody connects.
  void keep(const Pace& pace) {
    pace_ = pace;
    paced_ = true;
  }
  // From now on each connection ends once so many bytes have gone one way: `first` for the next
  // one, and `step` more for each that follows. Called before anybody connects.
  void cut_at(Way way, std::size_t first, std::size_t step) {
    cut_way_ = way;
    cut_at_ = first;
    cut_step_ = step;
  }
  [[nodiscard]] std::size_t connections() const { return connections_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Flow {
    struct Bytes {
      Clock::time_point due;
      std::vector<char> bytes;
    };
    Way way;
    int from, to;
    bool drops = false, ended = false;   // ended: what is on its way still arrives
    std::size_t left = ~std::size_t{0};  // until the cut
    std::deque<Bytes> waiting{};
    std::size_t waiting_bytes = 0;
  };
  struct Pipe {
    Flow there, back;
  };
  // As much as a way of 200 ms holds at 40 Mbit/s: behind it the sender waits.
  static constexpr std::size_t kWaitingMax = 1 << 20;

  static constexpr std::size_t index(Way way) { return way == Way::kThere ? 0 : 1; }
  static sockaddr_in loopback(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    return address;
  }
  void run() {
    std::list<Pipe> pipes;
    while (!stop_) {
      keep_pace();
      std::vector<pollfd> polled{{listener_, static_cast<short>(held_ ? 0 : POLLIN), 0}};
      for (const Pipe& pipe : pipes)
        for (const Flow* flow : {&pipe.there, &pipe.back})
          polled.push_back(
              {flow->ended || flow->waiting_bytes >= kWaitingMax ? -1 : flow->from, POLLIN, 0});
      ::poll(polled.data(), polled.size(), patience(pipes));
      std::size_t i = 1;
      for (auto pipe = pipes.begin(); pipe != pipes.end(); i += 2) {
        pipe->there.drops = blocked_;
        const bool alive = (polled[i].revents == 0 || take(pipe->there)) &&
                           (polled[i + 1].revents == 0 || take(pipe->back)) && give(pipe->there) &&
                           give(pipe->back);
        if (!alive) close(*pipe);
        pipe = alive ? std::next(pipe) : pipes.erase(pipe);
      }
      if (polled[0].revents != 0) pipes.push_back(join(::accept(listener_, nullptr, nullptr)));
    }
    for (const Pipe& pipe : pipes) close(pipe);
  }
  void keep_pace() {
    if (!paced_ || !pace_begun_ || next_ > Clock::now()) return;
    next_ = Clock::now() + pace_.every;
    left_[index(pace_.way)] = pace_.times > 0 ? pace_.bytes : kNoStint;
    if (pace_.times-- > 0) return;
    blocked_ = pace_.then_blocks;
    paced_ = false;
  }
  // Until bytes are due, or somebody may have told this thread something.
  [[nodiscard]] int patience(const std::list<Pipe>& pipes) const {
    constexpr std::chrono::milliseconds kLookAtOrders{50};
    auto wait = std::chrono::duration_cast<std::chrono::microseconds>(kLookAtOrders);
    for (const Pipe& pipe : pipes)
      for (const Flow* flow : {&pipe.there, &pipe.back})
        if (!flow->waiting.empty() && left_[index(flow->way)] > 0)
          wait = std::min(wait, std::chrono::ceil<std::chrono::microseconds>(
                                    flow->waiting.front().due - Clock::now()));
    return static_cast<int>(std::max<std::int64_t>((wait.count() + 999) / 1000, 0));
  }
  Pipe join(int from) {
    const int to = ::socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in address = loopback(target_port_);
    (void)::connect(to, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    Pipe pipe{{Way::kThere, from, to}, {Way::kBack, to, from}};
    if (cut_at_ > 0) (cut_way_ == Way::kThere ? pipe.there : pipe.back).left = cut_at_;
    cut_at_ += cut_step_;
    ++connections_;
    return pipe;
  }
  static void close(const Pipe& pipe) {
    ::close(pipe.there.from);
    ::close(pipe.there.to);
  }
  // False: the connection was broken.
  bool take(Flow& flow) const {
    std::vector<char> bytes(65536);
    const ssize_t count = ::recv(flow.from, bytes.data(), std::min(bytes.size(), flow.left), 0);
    if (count < 0) return false;
    flow.ended = count == 0;
    if (flow.ended || flow.drops) return true;
    bytes.resize(static_cast<std::size_t>(count));
    flow.left -= bytes.size();
    flow.waiting_bytes += bytes.size();
    flow.waiting.push_back({Clock::now() + delay_, std::move(bytes)});
    return true;
  }
  // Passes on what is due. False: one of the two has ended, or the cut has come.
  bool give(Flow& flow) {
    if (flow.drops) {
      flow.waiting.clear();
      flow.waiting_bytes = 0;
    }
    std::atomic<std::ptrdiff_t>& left = left_[index(flow.way)];
    while (!flow.waiting.empty() && flow.waiting.front().due <= Clock::now() && left > 0) {
      std::vector<char>& bytes = flow.waiting.front().bytes;
      const std::ptrdiff_t stint = left, count = std::min(stint, std::ssize(bytes));
      if (::send(flow.to, bytes.data(), static_cast<std::size_t>(count), MSG_NOSIGNAL) != count)
        return false;
      if (flow.way == pace_.way) pace_begun_ = true;
      if (stint != kNoStint) left -= count;
      bytes.erase(bytes.begin(), bytes.begin() + count);
      flow.waiting_bytes -= static_cast<std::size_t>(count);
      if (bytes.empty()) flow.waiting.pop_front();
    }
    return (flow.left > 0 && !flow.ended) || !flow.waiting.empty();
  }

  const std::chrono::milliseconds delay_;
  std::atomic<int> target_port_ = 0;
  int listener_, port_ = 0;
  Way cut_way_ = Way::kThere;
  std::size_t cut_at_ = 0, cut_step_ = 0;  // of the next connection; 0: it is not cut
  std::atomic<std::size_t> connections_{0};
  std::array<std::atomic<std::ptrdiff_t>, 2> left_{kNoStint, kNoStint};  // of the stint, by way
  Pace pace_{};
  bool pace_begun_ = false;   // a byte has gone that way
  Clock::time_point next_{};  // of the pace
  std::atomic<bool> stop_{false}, blocked_{false}, held_{false}, paced_{false};
  std::thread thread_;
};

}  // namespace kimesh
