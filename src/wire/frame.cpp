#include "kimesh/wire/frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "bytes.h"
#include "control.h"

namespace kimesh {
namespace {

constexpr std::uint16_t kMagic = 0x4d4b;  // "KM"
constexpr std::size_t kAckBytes = 26;
constexpr std::size_t kAppliedBytes = 12;
constexpr std::uint16_t kFlagRestart = 1;  // of a message

// Kinds of a message's records, part of the grammar as well.
constexpr std::uint8_t kControlValues = 1;
static_assert(control_bytes(kControlSlots) - kRecordHeadBytes <= 0xff, "a record's length is a u8");

// Types of frames, part of the grammar: new ones are appended, none is renumbered.
enum Type : std::uint8_t {
  kHello = 1,
  kWelcome = 2,
  kRefuse = 3,
  kChunk = 4,
  kAck = 5,
  kApplied = 6,
  kHeartbeat = 7,
  kHalt = 8,
  kBye = 9
};

std::uint8_t type_of(const Frame& frame) {
  if (const auto* later = std::get_if<Later>(&frame)) return later->type;
  return static_cast<std::uint8_t>(frame.index() + 1);
}
// Both are read whatever their version, whose run may have another form.
bool is_of_any_version(std::uint8_t type) {
  return type == kHello || type == kRefuse;
}
static_assert(std::is_same_v<std::variant_alternative_t<kBye - 1, Frame>, Bye>);
static_assert(std::is_same_v<std::variant_alternative_t<kChunk - 1, Frame>, Chunk>);

Error bad_bytes(std::string what) {
  return {ErrorCode::kMalformed, std::move(what)};
}

void write_head(std::uint8_t type, RunTag tag, std::vector<std::byte>& out) {
  if (is_of_any_version(type)) tag = {};
  ByteWriter write(out);
  write.number(kMagic);
  write.number(kWireVersion);
  write.number(type);
  write.number(tag.run);
  write.number(tag.view);
}

void write_body(const Chunk& chunk, std::vector<std::byte>& out) {
  ByteWriter write(out);
  write.number(chunk.sequence);
  write.number(chunk.total);
  write.number(chunk.offset);
  write.number(chunk.index);
  write.number(chunk.count);
  write.bytes(chunk.bytes);
  write.bytes(chunk.more);
}
void write_body(const Ack& ack, std::vector<std::byte>& out) {
  ByteWriter write(out);
  write.number(ack.sequence);
  write.number(ack.bytes);
  write.number(ack.tail_bytes);
  write.number(ack.tail_ns);
  write.number(ack.chunks);
}
void write_body(const Applied& applied, std::vector<std::byte>& out) {
  ByteWriter write(out);
  write.number(applied.round);
  write.number(applied.generation);
  write.number(applied.shard);
  write.number(static_cast<std::uint8_t>(applied.phase));
  write.number(static_cast<std::uint8_t>(applied.outcome));
}
void write_body(const Heartbeat&, std::vector<std::byte>&) {}
void write_body(const Later& later, std::vector<std::byte>& out) {
  ByteWriter(out).bytes(later.body);
}
template <typename T>
void write_body(const T& control, std::vector<std::byte>& out) {
  pack(control, out);
}

Result<Frame> read_chunk(ByteReader read) {
  if (read.left() < kChunkHeadBytes - kFrameHeadBytes) return bad_bytes("a chunk without its head");
  Chunk chunk;
  chunk.sequence = read.number<std::uint64_t>();
  chunk.total = read.number<std::uint32_t>();
  chunk.offset = read.number<std::uint32_t>();
  chunk.index = read.number<std::uint16_t>();
  chunk.count = read.number<std::uint16_t>();
  chunk.bytes = read.rest();
  if (chunk.sequence == 0) return bad_bytes("a chunk of message 0; messages count from 1");
  if (chunk.index >= chunk.count) return bad_bytes("a chunk beyond its message's count");
  if (chunk.offset > chunk.total || chunk.bytes.size() > chunk.total - chunk.offset)
    return bad_bytes("a chunk beyond its message's end");
  return Frame(chunk);
}

Result<Frame> read_ack(ByteReader read) {
  if (read.left() != kAckBytes) return bad_bytes("an ack of the wrong length");
  Ack ack;
  ack.sequence = read.number<std::uint64_t>();
  ack.bytes = read.number<std::uint32_t>();
  ack.tail_bytes = read.number<std::uint32_t>();
  ack.tail_ns = read.number<std::uint64_t>();
  ack.chunks = read.number<std::uint16_t>();
  return Frame(ack);
}

Result<Frame> read_applied(ByteReader read) {
  if (read.left() != kAppliedBytes) return bad_bytes("an applied of the wrong length");
  Applied applied;
  applied.round = read.number<std::uint32_t>();
  applied.generation = read.number<std::uint32_t>();
  applied.shard = read.number<std::uint16_t>();
  const auto phase = read.number<std::uint8_t>();
  const auto outcome = read.number<std::uint8_t>();
  if (phase > 1) return bad_bytes("an applied of a phase that is neither reduce nor gather");
  applied.phase = static_cast<Phase>(phase);
  applied.outcome = static_cast<ApplyOutcome>(outcome);
  return Frame(applied);
}

Result<Frame> read_body(std::uint8_t type, ByteReader read) {
  switch (type) {
    case kHello:
      return unpack_hello(read.rest());
    case kWelcome:
      return unpack_welcome(read.rest());
    case kRefuse:
      return unpack_refuse(read.rest());
    case kChunk:
      return read_chunk(read);
    case kAck:
      return read_ack(read);
    case kApplied:
      return read_applied(read);
    case kHeartbeat:
      if (read.left() != 0) return bad_bytes("a heartbeat with a body");
      return Frame(Heartbeat{});
    case kHalt:
      return unpack_halt(read.rest());
    case kBye:
      return unpack_bye(read.rest());
    default:
      if (type >= kLaterTypes) return Frame(Later{type, read.rest()});
      return bad_bytes(fmt::format("a frame of unknown type {}", type));
  }
}

// Control values beyond those that we know are passed over.
void read_values(ByteReader read, Control& control) {
  for (std::size_t i = 0; i < control.size() && read.left() >= sizeof(double); ++i)
    control[i] = read.real();
}

// False: a record ends behind the last of them.
bool read_records(std::span<const std::byte> records, Message& message) {
  while (!records.empty()) {
    if (records.size() < kRecordHeadBytes) return false;
    const auto kind = std::to_integer<std::uint8_t>(records[0]);
    const auto length = std::to_integer<std::size_t>(records[1]);
    records = records.subspan(kRecordHeadBytes);
    if (length > records.size()) return false;
    if (kind == kControlValues) read_values(ByteReader(records.first(length)), message.control);
    records = records.subspan(length);
  }
  return true;
}

}  // namespace

std::vector<std::byte> encode_frame(const Frame& frame, RunTag tag) {
  std::vector<std::byte> out;
  if (const auto* chunk = std::get_if<Chunk>(&frame)) out.reserve(kChunkHeadBytes + chunk->size());
  write_head(type_of(frame), tag, out);
  std::visit([&](const auto& body) { write_body(body, out); }, frame);
  return out;
}

void encode_chunk_head(const Chunk& chunk, RunTag tag, std::span<std::byte, kChunkHeadBytes> head) {
  Chunk bare = chunk;
  bare.bytes = bare.more = {};
  std::ranges::copy(encode_frame(bare, tag), head.begin());
}

Result<Frame> decode_frame(std::span<const std::byte> frame) {
  if (frame.size() < kFrameHeadBytes) return bad_bytes("a frame without its head");
  if (frame.size() > kFrameBytesMax) return bad_bytes("a frame over the largest size");
  ByteReader read(frame);
  if (read.number<std::uint16_t>() != kMagic) return bad_bytes("no frame of kimesh");
  const auto version = read.number<std::uint8_t>();
  const auto type = read.number<std::uint8_t>();
  if (version != kWireVersion && !is_of_any_version(type))
    return bad_bytes(fmt::format("wire version {}, not {}", version, kWireVersion));
  (void)read.number<std::uint32_t>();  // tag_of
  return read_body(type, read);
}

RunTag tag_of(std::span<const std::byte> frame) {
  ByteReader read(frame.subspan(kFrameHeadBytes - 2 * sizeof(std::uint16_t)));
  RunTag tag;
  tag.run = read.number<std::uint16_t>();
  tag.view = read.number<std::uint16_t>();
  return tag;
}

std::size_t message_bytes(std::size_t payload_bytes, std::size_t controls) {
  return kMessageHeadBytes + control_bytes(controls) + payload_bytes;
}

std::size_t wire_bytes(std::size_t message_bytes, std::size_t chunks) {
  return message_bytes + chunks * kChunkHeadBytes;
}

std::vector<std::byte> encode_message_head(const Message& message) {
  KIMESH_CHECK(message.payload.size() <= 0xffffffff, "a payload's length is 32 bits");
  const std::size_t controls = controls_to_send(message.control);
  std::vector<std::byte> out;
  out.reserve(message_bytes(0, controls));
  ByteWriter write(out);
  write.number(message.round);
  write.number(message.generation);
  write.number(message.shard);
  write.number(static_cast<std::uint8_t>(message.phase));
  write.number(static_cast<std::uint8_t>(message.form));
  write.number(message.restart ? kFlagRestart : std::uint16_t{0});
  write.number(message.digest);
  write.number(static_cast<std::uint16_t>(control_bytes(controls)));
  if (controls == 0) return out;
  write.number(kControlValues);
  write.number(static_cast<std::uint8_t>(controls * sizeof(double)));
  for (std::size_t i = 0; i < controls; ++i) write.real(message.control[i]);
  return out;
}

Result<Message> decode_message(std::vector<std::byte> bytes) {
  if (bytes.size() < kMessageHeadBytes) return bad_bytes("a message without its head");
  ByteReader read(bytes);
  Message message;
  message.round = read.number<std::uint32_t>();
  message.generation = read.number<std::uint32_t>();
  message.shard = read.number<std::uint16_t>();
  const auto phase = read.number<std::uint8_t>();
  message.form = static_cast<Form>(read.number<std::uint8_t>());
  message.restart = (read.number<std::uint16_t>() & kFlagRestart) != 0;
  message.digest = read.number<std::uint64_t>();
  const std::size_t records = read.number<std::uint16_t>();
  if (phase > 1) return bad_bytes("a message of a phase that is neither reduce nor gather");
  message.phase = static_cast<Phase>(phase);
  if (records > kRecordBytesMax || records > read.left())
    return bad_bytes("a message whose records are longer than it may hold");
  if (!read_records(read.rest().first(records), message))
    return bad_bytes("a message with a record that is cut");
  message.payload = Payload(std::move(bytes), kMessageHeadBytes + records);
  return message;
}

}  // namespace kimesh
