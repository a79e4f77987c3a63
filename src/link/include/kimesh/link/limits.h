// How many bytes of its peers' frames a node holds at most, and of its own.
//
// ZeroMQ's high-water marks count frames. Each mark here is a number of bytes over the largest
// frame that its queue is meant for:
//
//   socket         queue     bytes               largest frame
//   ROUTER         receive   kReceiveQueueBytes  a chunk with its head
//   ROUTER         send      kSendQueueBytes     a chunk with its head
//   DEALER         receive   kReceiveQueueBytes  a chunk with its head
//   DEALER         send      kSendQueueBytes     a chunk with its head
//
// A peer that breaks the protocol can send frames of kFrameBytesMax, and messages of parts without
// an end, which pass every mark. Its connection ends once ZeroMQ holds kUndeliveredBytesMax of it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kimesh/bandwidth/sample.h"
#include "kimesh/link/network.h"

namespace kimesh {

inline constexpr std::size_t kChunkFrameBytesMax = kChunkBytesMax + kChunkHeadBytes;
// 48 frames of any size. Where they are the largest chunks, that is what comes in at 1 Gbit/s while
// this thread is late by 50 ms.
inline constexpr std::size_t kReceiveQueueBytes = 48 * kChunkFrameBytesMax;
// 16 chunks: few enough that a halt does not wait long behind them, and enough for 2 GB/s where the
// network's thread wakes after half of them.
inline constexpr std::size_t kSendQueueBytes = 16 * kChunkFrameBytesMax;

// More than the queue of a connection.
inline constexpr std::uint64_t kUndeliveredBytesMax = 8 * 1024 * 1024;
static_assert(kUndeliveredBytesMax > kReceiveQueueBytes + kFrameBytesMax);
// Of one that is too many the oldest ends: an honest peer says its hello at once.
inline constexpr std::size_t kStrangersMax = 256;
// More than the greeting and a few hellos of the largest size.
inline constexpr std::uint64_t kStrangerBytesMax = 64 * 1024;
// What a connection costs besides: measured.
inline constexpr std::size_t kConnectionBytes = 30 * 1024;

// The most that a node holds of what others send, however long the receiver of its events is
// frozen, where `queue_bytes` is the capacity of the receiver's queue, which takes an event that is
// larger when it is empty. The largest event is a message with the largest message_bytes_max:
//
//     max(queue_bytes, sizeof(NetworkEvent) + message_bytes_max)
//   + strangers (kStrangerBytesMax + kConnectionBytes)
//   + incoming links (kUndeliveredBytesMax + kConnectionBytes + message_bytes_max)
//   + outgoing links (kUndeliveredBytesMax + kConnectionBytes)
//
// To this comes what one peer that breaks the protocol sends between two looks: its rate ·
// kLookAtPeers, or kLookAtStrangers before its hello (accepted_connections.h).
[[nodiscard]] std::size_t receive_bytes_max(const NetworkOptions& options, std::size_t queue_bytes);

}  // namespace kimesh
