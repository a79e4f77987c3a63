// The frames that travel between two nodes, version 14; docs/protocol.md is the grammar. One frame
// is one ZeroMQ part, and all numbers are little-endian.
//
// A connection begins with hello of who dials, answered by welcome or refuse. Then chunks go to
// the receiver; acks (a message is whole) and applied (the far core has applied it) come back.
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

inline constexpr std::uint8_t kWireVersion = 14;
inline constexpr std::size_t kFrameBytesMax =
    1024 * 1024;  // ZMQ_MAXMSGSIZE: what a peer may make us hold at once
// The head of a frame, and the short head of chunks, acks and applied, of which every message needs
// some. Messages on slow links have 100 bytes.
inline constexpr std::size_t kFrameHeadBytes = 8, kShortHeadBytes = 3;
inline constexpr std::size_t kSequenceBytes = 6;  // of a message's sequence, which is under 2^48
inline constexpr std::size_t kChunkHeadBytes = kShortHeadBytes + kSequenceBytes + 4;
inline constexpr std::size_t kMessageHeadBytes = 8;
// Records of a message, those that a later version may add among them.
inline constexpr std::size_t kRecordBytesMax = 1024;
// What a message has at most besides its payload.
inline constexpr std::size_t kBesidePayloadBytesMax = kMessageHeadBytes + kGenerationBytes +
                                                      kMessageDigestBytes + kRecordsLengthBytes +
                                                      kRecordBytesMax;
inline constexpr std::size_t kTextBytesMax = 4096;  // any text in a control frame

// Which run, and which view of it, a frame belongs to: the low bits of the run's number, and the
// view's. In the head of every frame but hello and refuse, where it is 0. A short head has
// 16 bits: the run's XOR the view's.
struct RunTag {
  std::uint16_t run = 0, view = 0;
  bool operator==(const RunTag&) const = default;
};

struct Hello {
  std::uint32_t protocol = kWireVersion;
  std::string from, to;           // node names
  std::uint64_t incarnation = 0;  // random per process start
  std::uint64_t topology_digest = 0, config_digest = 0, parameters_digest = 0;
  std::string build;             // version of kimesh, for the sentence
  std::uint64_t run = 0;         // the run that the node takes part in
  std::uint16_t view = 0;        // the number of its view; a run begins with view 0
  std::uint32_t connection = 0;  // number of this connection of the link, counted by who dials it
  // Where the link's receiver is the one who dials: what it otherwise tells in Welcome, and the
  // incarnation of the sender that it tells it of; 0: it knows none yet.
  bool from_receiver = false;
  std::uint64_t sender = 0;
  std::uint64_t delivered = 0;
  std::uint16_t held = 0;
  [[nodiscard]] RunTag tag() const { return {static_cast<std::uint16_t>(run), view}; }
  bool operator==(const Hello&) const = default;
};
struct Welcome {
  std::string from;
  std::uint64_t incarnation = 0;  // of who was dialled: a restarted one is told from a reconnect
  std::uint32_t connection = 0;   // that of the hello
  std::uint64_t delivered = 0;    // all messages up to this sequence were handed on
  std::uint16_t held = 0;         // and so many first chunks of the next message are here
  bool operator==(const Welcome&) const = default;
};
struct Refuse {
  std::string sentence;
  bool operator==(const Refuse&) const = default;
};
struct Chunk {
  std::uint64_t sequence = 0;
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
  std::uint16_t chunks = 1;
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
// A frame that a later version has added, of a type from kLaterTypes on: it is passed over.
inline constexpr std::uint8_t kLaterTypes = 64;
struct Later {
  std::uint8_t type = kLaterTypes;
  std::span<const std::byte> body{};  // in the decoded frame
};
using Frame =
    std::variant<Hello, Welcome, Refuse, Chunk, Ack, Applied, Heartbeat, Halt, Bye, Later>;

// Encodes a frame. Texts over kTextBytesMax are cut, between characters.
[[nodiscard]] std::vector<std::byte> encode_frame(const Frame& frame, RunTag tag = {});
// Encodes the head of a chunk, for a sender that puts the chunk's bytes behind it without a copy.
void encode_chunk_head(const Chunk& chunk, RunTag tag, std::span<std::byte, kChunkHeadBytes> head);
// Decodes a frame; a chunk's bytes stay in `frame`. Errors: Malformed, with what is wrong. Lengths
// are checked before anything is allocated.
[[nodiscard]] Result<Frame> decode_frame(std::span<const std::byte> frame);
// The tag of a frame that decode_frame accepts. Of a short head it is one of the tags to which the
// frame belongs.
[[nodiscard]] RunTag tag_of(std::span<const std::byte> frame);
// Whether a frame that decode_frame accepts is of this run and view.
[[nodiscard]] bool belongs_to(std::span<const std::byte> frame, RunTag tag);

// Bytes of an encoded message with this payload and these optional_bytes(), before it is cut.
[[nodiscard]] std::size_t message_bytes(std::size_t payload_bytes, std::size_t optional_bytes);
// Bytes of a message on a link: its own and a head for each chunk. Budgets count these.
[[nodiscard]] std::size_t wire_bytes(std::size_t message_bytes, std::size_t chunks);

// Encodes all of a message but its payload, which follows. Requires a payload under 4 GiB.
[[nodiscard]] std::vector<std::byte> encode_message_head(const Message& message);
// Decodes a message, whose payload takes over `bytes`. Records of unknown kinds and control
// values beyond kControlSlots are passed over, unknown flags are not. Errors: Malformed.
[[nodiscard]] Result<Message> decode_message(std::vector<std::byte> bytes);

}  // namespace kimesh
