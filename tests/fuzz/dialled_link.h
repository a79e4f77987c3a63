// A link that this process dials over loopback, without the network's thread, for inputs that say
// what the far side answers; and checks of what its engine is told.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "kimesh/util/check.h"
#include "kimesh/util/overloaded.h"
#include "src/link/incoming_connections.h"
#include "src/link/outgoing_connection.h"
#include "tests/fuzz/target.h"

namespace kimesh::fuzz {

inline constexpr RunTag kDialledTag{5, 0};
inline constexpr LinkIndex kDialledLink = 3;
inline constexpr NodeIndex kDialledFar = 1;
inline constexpr std::size_t kDialledMessageMax = 3000;
// Far longer than loopback takes: what waits so long hangs.
inline constexpr auto kDialledPatience = std::chrono::seconds(9);

// What the engine is told of the link, in an order that makes sense to it.
class Told {
 public:
  bool on(const NetworkEvent& event) {
    std::visit(
        Overloaded{[&](const OneOf<LinkUp, PeerArrived> auto&) {
                     KIMESH_CHECK(!up_ && !over_, "a link comes up once before it goes down");
                     up_ = was_up_ = true;
                   },
                   [&](const OneOf<LinkDown, PeerLeft> auto&) {
                     KIMESH_CHECK(std::exchange(up_, false), "a link goes down that was up");
                   },
                   [&](const MessageArrived& arrived) {
                     expect_up();
                     KIMESH_CHECK(arrived.message.payload.size() <= kDialledMessageMax,
                                  "as the plan allows");
                   },
                   [&](const MessageAcked& acked) {
                     expect_up();
                     ++acked_;
                     const bool sane = !acked.sample || (acked.sample->elapsed >= Duration(0) &&
                                                         acked.sample->tail_time >= Duration(0));
                     KIMESH_CHECK(sane, "no time is negative");
                   },
                   [&](const OneOf<MessageApplied, PeerBye> auto&) { expect_up(); },
                   [&](const PeerHalted& halted) {
                     expect_up();
                     expect_shown(halted.reason);
                   },
                   [&](const PeerHeard&) {},
                   [&](const PeerRefused& refused) { complain(refused.sentence); },
                   [&](const OneOf<LinkRefused, PeerRestarted> auto& refused) {
                     KIMESH_CHECK(!std::exchange(over_, true), "a link ends once");
                     up_ = false;
                     complain(refused.sentence);
                   },
                   [&](const NetworkFailed&) { KIMESH_CHECK(false, "loopback can be dialled"); }},
        event);
    return true;
  }
  [[nodiscard]] std::size_t acked() const { return acked_; }
  [[nodiscard]] bool is_over() const { return over_; }
  [[nodiscard]] bool was_up() const { return was_up_; }
  [[nodiscard]] const std::string& complaint() const { return complaint_; }

 private:
  void expect_up() const { KIMESH_CHECK(up_, "nobody is believed before a welcome"); }
  void complain(const std::string& sentence) {
    expect_shown(sentence);
    complaint_ = sentence;
  }
  static void expect_shown(const std::string& sentence) {
    KIMESH_CHECK(
        std::ranges::none_of(sentence, [](char c) { return (c >= 0 && c < ' ') || c == 127; }),
        "a stranger's words are shown without controls");
  }
  bool up_ = false, was_up_ = false, over_ = false;
  std::size_t acked_ = 0;
  std::string complaint_;
};

// Who was dialled.
class Far {
 public:
  Far() : zmq_(kSocketsMax, kDialledPatience, kDialledPatience), router_(zmq_, ZMQ_ROUTER) {
    KIMESH_CHECK(router_.bind("tcp://127.0.0.1:*") == 0, "loopback can be bound");
  }
  [[nodiscard]] std::string endpoint() const { return router_.last_endpoint(); }
  [[nodiscard]] void* socket() const { return router_.raw(); }
  // The latest connection that the process `incarnation` has said hello on.
  [[nodiscard]] std::uint32_t connection_of(std::uint64_t incarnation) {
    read(incarnation);
    return number_;
  }
  void say(Input frame, bool more) const {
    const int rest = more ? ZMQ_SNDMORE : 0;
    (void)zmq_send(router_.raw(), id_.data(), id_.size(), ZMQ_DONTWAIT | ZMQ_SNDMORE);
    (void)zmq_send(router_.raw(), frame.data(), frame.size(), ZMQ_DONTWAIT | rest);
    if (more) (void)zmq_send(router_.raw(), frame.data(), frame.size(), ZMQ_DONTWAIT);
  }
  void cut() { std::exchange(tcp_, TcpPeek()).break_connection(); }
  void forget() {
    cut();
    number_ = 0;
  }

 private:
  void read(std::uint64_t incarnation) {
    for (;;) {
      ZmqPart id, body;
      if (!router_.receive(id) || !router_.receive(body)) return;
      const auto frame = decode_frame(body.bytes());
      const Hello* hello = frame.ok() ? std::get_if<Hello>(&*frame) : nullptr;
      if (!hello || hello->incarnation != incarnation || hello->connection <= number_) continue;
      number_ = hello->connection;
      id_.assign(id.bytes().begin(), id.bytes().end());
      tcp_ = TcpPeek(body.source_fd());
    }
  }
  static constexpr int kSocketsMax = 8;
  ZmqContext zmq_;
  ZmqSocket router_;
  Bytes id_;
  TcpPeek tcp_;
  std::uint32_t number_ = 0;
};

// What a connection needs besides, and the Network otherwise has.
class Dialling {
 public:
  Dialling(std::uint64_t incarnation, bool dials_again)
      : zmq_(kSocketsMax, kDialledPatience, kRedial),
        events_([this](NetworkEvent& event) { return told_.on(event); }),
        peers_(kDialledPatience, dials_again),
        wake_(std::move(*WakeEvent::make())) {
    hello_.from = "a";
    hello_.incarnation = incarnation;
    hello_.build = "0.1.0";
    hello_.run = kDialledTag.run;
  }
  virtual ~Dialling() = default;
  Dialling(const Dialling&) = delete;
  Dialling& operator=(const Dialling&) = delete;

  // Null: it is not dialled, or was refused.
  [[nodiscard]] virtual void* socket() const = 0;
  [[nodiscard]] virtual void* monitor() const = 0;
  // One pass of the network's thread without its reading of frames.
  virtual void pass() = 0;
  virtual void read_one_frame() = 0;
  virtual void send(std::uint32_t bytes) = 0;
  virtual void end(bool halts) = 0;
  // Whether all that was sent is known to have arrived. Aborts where it is not counted once.
  [[nodiscard]] virtual bool all_arrived() const = 0;

  [[nodiscard]] const Told& told() const { return told_; }

 protected:
  static constexpr Duration kHeartbeat = std::chrono::milliseconds(100);
  static constexpr int kSocketsMax = 32;
  static constexpr Duration kRedial = std::chrono::milliseconds(1);
  ZmqContext zmq_;
  Told told_;
  EventGate events_;
  Peers peers_;
  WakeEvent wake_;
  Hello hello_;
};

class DialledSender final : public Dialling {
 public:
  DialledSender(std::uint64_t incarnation, bool dials_again, const std::string& endpoint)
      : Dialling(incarnation, dials_again),
        shaper_({LinkSpec{}}, std::nullopt, std::chrono::steady_clock::now()),
        link_({kDialledLink, kDialledFar, "b", endpoint, {}, false},
              {zmq_, events_, peers_, shaper_, hello_, kHeartbeat, nullptr, {resolve_name, wake_}},
              std::nullopt) {}
  [[nodiscard]] void* socket() const override { return link_.socket(); }
  [[nodiscard]] void* monitor() const override { return link_.monitor(); }
  void pass() override {
    link_.read_monitor();
    link_.pump(std::chrono::steady_clock::now());
  }
  void read_one_frame() override { link_.receive(1, std::chrono::steady_clock::now()); }
  void send(std::uint32_t bytes) override {
    if (told_.is_over()) return;
    SendMessage action{kDialledLink, {}, 0};
    action.message.payload = Payload(Bytes(bytes));
    link_.send(std::move(action));
    ++sent_;
  }
  void end(bool halts) override {
    halts ? link_.send_halt(Halt{"a", HaltKind::kUserStop, "stop"}) : link_.send_bye();
  }
  [[nodiscard]] bool all_arrived() const override {
    const std::size_t queued = link_.counters().queued_messages;
    KIMESH_CHECK(queued <= sent_ && queued + told_.acked() == sent_, "each message is acked once");
    return queued == 0;
  }

 private:
  Shaper shaper_;
  OutgoingConnection link_;
  std::size_t sent_ = 0;
};

class DialledReceiver final : public Dialling {
 public:
  DialledReceiver(std::uint64_t incarnation, bool dials_again, const std::string& endpoint)
      : Dialling(incarnation, dials_again),
        links_({{kDialledLink, kDialledFar, "b", kDialledMessageMax, true, endpoint}},
               {zmq_, events_, peers_, hello_, kHeartbeat, nullptr, {resolve_name, wake_}}) {}
  [[nodiscard]] void* socket() const override { return polled(1); }
  [[nodiscard]] void* monitor() const override { return polled(0); }
  void pass() override {
    links_.read_monitor();
    links_.pump(std::chrono::steady_clock::now());
  }
  void read_one_frame() override { links_.receive(1); }
  void send(std::uint32_t bytes) override {
    links_.send_applied(kDialledLink, Applied{.round = bytes, .shard = ShardIndex(bytes % 3)});
  }
  void end(bool halts) override {
    halts ? links_.send_halt(Halt{"a", HaltKind::kUserStop, "stop"}) : links_.send_bye();
  }
  [[nodiscard]] bool all_arrived() const override { return true; }

 private:
  [[nodiscard]] void* polled(std::size_t which) const {
    std::vector<zmq_pollitem_t> items;
    links_.poll(items, ZMQ_POLLIN);
    return items.empty() ? nullptr : items[which].socket;
  }
  IncomingConnections links_;
};

}  // namespace kimesh::fuzz
