// Events and actions between a core and its links, live or simulated.
#pragma once

#include <optional>
#include <string>

#include "kimesh/bandwidth/sample.h"
#include "kimesh/events/message.h"
#include "kimesh/util/ids.h"

namespace kimesh {

// ---- events
struct LinkUp {
  LinkIndex link;
};  // outgoing link: handshake done (again, after a reconnect)
struct LinkDown {
  LinkIndex link;
};  // it is being redialled; nothing is lost
struct MessageArrived {
  LinkIndex link = 0;
  Message message;
};
struct MessageAcked {
  LinkIndex link = 0;
  std::optional<LinkSample> sample;  // nothing: its timing tells nothing of the rate
};                                   // the far node holds it
// On our outgoing link. Comes again after a reconnect.
struct MessageApplied {
  LinkIndex link = 0;
  Applied applied;
};
struct PeerHeard {
  NodeIndex node;
  LinkIndex link;  // either way, over which it came
};                 // any frame of it, or bytes of a chunk that is on its way
// These two come again after a reconnect, and once for each link between the two nodes.
struct PeerBye {
  NodeIndex node;
};  // it has nothing more to send
struct PeerHalted {
  NodeIndex node = 0;
  HaltKind kind = HaltKind::kFailure;
  std::string reason;
};  // the run is over; `reason` is for people

// ---- actions
struct SendMessage {
  LinkIndex link = 0;
  Message message;
  double pace_bytes_per_s = 0;  // send it no faster; 0: as fast as the link can
};                              // the link keeps it until it is acked
struct SendApplied {
  LinkIndex link = 0;  // the incoming one; it goes back on its connection
  Applied applied;
};
struct SendBye {};  // to every peer
struct SendHalt {
  HaltKind kind = HaltKind::kFailure;
  std::string reason;
};  // to every peer

}  // namespace kimesh
