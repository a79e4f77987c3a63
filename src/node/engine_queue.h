// The one queue that an engine waits on: what the network saw, what vector work and the trainer
// finished.
#pragma once

#include <variant>

#include "kimesh/link/network.h"
#include "kimesh/round/event.h"
#include "kimesh/util/bounded_queue.h"

namespace kimesh {

using EngineInput = std::variant<NetworkEvent, Event>;
using EngineQueue = BoundedQueue<EngineInput>;

// Bytes. A node's protocol allows one message a channel, so this is reached only under a flood or
// by a very large model; then the network stops reading, and the workers wait, until the engine has
// made room.
inline constexpr std::size_t kEngineQueueBytes = 256 * 1024 * 1024;
[[nodiscard]] std::size_t weight_of(const EngineInput& input);

}  // namespace kimesh
