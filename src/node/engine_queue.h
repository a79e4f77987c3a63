// The one queue that an engine waits on: events of the network, and ends of vector work and trainer
// work.
#pragma once

#include <variant>

#include "kimesh/link/network.h"
#include "kimesh/round/event.h"
#include "kimesh/util/bounded_queue.h"

namespace kimesh {

using EngineInput = std::variant<NetworkEvent, Event>;
using EngineQueue = BoundedQueue<EngineInput>;

// The queue's capacity in bytes. The protocol allows one message a channel, so that only a flood or
// a very large model fills it; the network stops reading and the workers wait then, until there is
// room.
inline constexpr std::size_t kEngineQueueBytes = 256 * 1024 * 1024;
[[nodiscard]] std::size_t weight_of(const EngineInput& input);

}  // namespace kimesh
