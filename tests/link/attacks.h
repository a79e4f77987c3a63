// What anybody can do who reaches a node's port, by a process of its own. Loopback only;
// connections, bytes and time are bounded, and the process ends with its parent.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kimesh/util/fd.h"
#include "kimesh/util/random.h"
#include "kimesh/wire/frame.h"
#include "tests/link/fuzzed_frames.h"
#include "tests/link/keyed_thieves.h"
#include "tests/link/raw_client.h"
#include "tests/link/target.h"

namespace kimesh::test {

// What an attack has come to.
struct AttackCount {
  double done = 0;             // connections, or megabytes of a flood
  double most_bytes_sent = 0;  // over one connection
};

// A kind of attack; step() is called again and again, and takes about 10 ms.
class Attack {
 public:
  explicit Attack(Target target) : target_(std::move(target)) {}
  virtual ~Attack() = default;
  virtual void step() = 0;
  [[nodiscard]] virtual AttackCount count() const { return {count_, most_bytes_sent_}; }

 protected:
  [[nodiscard]] RawClient connect() const {
    return RawClient::that_tries(target_.endpoint, std::chrono::seconds(1));
  }
  // As far as somebody gets without a key.
  [[nodiscard]] bool greet(RawClient& client, const std::string& routing_id = "") const {
    return target_.is_encrypted() ? client.begin_curve() : client.greet("DEALER", routing_id);
  }
  const Target target_;
  double count_ = 0, most_bytes_sent_ = 0;
};

// 2,000 come and are silent; those that the node ends come back, at most 500 a second.
class IdleConnections final : public Attack {
 public:
  using Attack::Attack;
  void step() override {
    std::erase_if(clients_, [](RawClient& client) { return client.has_ended(); });
    const int at_once = count_ < kMost ? kAtFirst : kAgain;
    for (int i = 0; i < at_once && clients_.size() < kMost; ++i, ++count_)
      clients_.push_back(RawClient::that_tries(target_.endpoint, std::chrono::seconds(0)));
  }

 private:
  static constexpr std::size_t kMost = 2000;
  static constexpr int kAtFirst = 50, kAgain = 5;
  std::list<RawClient> clients_;
};

// 500 connections a second come and go, every other one with a greeting.
class Churn final : public Attack {
 public:
  using Attack::Attack;
  void step() override {
    for (int i = 0; i < kAtOnce; ++i, ++count_) {
      RawClient client = connect();
      if (i % 2 == 0) static_cast<void>(greet(client));
    }
  }

 private:
  static constexpr int kAtOnce = 5;
};

// Parts of one message without an end.
class Flood final : public Attack {
 public:
  using Attack::Attack;
  void step() override {
    if (!client_ || client_->has_ended()) {
      client_ = std::make_unique<RawClient>(connect());
      sent_ = 0;
      if (!greet(*client_)) return client_.reset();
    }
    const std::vector<std::byte> part(60'000);
    for (int i = 0; i < kAtOnce; ++i) {
      if (!client_->frame(part, true)) return client_.reset();
      const auto bytes = static_cast<double>(part.size());
      count_ += 1e-6 * bytes;
      most_bytes_sent_ = std::max(most_bytes_sent_, sent_ += bytes);
    }
  }

 private:
  static constexpr int kAtOnce = 50;
  std::unique_ptr<RawClient> client_;
  double sent_ = 0;
};

// A stranger knows names, and no digests.
class FuzzedFrames final : public Attack {
 public:
  using Attack::Attack;
  void step() override {
    RawClient client = connect();
    if (!greet(client)) return;
    Hello hello;
    hello.from = names_[random_.below(2)];
    hello.to = "n0";
    hello.incarnation = 1;
    for (int i = 0; i < kFrames; ++i, ++count_) {
      auto frame = some_frame(random_, hello, static_cast<std::uint64_t>(i));
      if (random_.below(3) == 0) change(frame, random_);
      if (!client.frame(frame, random_.below(64) == 0)) return;
    }
  }

 private:
  static constexpr int kFrames = 100;
  const std::array<std::string, 2> names_{"n1", "n3"};
  Random random_{41, 0, 0, Purpose::kTest};
};

// Routing ids of the node's peers, and such as ZeroMQ makes up.
class ClaimedIds final : public Attack {
 public:
  using Attack::Attack;
  void step() override {
    using namespace std::string_view_literals;
    for (const std::string_view id : {"n1"sv, "n3"sv, "\0\0\0\0\1"sv, "\1\0\0\0\1"sv}) {
      RawClient client = connect();
      ++count_;
      if (!greet(client, std::string(id))) continue;
      static_cast<void>(client.frame(encode_frame(Halt{"n1", HaltKind::kFailure, "die"})) &&
                        client.frame(encode_frame(Bye{"n1"})));
    }
  }
};

// Somebody who says that he is one of the node's peers, and speaks for it: its names are no secret.
// Where the port is encrypted he has a key, which is not that of the name.
class StolenNames final : public Attack {
 public:
  explicit StolenNames(const Target& target) : Attack(target) {
    if (target.is_encrypted()) thieves_ = std::make_unique<KeyedThieves>(target);
  }
  void step() override {
    if (thieves_) {
      count_ += thieves_->step();
      return;
    }
    for (const char* name : {"n1", "n3"}) {
      Hello hello;
      hello.from = name;
      hello.to = "n0";
      hello.incarnation = 1;
      for (const bool says_hello : {true, false}) {
        RawClient client = connect();
        ++count_;
        if (!greet(client)) continue;
        static_cast<void>((!says_hello || client.frame(encode_frame(hello))) &&
                          client.frame(encode_frame(Halt{name, HaltKind::kFailure, "die"})) &&
                          client.frame(encode_frame(Bye{name})));
      }
    }
  }

 private:
  std::unique_ptr<KeyedThieves> thieves_;
};

// All of them in turn.
class AllAttacks final : public Attack {
 public:
  explicit AllAttacks(const Target& target) : Attack(target) {
    add<IdleConnections>(), add<Churn>(), add<Flood>(), add<FuzzedFrames>(), add<ClaimedIds>(),
        add<StolenNames>();
  }
  void step() override {
    for (const auto& attack : all_) attack->step();
    ++count_;
  }
  [[nodiscard]] AttackCount count() const override {
    AttackCount count{count_, 0};
    for (const auto& attack : all_)
      count.most_bytes_sent = std::max(count.most_bytes_sent, attack->count().most_bytes_sent);
    return count;
  }

 private:
  template <typename T>
  void add() {
    all_.push_back(std::make_unique<T>(target_));
  }
  std::vector<std::unique_ptr<Attack>> all_;
};

struct AttackKind {
  const char *key, *name, *counted;
  std::unique_ptr<Attack> (*make)(const Target& target);
};
template <typename T>
std::unique_ptr<Attack> make_attack(const Target& target) {
  return std::make_unique<T>(target);
}
inline constexpr AttackKind kAttacks[] = {
    {"idle", "2,000 idle connections", "connections", make_attack<IdleConnections>},
    {"churn", "500 connections a second come and go", "connections", make_attack<Churn>},
    {"flood", "messages that do not end", "MB", make_attack<Flood>},
    {"fuzz", "fuzzed frames", "frames", make_attack<FuzzedFrames>},
    {"ids", "claimed routing ids", "connections", make_attack<ClaimedIds>},
    {"names", "stolen names", "connections", make_attack<StolenNames>},
    {"all", "all of these", "rounds of all", make_attack<AllAttacks>},
};

// Forked before this process has threads.
class Attacker {
 public:
  static constexpr std::chrono::milliseconds kStep{10};
  static constexpr unsigned kSecondsMax = 3600;

  Attacker() {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return;
    const pid_t parent = ::getpid();
    process_ = ::fork();
    here_ = Fd(process_ == 0 ? ends[1] : ends[0]);
    ::close(process_ == 0 ? ends[0] : ends[1]);  // else no end would be seen
    if (process_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() == parent) serve();
    ::_exit(0);
  }
  Attacker(const Attacker&) = delete;
  Attacker& operator=(const Attacker&) = delete;
  ~Attacker() {
    here_ = Fd();
    if (process_ > 0) ::waitpid(process_, nullptr, 0);
  }
  [[nodiscard]] pid_t process() const { return process_; }
  // Begins an attack that ends after so many steps, or, where that is 0, with end().
  void begin(std::size_t kind, const Target& target, std::uint32_t steps = 0) const {
    Order order{.kind = static_cast<std::uint32_t>(kind), .steps = steps};
    const auto write = [](const std::string& text, auto& place) {
      text.copy(place.data(), place.size() - 1);
    };
    write(target.endpoint, order.endpoint);
    write(target.key, order.key);
    write(target.member.public_key, order.member_public);
    write(target.member.secret_key, order.member_secret);
    tell(order);
  }
  AttackCount end() const {
    tell(Order{});
    return wait();
  }
  // For the end of an attack that has steps.
  AttackCount wait() const {
    AttackCount count;
    const bool told = ::recv(here_.get(), &count, sizeof count, 0) == sizeof count;
    return told ? count : AttackCount{};
  }

 private:
  // No endpoint: the end of an attack.
  struct Order {
    using Key = std::array<char, kCurveKeyChars + 1>;
    std::uint32_t kind = 0, steps = 0;
    std::array<char, 64> endpoint{};
    Key key{}, member_public{}, member_secret{};
  };
  void tell(const Order& order) const {
    static_cast<void>(::send(here_.get(), &order, sizeof order, MSG_NOSIGNAL));
  }
  // What the parent said, within this time.
  std::optional<Order> hear(std::chrono::milliseconds time) {
    pollfd ready{here_.get(), POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(time.count())) <= 0) return std::nullopt;
    Order order;
    if (::recv(here_.get(), &order, sizeof order, 0) != sizeof order) ::_exit(0);
    return order;
  }
  AttackCount carry_out(const Order& order) {
    const auto attack =
        kAttacks[order.kind].make({order.endpoint.data(),
                                   order.key.data(),
                                   {order.member_public.data(), order.member_secret.data()}});
    auto next = std::chrono::steady_clock::now();
    const auto left = [&] {
      return std::max(std::chrono::milliseconds(0),
                      std::chrono::duration_cast<std::chrono::milliseconds>(
                          next - std::chrono::steady_clock::now()));
    };
    for (std::uint32_t step = 0; order.steps == 0 || step < order.steps; ++step) {
      if (hear(left())) break;
      next = std::max(next + kStep, std::chrono::steady_clock::now() - kStep);
      attack->step();
    }
    return attack->count();
  }
  void serve() {
    ::alarm(kSecondsMax);
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    for (;;) {
      const auto order = hear(std::chrono::hours(1));
      if (!order) ::_exit(1);
      const AttackCount count = carry_out(*order);
      static_cast<void>(::send(here_.get(), &count, sizeof count, MSG_NOSIGNAL));
    }
  }
  Fd here_;
  pid_t process_ = -1;
};

}  // namespace kimesh::test
