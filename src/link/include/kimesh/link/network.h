// The live links of one node over ZeroMQ: one bound ROUTER for all incoming links, one DEALER per
// link that it dials, one thread that owns every socket. The sender of a link dials it, or its
// receiver does (OutgoingLink::awaits). A connection carries no routing id of ours: the hello names
// the peer, so that a reconnect does not depend on the old connection. The wire grammar
// is in docs/protocol.md. A shaper at the sender emulates rates, traces, delay and a shared uplink.
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
#include "kimesh/link/curve.h"
#include "kimesh/link/resolve.h"
#include "kimesh/util/bounded_queue.h"
#include "kimesh/util/ids.h"
#include "kimesh/util/result.h"
#include "kimesh/util/thrown.h"
#include "kimesh/wire/frame.h"

namespace kimesh {

// A number by which peers tell this process from an earlier one of the same name. It is no part of
// a run's randomness.
[[nodiscard]] std::uint64_t new_incarnation();

// Hello::config_digest of `kimesh doctor`: a doctor and a node that trains do not take each other
// for peers.
[[nodiscard]] std::uint64_t doctors_config_digest();

struct OutgoingLink {
  LinkIndex link = 0;
  NodeIndex to = 0;
  std::string name;      // of the far node
  std::string endpoint;  // tcp://HOST:PORT to dial; empty: given to Network::dial later
  LinkSpec spec;         // emulation
  bool awaits = false;   // the far node opens the connection; nothing is dialled
};
struct IncomingLink {
  LinkIndex link = 0;
  NodeIndex from = 0;
  std::string name;
  std::size_t message_bytes_max = 0;  // the largest message that the plan allows on this link
  bool dials = false;                 // this node opens the connection, as the far one awaits it
  std::string endpoint{};             // where it does; empty: given to Network::dial later
};

// How many of those who dial this node may begin the handshake of an encrypted connection while
// every peer that dials it is connected and was heard within three heartbeats. The others wait, and
// the oldest goes first. While a peer is missing nobody waits, since it may be among them. A
// handshake takes a node 0.8 to 0.9 ms of CPU (six multiplications on the curve, TCP, and memory
// for keys, which is locked): per_s of them take 4.5 % of a core. What is not bounded is the first
// half of the handshakes of those whose first command is there when ZeroMQ accepts them, and the
// second half of those who send about 64 KiB more with it (AcceptedConnections::hold_newcomers).
struct HandshakeLimit {
  double per_s = 50;    // >= 0
  double at_once = 16;  // >= 0, after a pause: nodes that dial at the same moment do not wait
};

struct NetworkOptions {
  NodeIndex self = 0;
  std::string listen;  // tcp://HOST:PORT; port * is chosen by the kernel (tests)
  Hello hello;         // from, incarnation, run and digests; the rest is filled in per link
  std::vector<OutgoingLink> outgoing;
  std::vector<IncomingLink> incoming;
  // With it all links are encrypted: who dials this node needs a key of the list, and the nodes
  // that it dials must have theirs there. Nothing: links are not encrypted.
  std::optional<CurveKeys> curve;
  // With `curve`: a connection without keys costs little.
  HandshakeLimit handshakes{};
  std::optional<double> uplink_bits_per_s;  // emulated, shared by all outgoing links
  Duration heartbeat{
      std::chrono::seconds(1)};  // between signs of life on an idle connection; < dead_after / 3
  // How long a silent link is believed in; connections give up, and are dialled, in parts of it.
  Duration dead_after{std::chrono::seconds(15)};
  Duration redial{std::chrono::milliseconds(200)};  // before the first try to dial again
  // Looks up the names in endpoints that are dialled, in threads of their own.
  Resolver resolve = resolve_name;
  // A node that refuses this one may be ending an earlier run: until a message was exchanged with
  // it, it is dialled again. PeerRefused says why, and neither LinkRefused nor PeerRestarted comes.
  bool dials_again = false;
  // Keeps what the network's thread throws, which from then on tells no more events and goes on for
  // a few seconds, so that a halt can leave. Outlives the network. Null: the process ends.
  Thrown* thrown = nullptr;
};

// ---- events of the network for the engine, beside those of events/links.h

// The far node refused us, or answered with what kimesh does not send. The link is not dialled
// again.
struct LinkRefused {
  LinkIndex link;
  std::string sentence;
};
struct PeerArrived {
  NodeIndex node;
};  // incoming link: a good hello (again, after a reconnect)
struct PeerLeft {
  NodeIndex node;
};  // the connection of an incoming link has ended, perhaps before PeerArrived
// A process that does not belong to the mesh dialled us, a peer sent what kimesh does not send, or
// a handshake failed over keys. Each sentence comes once, and few come of each source
// (link/event_gate.h): of anybody, of those who claim a peer's name, and of each peer.
struct PeerRefused {
  std::string sentence;
  // The node that it says it is, where the two refuse each other, or that this node dials in vain.
  // Anybody can say so, unless its key proves it, or the address at which it has answered.
  std::optional<NodeIndex> node{};
  bool is_proven = false;
};
// Final: the node has lost its state. Its key or its address proves who it is; where links are not
// encrypted, a hello that says so is anybody's word: it is refused (PeerRefused), and what counts
// is whether the node that was there stays silent.
struct PeerRestarted {
  NodeIndex node;
  std::string sentence;
};
struct NetworkFailed {
  std::string sentence;
};  // an address that cannot be dialled
// PeerHeard comes at most once per 100 ms and link. A node that restarts has lost its state:
// PeerRestarted is final.
using NetworkEvent = std::variant<LinkUp, LinkDown, MessageArrived, MessageAcked, MessageApplied,
                                  PeerHeard, PeerHalted, PeerBye, LinkRefused, PeerArrived,
                                  PeerLeft, PeerRefused, PeerRestarted, NetworkFailed>;

// The weight of an event in a queue, in bytes.
[[nodiscard]] std::size_t event_weight(const NetworkEvent& event);

// Takes an event and returns true, or returns false and leaves it untouched where there is no room;
// the event is offered again then. It runs on the network thread and must not wait. After its
// receiver has gone it returns true.
using EventSink = std::function<bool(NetworkEvent& event)>;
// A sink into `events`, whose capacity is in bytes and which outlives the sink.
[[nodiscard]] EventSink sink_into(BoundedQueue<NetworkEvent>& events);

// Bytes counted on one outgoing link since the start.
struct LinkCounters {
  std::uint64_t payload_messages = 0;  // handed over, each counted once
  std::uint64_t message_bytes = 0;     // wire_bytes of those
  // Bytes that TCP carries: all frames put on the socket, repeated and control frames included,
  // with ZeroMQ's framing and greetings.
  std::uint64_t frame_bytes = 0;
  std::uint64_t reconnects = 0;
  std::uint64_t queued_messages = 0;  // handed over and not acked, now
  std::uint64_t foreign_frames = 0;   // answers of another run or view, which were dropped
  std::uint64_t tcp_bytes_sent = 0, tcp_bytes_retransmitted =
                                        0;  // TCP_INFO of the connections, summed; 0 where unknown
};

// Counted since the start, on the socket that listens and of the network's thread.
struct NetworkCounters {
  std::uint64_t strangers_ended = 0;  // connections that ended for lack of a good hello
  std::uint64_t foreign_frames = 0;   // of peers, of another run or view, which were dropped
  std::uint64_t passes = 0;           // of the thread, each of which looks at every socket
};

class Network {
 public:
  // Binds and starts the thread. Raises the process's limit on descriptors as far as it goes, since
  // strangers take some. While `events` takes nothing the network reads no socket, so that
  // memory stays bounded and nothing is lost. Errors: Network (the address is in use or not of this
  // machine), naming it; UserInput (no CURVE).
  [[nodiscard]] static Result<std::unique_ptr<Network>> start(NetworkOptions options,
                                                              EventSink events);
  ~Network();  // stops the thread; what is not sent by then is lost

  // Moves second 0 of the emulated traces from the start of the network to `start`: the nodes of a
  // run begin together, their processes do not.
  void start_emulation(TimePoint start);
  // Dials a link whose endpoint was left empty. Thread: any, for all functions of this
  // class.
  void dial(LinkIndex link, std::string endpoint);
  // Keeps the message until it is acked, and never waits for the wire. The caller sends at most one
  // message per channel before its `applied` comes, which bounds the messages that are kept.
  void send(SendMessage action);
  void send(const SendApplied& action);
  // To all peers, in both directions. A halt does not wait behind data that a slow link would take
  // minutes for: data that has not left is dropped.
  void send(SendHalt action);
  void send(SendBye action);
  // The last call. It waits at most `limit`: until all frames for connected peers are on the
  // sockets. Peers that were heard within three heartbeats and whose connections are down get a
  // halt on their next connection first. Then it closes all outgoing links, and waits until the
  // peers have closed theirs, which they do after they have read our frames, and so do those that
  // were refused, for whom it waits 5 s at most. The destructor gives the sockets up to a second
  // more to send what they hold.
  void flush(Duration limit);

  [[nodiscard]] std::string bound_endpoint() const;  // with the port that the kernel chose
  // Of an outgoing link. Zeros, and so below, where the thread has thrown and ended.
  [[nodiscard]] LinkCounters counters(LinkIndex link) const;
  [[nodiscard]] NetworkCounters counters() const;

 private:
  class Thread;
  friend class NetworkBreaker;  // tests/link/break_connection.h
  explicit Network(std::unique_ptr<Thread> thread);
  std::unique_ptr<Thread> thread_;
};

}  // namespace kimesh
