// Breaks a live connection as a network would: what no node may do to itself.
#pragma once

#include "src/link/network_thread.h"

namespace kimesh {

class NetworkBreaker {
 public:
  // Closes the TCP connection of an outgoing link.
  static void cut(Network& network, LinkIndex link) { network.thread_->command(CutCommand{link}); }
  // Breaks each connection of an incoming link once it has brought so many chunks. 0: none.
  static void cut_after(Network& network, LinkIndex link, unsigned chunks) {
    network.thread_->command(CutIncomingCommand{link, chunks});
  }
};

}  // namespace kimesh
