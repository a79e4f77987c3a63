// What anybody can do who reaches a node's port, by a process of its own that gets half a core.
// Loopback only; connections, bytes and time are bounded, and the process ends with its parent.
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
#include <cstring>
#include <filesystem>
#include <fstream>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kimesh/util/fd.h"
#include "kimesh/util/random.h"
#include "kimesh/wire/frame.h"
#include "tests/link/fuzzed_frames.h"
#include "tests/link/raw_client.h"

namespace kimesh::bench {

// A kind of attack; step() is called again and again, and takes about 10 ms.
class Attack {
 public:
  explicit Attack(std::string endpoint) : endpoint_(std::move(endpoint)) {}
  virtual ~Attack() = default;
  virtual void step() = 0;
  // Of what it does: connections, or megabytes of a flood.
  [[nodiscard]] double count() const { return count_; }

 protected:
  [[nodiscard]] RawClient connect() const {
    return RawClient::that_tries(endpoint_, std::chrono::seconds(1));
  }
  const std::string endpoint_;
  double count_ = 0;
};

// 2,000 come and are silent; those that the node ends come back, at most 500 a second.
class IdleConnections final : public Attack {
 public:
  using Attack::Attack;
  void step() override {
    std::erase_if(clients_, [](RawClient& client) { return client.has_ended(); });
    const int at_once = count_ < kMost ? kAtFirst : kAgain;
    for (int i = 0; i < at_once && clients_.size() < kMost; ++i, ++count_)
      clients_.push_back(RawClient::that_tries(endpoint_, std::chrono::seconds(0)));
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
      if (i % 2 == 0) static_cast<void>(client.greet());
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
      if (!client_->greet()) return client_.reset();
    }
    const std::vector<std::byte> part(60'000);
    for (int i = 0; i < kAtOnce; ++i, count_ += 1e-6 * static_cast<double>(part.size()))
      if (!client_->frame(part, true)) return client_.reset();
  }

 private:
  static constexpr int kAtOnce = 50;
  std::unique_ptr<RawClient> client_;
};

// A stranger knows names, and no digests.
class FuzzedFrames final : public Attack {
 public:
  using Attack::Attack;
  void step() override {
    RawClient client = connect();
    if (!client.greet()) return;
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
      if (!client.greet("DEALER", std::string(id))) continue;
      static_cast<void>(client.frame(encode_frame(Halt{"n1", HaltKind::kFailure, "die"})) &&
                        client.frame(encode_frame(Bye{"n1"})));
    }
  }
};

// All of them in turn.
class AllAttacks final : public Attack {
 public:
  explicit AllAttacks(const std::string& endpoint) : Attack(endpoint) {
    add<IdleConnections>(), add<Churn>(), add<Flood>(), add<FuzzedFrames>(), add<ClaimedIds>();
  }
  void step() override {
    for (const auto& attack : all_) attack->step();
    ++count_;
  }

 private:
  template <typename T>
  void add() {
    all_.push_back(std::make_unique<T>(endpoint_));
  }
  std::vector<std::unique_ptr<Attack>> all_;
};

struct AttackKind {
  const char *key, *name, *counted;
  std::unique_ptr<Attack> (*make)(const std::string& endpoint);
};
template <typename T>
std::unique_ptr<Attack> make_attack(const std::string& endpoint) {
  return std::make_unique<T>(endpoint);
}
inline constexpr AttackKind kAttacks[] = {
    {"idle", "2,000 idle connections", "connections", make_attack<IdleConnections>},
    {"churn", "500 connections a second come and go", "connections", make_attack<Churn>},
    {"flood", "messages that do not end", "MB", make_attack<Flood>},
    {"fuzz", "fuzzed frames", "frames", make_attack<FuzzedFrames>},
    {"ids", "claimed routing ids", "connections", make_attack<ClaimedIds>},
    {"all", "all of these", "rounds of all", make_attack<AllAttacks>},
};

// A group of the CPU controller that gives its processes half a core, gone at the end.
class HalfACore {
 public:
  HalfACore() {
    namespace fs = std::filesystem;
    const std::string name = "/kimesh-bench-" + std::to_string(::getpid());
    for (const char* root :
         {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup"}) {
      remove_those_left_in(root);
      const std::string folder = root + name;
      std::error_code code;
      if (!fs::create_directory(folder, code)) continue;
      folder_ = folder;
      if (!fs::exists(folder + "/cgroup.procs")) leave();  // no file system of groups
      if (write("cpu.cfs_period_us", "100000") && write("cpu.cfs_quota_us", "50000")) return;
      if (write("cpu.max", "50000 100000")) return;
      leave();
    }
  }
  HalfACore(const HalfACore&) = delete;
  HalfACore& operator=(const HalfACore&) = delete;
  ~HalfACore() { leave(); }
  // False: there is no such group here, or the process could not be put into it.
  [[nodiscard]] bool take(pid_t process) const {
    return write("cgroup.procs", std::to_string(process));
  }

 private:
  // Of a benchmark that was killed. One that has processes stays.
  static void remove_those_left_in(const std::string& root) {
    std::error_code code;
    for (const auto& entry : std::filesystem::directory_iterator(root, code))
      if (entry.path().filename().string().starts_with("kimesh-bench-"))
        ::rmdir(entry.path().c_str());
  }
  [[nodiscard]] bool write(const char* file, const std::string& text) const {
    if (folder_.empty()) return false;
    std::ofstream out(folder_ + "/" + file);
    out << text << std::flush;
    return static_cast<bool>(out);
  }
  void leave() {
    if (!folder_.empty()) ::rmdir(std::exchange(folder_, "").c_str());
  }
  std::string folder_;
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
  void begin(std::size_t kind, const std::string& endpoint) const {
    tell(std::string(1, static_cast<char>(kind)) + endpoint);
  }
  // What it counted.
  [[nodiscard]] double end() const {
    tell("");
    double count = 0;
    return ::recv(here_.get(), &count, sizeof count, 0) == sizeof count ? count : 0;
  }

 private:
  void tell(const std::string& words) const {
    const std::string line = words + '\n';  // a packet of no bytes would be the end
    static_cast<void>(::send(here_.get(), line.data(), line.size(), MSG_NOSIGNAL));
  }
  // What the parent said, within this time; "": nothing; "\n" ends an attack.
  std::string hear(std::chrono::milliseconds time) {
    pollfd ready{here_.get(), POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(time.count())) <= 0) return "";
    std::array<char, 256> words{};
    const ssize_t size = ::recv(here_.get(), words.data(), words.size(), 0);
    if (size <= 0) ::_exit(0);
    return {words.data(), static_cast<std::size_t>(size)};
  }
  void serve() {
    ::alarm(kSecondsMax);
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    for (;;) {
      const std::string words = hear(std::chrono::hours(1));
      if (words.size() < 2) ::_exit(1);
      double count = 0;
      {
        const auto attack = kAttacks[static_cast<std::size_t>(words.front())].make(
            words.substr(1, words.size() - 2));
        auto next = std::chrono::steady_clock::now();
        const auto left = [&] {
          return std::max(std::chrono::milliseconds(0),
                          std::chrono::duration_cast<std::chrono::milliseconds>(
                              next - std::chrono::steady_clock::now()));
        };
        while (hear(left()).empty()) {
          next = std::max(next + kStep, std::chrono::steady_clock::now() - kStep);
          attack->step();
        }
        count = attack->count();
      }
      static_cast<void>(::send(here_.get(), &count, sizeof count, MSG_NOSIGNAL));
    }
  }
  Fd here_;
  pid_t process_ = -1;
};

}  // namespace kimesh::bench
