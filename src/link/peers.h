// The processes at the far ends, as both directions together know them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "kimesh/util/ids.h"

namespace kimesh {

// Thread: the network's.
class Peers {
 public:
  // `silence`: after which an open connection is no proof of life any more.
  // `dials_again`: NetworkOptions.
  explicit Peers(Duration silence, bool dials_again = false)
      : silence_(silence), dials_again_(dials_again) {}

  enum class Identity { kSame, kReplaced, kSecond, kRestarted };
  // Whether the process with this incarnation is the one that we know of the node, or the first
  // one; one in the place of another with which no message was exchanged, so that nothing is lost
  // with it; a second one beside it; or one that was restarted in the middle of the run.
  [[nodiscard]] Identity identify(NodeIndex node, std::uint64_t incarnation, TimePoint now) {
    Peer& peer = peers_[node];
    if (!peer.incarnation) peer.incarnation = incarnation;
    if (*peer.incarnation == incarnation) return Identity::kSame;
    const bool lives = (peer.incoming || peer.outgoing) && now - peer.heard < silence_;
    if (lives) return Identity::kSecond;
    if (peer.exchanged) return Identity::kRestarted;
    peer.incarnation = incarnation;
    return Identity::kReplaced;
  }
  void incoming(NodeIndex node, bool open) { peers_[node].incoming = open; }
  void outgoing(NodeIndex node, bool open) { peers_[node].outgoing = open; }
  // Notes a sign of life of the node over the link: a frame, or bytes of a long one. True:
  // PeerHeard is due again.
  [[nodiscard]] bool heard(NodeIndex node, LinkIndex link, TimePoint now) {
    constexpr Duration kTellAfter = std::chrono::milliseconds(100);  // between PeerHeard of a link
    peers_[node].heard = now;
    std::optional<TimePoint>& told = told_[link];
    if (told && now - *told < kTellAfter) return false;
    told = now;
    return true;
  }
  // Whether a sign of life came over the link lately: within the time after which an open
  // connection alone proves nothing.
  [[nodiscard]] bool heard_lately(LinkIndex link, TimePoint now) const {
    const auto told = told_.find(link);  // at most a PeerHeard older than the last sign
    return told != told_.end() && told->second && now - *told->second < silence_;
  }
  // Notes that a message of the node was handed on, or that it has one of ours.
  void exchanged(NodeIndex node) { peers_[node].exchanged = true; }
  // Whether a refusal of the node may be one of its earlier process.
  [[nodiscard]] bool may_come_again(NodeIndex node) {
    return dials_again_ && !peers_[node].exchanged;
  }
  // `leaves` notes that the node has said halt or bye, `told_of_halt` whether our halt was said to
  // it on a connection that has not ended since.
  void leaves(NodeIndex node) { peers_[node].leaves = true; }
  void told_of_halt(NodeIndex node, bool told) { peers_[node].told_of_halt = told; }
  // Whether the node still has to be told of our halt: it was heard lately on `link`, which is down
  // now, and one of the two will dial again.
  [[nodiscard]] bool misses_halt(NodeIndex node, LinkIndex link, TimePoint now) const {
    const auto peer = peers_.find(node);
    return peer != peers_.end() && !peer->second.leaves && !peer->second.told_of_halt &&
           heard_lately(link, now);
  }

 private:
  struct Peer {
    std::optional<std::uint64_t> incarnation;
    bool incoming = false, outgoing = false;  // a connection is open
    bool exchanged = false;                   // a message, in either direction
    bool leaves = false, told_of_halt = false;
    TimePoint heard;
  };
  Duration silence_;
  bool dials_again_;
  std::unordered_map<NodeIndex, Peer> peers_;
  std::unordered_map<LinkIndex, std::optional<TimePoint>> told_;
};

}  // namespace kimesh
