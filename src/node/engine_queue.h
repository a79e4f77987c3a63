// The one queue that an engine waits on: what the network saw, what vector work and the trainer
// finished.
#pragma once

#include <variant>
#include <vector>

#include "kimesh/link/network.h"
#include "kimesh/round/event.h"
#include "kimesh/util/bounded_queue.h"

namespace kimesh {

// An advance ended: the event still lacks the number of its payload, which the engine gives.
struct AdvanceEnded {
  AdvanceDone event;
  std::vector<std::byte> bytes;
};

using Incident = std::variant<NetworkEvent, Event, AdvanceEnded>;
using EngineQueue = BoundedQueue<Incident>;

// Bytes. A node's protocol allows one message a channel, so this is reached only under a flood or
// by a very large model; then the network stops reading, and the workers wait, until the engine has
// made room.
inline constexpr std::size_t kEngineQueueBytes = 256 * 1024 * 1024;
[[nodiscard]] inline std::size_t weight_of(const Incident& incident) {
  if (const auto* event = std::get_if<NetworkEvent>(&incident)) return event_weight(*event);
  if (const auto* ended = std::get_if<AdvanceEnded>(&incident))
    return sizeof(Incident) + ended->bytes.size();
  return sizeof(Incident);
}

}  // namespace kimesh
