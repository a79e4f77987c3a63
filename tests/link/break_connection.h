// Breaks a live connection as a network would: what no node may do to itself.
#pragma once

#include "src/link/network_thread.h"

namespace kimesh {

class NetworkBreaker {
 public:
  // Closes the TCP connection of an outgoing link.
  static void cut(Network& network, LinkIndex link) { network.thread_->command(CutCommand{link}); }
};

}  // namespace kimesh
