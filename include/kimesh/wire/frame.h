// What travels between two nodes. The grammar, version 1; all numbers little-endian, one frame =
// one ZeroMQ part.
//
//   connection = hello ( welcome | refuse ) *exchange
//                                     ; one TCP connection per directed link, dialled by its sender
//   exchange   = *( chunk | heartbeat | halt | bye )                   ; sender -> receiver
//              | *( ack | applied | heartbeat | halt | bye | refuse )  ; receiver -> sender, on the
//                                                                      ; same connection
//   frame      = head body
//   head       = magic version type reserved  ; u16 0x4d4b "KM", u8, u8, u32 0
//   hello      = msgpack {protocol, from, to, incarnation, topology, config, parameters, build}
//   welcome    = msgpack {from, incarnation}
//   refuse     = msgpack {sentence}
//   chunk      = sequence total offset index count bytes
//                                     ; u64 u32 u32 u16 u16; a message cut into `count` parts
//   message    = round generation shard phase form flags digest controls payload_bytes
//                *control payload     ; what the chunks join to:
//                                     ; u32 u32 u16 u8 u8 u16 u64 u16 u32, f64 each, bytes
//   ack        = sequence bytes tail_bytes tail_ns chunks
//                                     ; u64 u32 u32 u64 u16: receipt of a whole message, with the
//                                     ; receiver's timing
//   applied    = round generation shard phase outcome
//                                     ; u32 u32 u16 u8 u8: the far core has applied it
//   heartbeat  = ;                    ; a sign of life
//   halt       = msgpack {node, kind, reason}  ; the run is over
//   bye        = msgpack {node}       ; nothing more will be sent
//   type       = 1 hello, 2 welcome, 3 refuse, 4 chunk, 5 ack, 6 applied, 7 heartbeat, 8 halt,
//                9 bye
//
// msgpack is a map with these names as keys; unknown keys are passed over. `hello` and `refuse` are
// read whatever the version says, so that two versions can tell each other that they differ.
//
// A message's sequence counts from 1 on its link. The sender keeps a message until its ack and,
// after a reconnect, sends it again from its first chunk; the receiver hands each sequence on once
// and acks every copy. `applied`, `halt` and `bye` are said again after a reconnect.
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

inline constexpr std::uint8_t kWireVersion = 1;
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
  std::span<const std::byte> bytes;  // points into the frame
  // A sender's: what follows `bytes` from another place. Empty in what was decoded.
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

// A text over kTextBytesMax is cut there, between characters.
[[nodiscard]] std::vector<std::byte> encode_frame(const Frame& frame);
// The head of a chunk, for a sender that puts its bytes behind it without a copy in between.
void encode_chunk_head(const Chunk& chunk, std::span<std::byte, kChunkHeadBytes> head);
// A chunk's bytes stay in `frame`. Errors: Malformed, with what is wrong; nothing is allocated
// before lengths are checked.
[[nodiscard]] Result<Frame> decode_frame(std::span<const std::byte> frame);

// Bytes of an encoded message with this payload and control, before it is cut.
[[nodiscard]] std::size_t message_bytes(std::size_t payload_bytes, std::size_t controls);
// What a message takes on a link: its bytes and a head for each chunk. Budgets count these.
[[nodiscard]] std::size_t wire_bytes(std::size_t message_bytes, std::size_t chunks);

// A message without its payload, which follows it. Requires a payload under 4 GiB.
[[nodiscard]] std::vector<std::byte> encode_message_head(const Message& message);
// The message that `bytes` are; its payload stays in them. Controls beyond kControlSlots are passed
// over, as flags that nobody knows are. Errors: Malformed.
[[nodiscard]] Result<Message> decode_message(std::vector<std::byte> bytes);

}  // namespace kimesh
