// The live links of one node over ZeroMQ: one bound ROUTER as inbox, one DEALER per outgoing link,
// one thread that owns every socket. Connections carry no routing id: a peer is whom its hello
// says, so a reconnect needs no help from its old TCP half. Wire grammar: wire/frame.h. Emulated
// rates, traces, delay and a shared uplink by the shaper, at the sender.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "kimesh/emulation/link_spec.h"
#include "kimesh/events/links.h"
#include "kimesh/util/bounded_queue.h"
#include "kimesh/util/ids.h"
#include "kimesh/util/result.h"
#include "kimesh/wire/frame.h"

namespace kimesh {

struct OutgoingLink {
  LinkIndex link = 0;
  NodeIndex to = 0;
  std::string name;      // of the far node
  std::string endpoint;  // tcp://HOST:PORT to dial; empty: Network::dial says it later
  LinkSpec spec;         // emulation
};
struct IncomingLink {
  LinkIndex link = 0;
  NodeIndex from = 0;
  std::string name;
  std::size_t message_bytes_max = 0;  // the largest message that the plan allows on this link
};

struct NetworkOptions {
  NodeIndex self = 0;
  std::string listen;  // tcp://HOST:PORT; port * is chosen by the kernel (tests)
  Hello hello;         // from, incarnation and digests; `to` is filled in per link
  std::vector<OutgoingLink> outgoing;
  std::vector<IncomingLink> incoming;
  std::optional<double> uplink_bits_per_s;  // emulated, shared by the emulated outgoing links
  Duration heartbeat{
      std::chrono::seconds(1)};  // between signs of life on an idle connection; < dead_after / 3
};

// ---- what the network tells the engine, beside events/links.h
// Final, the link is not dialled any more: the far node does not want us, or answered with what
// kimesh does not send.
struct LinkRefused {
  LinkIndex link;
  std::string sentence;
};
struct PeerArrived {
  NodeIndex node;
};  // incoming link: a good hello (again, after a reconnect)
// Somebody whom we do not want called, or sent what kimesh does not send. Each sentence is told
// once.
struct PeerRefused {
  std::string sentence;
};
struct PeerRestarted {
  NodeIndex node;
  std::string sentence;
};  // final: it has lost its state
struct NetworkFailed {
  std::string sentence;
};  // an address that cannot be dialled
// PeerHeard comes at most once per 100 ms and node.
using NetworkEvent = std::variant<LinkUp, LinkDown, MessageArrived, MessageAcked, MessageApplied,
                                  PeerHeard, PeerHalted, PeerBye, LinkRefused, PeerArrived,
                                  PeerRefused, PeerRestarted, NetworkFailed>;

// What an event weighs in a queue, in bytes.
[[nodiscard]] std::size_t event_weight(const NetworkEvent& event);

// Takes an event, or says false and leaves it untouched: no room now, it is offered again. Called
// on the network thread, must not wait. One that nobody listens to any more says true.
using EventSink = std::function<bool(NetworkEvent& event)>;
// Into a queue of its own, weighed in bytes; `events` outlives the sink.
[[nodiscard]] EventSink sink_into(BoundedQueue<NetworkEvent>& events);

// Bytes counted on one outgoing link since the start.
struct LinkCounters {
  std::uint64_t payload_messages = 0;  // handed over, each counted once
  std::uint64_t message_bytes = 0;     // wire_bytes of those
  // All frames put on the socket with ZeroMQ's framing and greetings, re-sent and control ones
  // included: what TCP carries.
  std::uint64_t frame_bytes = 0;
  std::uint64_t reconnects = 0;
  std::uint64_t queued_messages = 0;  // handed over and not acked, now
  std::uint64_t tcp_bytes_sent = 0, tcp_bytes_retransmitted =
                                        0;  // TCP_INFO of the connections, summed; 0 where unknown
};

class Network {
 public:
  // Binds and starts the thread. While `events` takes nothing the network reads no more sockets, so
  // memory stays bounded and nothing is lost. Errors: Network (the address is in use or not of this
  // machine), naming it.
  [[nodiscard]] static Result<std::unique_ptr<Network>> start(NetworkOptions options,
                                                              EventSink events);
  ~Network();  // stops the thread; what is not sent by then is lost

  // Second 0 of the emulated traces, which was the network's own start so far: a run's nodes begin
  // together, their processes do not.
  void start_emulation(TimePoint start);
  // Where an outgoing link leads, if its endpoint was left empty. Thread: any, like all here.
  void dial(LinkIndex link, std::string endpoint);
  // The message is kept until it is acked. Never blocks for the wire: the caller sends at most one
  // message per channel before its `applied`, which bounds what is held.
  void send(SendMessage action);
  void send(const SendApplied& action);
  // To all peers, both directions. Data that has not left is dropped: a halt does not queue behind
  // what a slow link would take minutes for.
  void send(SendHalt action);
  void send(SendBye action);
  // The last call: waits until all frames handed over for connected peers are on the sockets, hangs
  // up on all outgoing links, and waits until the peers have hung up on theirs, which they do when
  // they have read what we said; at most `limit`. The destructor then gives the sockets up to a
  // second to send what they hold.
  void flush(Duration limit);

  [[nodiscard]] std::string bound_endpoint() const;           // with the port that the kernel chose
  [[nodiscard]] LinkCounters counters(LinkIndex link) const;  // outgoing

 private:
  class Thread;
  friend class NetworkBreaker;  // tests/link/break_connection.h
  explicit Network(std::unique_ptr<Thread> thread);
  std::unique_ptr<Thread> thread_;
};

}  // namespace kimesh
