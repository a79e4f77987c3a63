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
  explicit Peers(Duration silence) : silence_(silence) {}

  enum class Identity { kSame, kSecond, kRestarted };
  // Whether the process with this incarnation is the one that we know of the node, or the first
  // one; a second one beside it; or a restarted one.
  [[nodiscard]] Identity identify(NodeIndex node, std::uint64_t incarnation, TimePoint now) {
    Peer& peer = peers_[node];
    if (!peer.incarnation) peer.incarnation = incarnation;
    if (*peer.incarnation == incarnation) return Identity::kSame;
    const bool lives = (peer.incoming || peer.outgoing) && now - peer.heard < silence_;
    return lives ? Identity::kSecond : Identity::kRestarted;
  }
  void incoming(NodeIndex node, bool open) { peers_[node].incoming = open; }
  void outgoing(NodeIndex node, bool open) { peers_[node].outgoing = open; }
  // Notes that a frame of the node came. True: PeerHeard is due again.
  [[nodiscard]] bool heard(NodeIndex node, TimePoint now) {
    constexpr Duration kTellAfter = std::chrono::milliseconds(100);  // between PeerHeard of a node
    Peer& peer = peers_[node];
    peer.heard = now;
    if (peer.told && now - *peer.told < kTellAfter) return false;
    peer.told = now;
    return true;
  }

 private:
  struct Peer {
    std::optional<std::uint64_t> incarnation;
    bool incoming = false, outgoing = false;  // a connection is open
    TimePoint heard;
    std::optional<TimePoint> told;
  };
  Duration silence_;
  std::unordered_map<NodeIndex, Peer> peers_;
};

}  // namespace kimesh
