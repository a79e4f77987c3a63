// The frames that travel between two nodes, version 2; docs/protocol.md is the grammar. One frame
// is one ZeroMQ part, and all numbers are little-endian.
//
// A connection begins with hello, answered by welcome or refuse. Then chunks go to the receiver of
// the link; acks (a message is whole) and applied (the far core has applied it) come back.
// Heartbeats, halt and bye go both ways. A message is what the chunks of one sequence join to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "kimesh/events/message.h"
#include "kimesh/util/result.h"

namespace kimesh {

inline constexpr std::uint8_t kWireVersion = 4;
inline constexpr std::size_t kFrameBytesMax =
    1024 * 1024;  // ZMQ_MAXMSGSIZE: what a peer may make us hold at once
inline constexpr std::size_t kFrameHeadBytes = 8;
inline constexpr std::size_t kChunkHeadBytes = kFrameHeadBytes + 20;
inline constexpr std::size_t kMessageHeadBytes = 28;
inline constexpr std::size_t kControlsMax = 64;     // values of a control vector, with room to grow
inline constexpr std::size_t kTextBytesMax = 4096;  // any text in a control frame

struct Hello {
  std::uint32_t protocol = kWireVersion;
  std::string from, to;           // node names
  std::uint64_t incarnation = 0;  // random per process start
  std::uint64_t topology_digest = 0, config_digest = 0, parameters_digest = 0;
  std::string build;  // version of kimesh, for the sentence
  bool operator==(const Hello&) const = default;
};
struct Welcome {
  std::string from;
  std::uint64_t incarnation = 0;  // of the receiver: a restarted one is told from a reconnect
  bool operator==(const Welcome&) const = default;
};
struct Refuse {
  std::string sentence;
  bool operator==(const Refuse&) const = default;
};
struct Chunk {
  std::uint64_t sequence = 0;
  std::uint32_t total = 0;   // bytes of the whole message
  std::uint32_t offset = 0;  // of this part
  std::uint16_t index = 0, count = 0;
  std::span<const std::byte> bytes;  // they lie in the decoded frame, which outlives the chunk
  // In a chunk to send: the bytes behind `bytes` that lie elsewhere. Empty in a decoded chunk.
  std::span<const std::byte> more{};
  [[nodiscard]] std::size_t size() const { return bytes.size() + more.size(); }
};
struct Ack {
  std::uint64_t sequence = 0;
  std::uint32_t bytes = 0;       // of the message
  std::uint32_t tail_bytes = 0;  // bandwidth/sample.h
  std::uint64_t tail_ns = 0;
  std::uint16_t chunks = 0;
  bool operator==(const Ack&) const = default;
};
struct Heartbeat {
  bool operator==(const Heartbeat&) const = default;
};
struct Halt {
  std::string node;
  HaltKind kind = HaltKind::kUserStop;  // or a number that this version does not know
  std::string reason;
  bool operator==(const Halt&) const = default;
};
struct Bye {
  std::string node;
  bool operator==(const Bye&) const = default;
};
using Frame = std::variant<Hello, Welcome, Refuse, Chunk, Ack, Applied, Heartbeat, Halt, Bye>;

// Encodes a frame. Texts over kTextBytesMax are cut, between characters.
[[nodiscard]] std::vector<std::byte> encode_frame(const Frame& frame);
// Encodes the head of a chunk, for a sender that puts the chunk's bytes behind it without a copy.
void encode_chunk_head(const Chunk& chunk, std::span<std::byte, kChunkHeadBytes> head);
// Decodes a frame; a chunk's bytes stay in `frame`. Errors: Malformed, with what is wrong. Lengths
// are checked before anything is allocated.
[[nodiscard]] Result<Frame> decode_frame(std::span<const std::byte> frame);

// Bytes of an encoded message with this payload and control, before it is cut.
[[nodiscard]] std::size_t message_bytes(std::size_t payload_bytes, std::size_t controls);
// Bytes of a message on a link: its own and a head for each chunk. Budgets count these.
[[nodiscard]] std::size_t wire_bytes(std::size_t message_bytes, std::size_t chunks);

// Encodes all of a message but its payload, which follows. Requires a payload under 4 GiB.
[[nodiscard]] std::vector<std::byte> encode_message_head(const Message& message);
// Decodes a message, whose payload takes over `bytes`. Control values beyond kControlSlots and
// unknown flags are ignored. Errors: Malformed.
[[nodiscard]] Result<Message> decode_message(std::vector<std::byte> bytes);

}  // namespace kimesh
