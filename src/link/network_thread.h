// The thread that owns every socket of a node, and the commands that other threads give it.
#pragma once

#include <atomic>
#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

#include "event_gate.h"
#include "fd.h"
#include "incoming_connections.h"
#include "kimesh/emulation/shaper.h"
#include "kimesh/link/network.h"
#include "outgoing_connection.h"
#include "peers.h"
#include "zmq_socket.h"

namespace kimesh {

struct DialCommand {
  LinkIndex link;
  std::string endpoint;
};
struct CutCommand {
  LinkIndex link;
};
struct CutIncomingCommand {
  LinkIndex link;
  unsigned chunks;  // of each connection, before it is cut
};
struct CountersCommand {
  LinkIndex link;
  std::promise<LinkCounters> answer;
};
struct NetworkCountersCommand {
  std::promise<NetworkCounters> answer;
};
struct FlushCommand {
  std::promise<void> done;
};
struct EmulationCommand {
  TimePoint start;
};
struct StopCommand {};
using Command = std::variant<SendMessage, SendApplied, SendHalt, SendBye, DialCommand, CutCommand,
                             CutIncomingCommand, CountersCommand, NetworkCountersCommand,
                             FlushCommand, EmulationCommand, StopCommand>;

class Network::Thread {
 public:
  Thread(NetworkOptions options, EventSink events, WakeEvent wake_event, Timer timer);
  [[nodiscard]] Status listen();
  void begin();
  ~Thread();

  void command(Command command);  // from any thread
  [[nodiscard]] const std::string& bound_endpoint() const { return bound_endpoint_; }

 private:
  void run();
  [[nodiscard]] bool pass();
  void wait();
  void serve();
  void execute();
  void execute(SendMessage& command) { outgoing(command.link).send(std::move(command)); }
  void execute(SendApplied& command) { incoming_.send_applied(command.link, command.applied); }
  void execute(SendHalt& command);
  void execute(SendBye&);
  void execute(DialCommand& command);
  void execute(CutCommand& command) { outgoing(command.link).cut(); }
  void execute(CutIncomingCommand& command) { incoming_.cut_after(command.link, command.chunks); }
  void execute(CountersCommand& command) {
    command.answer.set_value(outgoing(command.link).counters());
  }
  void execute(NetworkCountersCommand& command) {
    command.answer.set_value({incoming_.strangers_ended(), incoming_.foreign_frames(), passes_});
  }
  void execute(FlushCommand& command) { flushes_.push_back(std::move(command.done)); }
  void execute(EmulationCommand& command) { shaper_.start_traces(command.start); }
  void execute(StopCommand&) { stop_ = true; }
  void answer_flushes();
  [[nodiscard]] OutgoingConnection& outgoing(LinkIndex link);
  [[nodiscard]] TimePoint deadline();
  [[nodiscard]] const CurveKeys* curve() const {
    return options_.curve ? &*options_.curve : nullptr;
  }
  [[nodiscard]] NameLookup::Shared names() const { return {options_.resolve, wake_event_}; }

  NetworkOptions options_;
  // Order of destruction: sockets before their context.
  ZmqContext zmq_;
  WakeEvent wake_event_;
  Timer timer_;
  BoundedQueue<std::unique_ptr<Command>> commands_;
  EventGate events_;
  Peers peers_;
  Shaper shaper_;
  IncomingConnections incoming_;
  std::deque<OutgoingConnection> outgoing_;  // in the order of the options, which is the shaper's
  std::unordered_map<LinkIndex, std::size_t> places_;
  std::vector<Shaper::Release> due_;
  std::vector<zmq_pollitem_t> poll_;
  std::optional<TimePoint> timer_at_;
  std::vector<std::promise<void>> flushes_;
  std::uint64_t passes_ = 0;
  Duration gate_retry_{0};  // until the engine's queue is tried again
  bool clean_ = false;      // a flush was asked for: sockets may linger
  bool stop_ = false;
  std::string bound_endpoint_;
  std::thread thread_;
};

}  // namespace kimesh
