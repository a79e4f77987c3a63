#include "kimesh/wire/frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "bytes.h"
#include "control.h"
#include "kimesh/util/leb128.h"

namespace kimesh {
namespace {

constexpr std::uint16_t kMagic = 0x4d4b;  // "KM"
// What an ack has behind its head: without a tail, and more with one.
constexpr std::size_t kAckBytes = kSequenceBytes + 4, kTailBytes = 14;
constexpr std::size_t kAppliedBytes = 8;  // without a generation
// The top bit of a frame's first byte says that its head is short. The others are its type.
constexpr std::uint8_t kShort = 0x80;

// Flags of a message: its phase, whether it restarts its channel, and which optional parts it has.
enum Flag : std::uint8_t {
  kIsGather = 1,
  kRestarts = 2,
  kHasGeneration = 4,
  kHasDigest = 8,
  kHasRecords = 16,
  kAllFlags = 31
};

// Kinds of a message's records, part of the grammar as well.
constexpr std::uint8_t kFloats = 1, kDoubles = 2;

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

bool is_short(std::span<const std::byte> frame) {
  return !frame.empty() && (frame[0] & std::byte{kShort}) != std::byte{0};
}

Error bad_bytes(std::string what) {
  return {ErrorCode::kMalformed, std::move(what)};
}

bool has_short_head(std::uint8_t type) {
  return type == kChunk || type == kAck || type == kApplied;
}
std::uint16_t short_tag(RunTag tag) {
  return tag.run ^ tag.view;
}

void write_head(std::uint8_t type, RunTag tag, std::vector<std::byte>& out) {
  if (is_of_any_version(type)) tag = {};
  ByteWriter write(out);
  if (has_short_head(type)) {
    write.number(static_cast<std::uint8_t>(kShort | type));
    write.number(short_tag(tag));
    return;
  }
  write.number(kMagic);
  write.number(kWireVersion);
  write.number(type);
  write.number(tag.run);
  write.number(tag.view);
}

void write_body(const Chunk& chunk, std::vector<std::byte>& out) {
  ByteWriter write(out);
  write.narrow(chunk.sequence, kSequenceBytes);
  write.number(chunk.index);
  write.number(chunk.count);
  write.bytes(chunk.bytes);
  write.bytes(chunk.more);
}
void write_body(const Ack& ack, std::vector<std::byte>& out) {
  ByteWriter write(out);
  write.narrow(ack.sequence, kSequenceBytes);
  write.number(ack.bytes);
  if (ack.chunks < 2) return;  // it has no tail
  write.number(ack.tail_bytes);
  write.number(ack.tail_ns);
  write.number(ack.chunks);
}
void write_body(const Applied& applied, std::vector<std::byte>& out) {
  ByteWriter write(out);
  write.number(applied.round);
  write.number(applied.shard);
  write.number(static_cast<std::uint8_t>(applied.phase));
  write.number(static_cast<std::uint8_t>(applied.outcome));
  if (applied.generation != 0) write.number(applied.generation);
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
  if (read.left() < kChunkHeadBytes - kShortHeadBytes) return bad_bytes("a chunk without its head");
  Chunk chunk;
  chunk.sequence = read.narrow(kSequenceBytes);
  chunk.index = read.number<std::uint16_t>();
  chunk.count = read.number<std::uint16_t>();
  chunk.bytes = read.rest();
  if (chunk.sequence == 0) return bad_bytes("a chunk of message 0; messages count from 1");
  if (chunk.index >= chunk.count) return bad_bytes("a chunk beyond its message's count");
  return Frame(chunk);
}

Result<Frame> read_ack(ByteReader read) {
  if (read.left() != kAckBytes && read.left() != kAckBytes + kTailBytes)
    return bad_bytes("an ack of the wrong length");
  Ack ack;
  ack.sequence = read.narrow(kSequenceBytes);
  ack.bytes = read.number<std::uint32_t>();
  if (read.left() == 0) return Frame(ack);
  ack.tail_bytes = read.number<std::uint32_t>();
  ack.tail_ns = read.number<std::uint64_t>();
  ack.chunks = read.number<std::uint16_t>();
  if (ack.chunks < 2) return bad_bytes("an ack of one chunk with a tail");
  return Frame(ack);
}

Result<Frame> read_applied(ByteReader read) {
  if (read.left() != kAppliedBytes && read.left() != kAppliedBytes + kGenerationBytes)
    return bad_bytes("an applied of the wrong length");
  Applied applied;
  applied.round = read.number<std::uint32_t>();
  applied.shard = read.number<std::uint16_t>();
  const auto phase = read.number<std::uint8_t>();
  const auto outcome = read.number<std::uint8_t>();
  if (phase > 1) return bad_bytes("an applied of a phase that is neither reduce nor gather");
  applied.phase = static_cast<Phase>(phase);
  applied.outcome = static_cast<ApplyOutcome>(outcome);
  if (read.left() == 0) return Frame(applied);
  applied.generation = read.number<std::uint32_t>();
  if (applied.generation == 0) return bad_bytes("an applied with a generation of 0");
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

template <typename T>
void write_values(std::uint8_t kind, std::uint32_t values, const Control& control,
                  std::vector<std::byte>& out) {
  if (values == 0) return;
  ByteWriter write(out);
  write.number(kind);
  const std::size_t length_at = out.size();
  write.number(std::uint8_t{0});
  put_leb128(values, out);
  for (std::size_t i = 0; i < control.size(); ++i)
    if ((values >> i & 1) != 0) write.real(static_cast<T>(control[i]));
  out[length_at] = static_cast<std::byte>(out.size() - length_at - 1);
}

// Values beyond those that we know are passed over. False: the record ends before its last value.
template <typename T>
bool read_values(std::span<const std::byte> content, Control& control) {
  const std::optional<std::uint64_t> values = take_leb128(content);
  if (!values || *values > 0xffffffff) return false;
  ByteReader read(content);
  for (std::size_t i = 0; i < control.size(); ++i) {
    if ((*values >> i & 1) == 0) continue;
    if (read.left() < sizeof(T)) return false;
    control[i] = static_cast<double>(read.real<T>());
  }
  return true;
}

// False: a record ends behind the last of them, or before its own last value.
bool read_records(std::span<const std::byte> records, Message& message) {
  while (!records.empty()) {
    if (records.size() < kRecordHeadBytes) return false;
    const auto kind = std::to_integer<std::uint8_t>(records[0]);
    const auto length = std::to_integer<std::size_t>(records[1]);
    records = records.subspan(kRecordHeadBytes);
    if (length > records.size()) return false;
    const auto content = records.first(length);
    if (kind == kFloats && !read_values<float>(content, message.control)) return false;
    if (kind == kDoubles && !read_values<double>(content, message.control)) return false;
    records = records.subspan(length);
  }
  return true;
}

unsigned flags_of(const Message& message, bool has_records) {
  unsigned flags = 0;
  if (message.phase == Phase::kGather) flags |= kIsGather;
  if (message.restart) flags |= kRestarts;
  if (message.generation != 0) flags |= kHasGeneration;
  if (message.digest != 0) flags |= kHasDigest;
  if (has_records) flags |= kHasRecords;
  return flags;
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
  if (frame.size() > kFrameBytesMax) return bad_bytes("a frame over the largest size");
  ByteReader read(frame);
  if (is_short(frame)) {
    if (frame.size() < kShortHeadBytes) return bad_bytes("a frame without its head");
    const auto type = static_cast<std::uint8_t>(read.number<std::uint8_t>() & ~kShort);
    (void)read.number<std::uint16_t>();  // tag_of
    if (!has_short_head(type)) return bad_bytes(fmt::format("a frame of unknown type {}", type));
    return read_body(type, read);
  }
  if (frame.size() < kFrameHeadBytes) return bad_bytes("a frame without its head");
  if (read.number<std::uint16_t>() != kMagic) return bad_bytes("no frame of kimesh");
  const auto version = read.number<std::uint8_t>();
  const auto type = read.number<std::uint8_t>();
  if (version != kWireVersion && !is_of_any_version(type))
    return bad_bytes(fmt::format("wire version {}, not {}", version, kWireVersion));
  if (has_short_head(type)) return bad_bytes("a frame whose head should be short");
  (void)read.number<std::uint32_t>();  // tag_of
  return read_body(type, read);
}

RunTag tag_of(std::span<const std::byte> frame) {
  if (is_short(frame)) return {ByteReader(frame.subspan(1)).number<std::uint16_t>(), 0};
  ByteReader read(frame.subspan(kFrameHeadBytes - 2 * sizeof(std::uint16_t)));
  RunTag tag;
  tag.run = read.number<std::uint16_t>();
  tag.view = read.number<std::uint16_t>();
  return tag;
}

bool belongs_to(std::span<const std::byte> frame, RunTag tag) {
  return tag_of(frame) == (is_short(frame) ? RunTag{short_tag(tag), 0} : tag);
}

std::size_t message_bytes(std::size_t payload_bytes, std::size_t optional_bytes) {
  return kMessageHeadBytes + optional_bytes + payload_bytes;
}

std::size_t wire_bytes(std::size_t message_bytes, std::size_t chunks) {
  return message_bytes + chunks * kChunkHeadBytes;
}

std::vector<std::byte> encode_message_head(const Message& message) {
  KIMESH_CHECK(message.payload.size() <= 0xffffffff, "a payload's length is 32 bits");
  const std::size_t records = control_bytes(message.control);
  std::vector<std::byte> out;
  out.reserve(message_bytes(0, optional_bytes(message)));
  ByteWriter write(out);
  write.number(static_cast<std::uint8_t>(flags_of(message, records > 0)));
  write.number(static_cast<std::uint8_t>(message.form));
  write.number(message.shard);
  write.number(message.round);
  if (message.generation != 0) write.number(message.generation);
  if (message.digest != 0) write.number(message.digest);
  if (records == 0) return out;
  write.number(static_cast<std::uint16_t>(records));
  const auto [floats, doubles] = records_of(message.control);
  write_values<float>(kFloats, floats, message.control, out);
  write_values<double>(kDoubles, doubles, message.control, out);
  return out;
}

Result<Message> decode_message(std::vector<std::byte> bytes) {
  if (bytes.size() < kMessageHeadBytes) return bad_bytes("a message without its head");
  ByteReader read(bytes);
  Message message;
  const unsigned flags = read.number<std::uint8_t>();
  if (flags > kAllFlags) return bad_bytes("a message with unknown flags");
  const auto has = [flags](Flag flag) { return (flags & flag) != 0; };
  message.phase = has(kIsGather) ? Phase::kGather : Phase::kReduce;
  message.restart = has(kRestarts);
  message.form = static_cast<Form>(read.number<std::uint8_t>());
  message.shard = read.number<std::uint16_t>();
  message.round = read.number<std::uint32_t>();
  const std::size_t optional = (has(kHasGeneration) ? kGenerationBytes : 0) +
                               (has(kHasDigest) ? kMessageDigestBytes : 0) +
                               (has(kHasRecords) ? kRecordsLengthBytes : 0);
  if (read.left() < optional) return bad_bytes("a message without its head");
  if (has(kHasGeneration)) message.generation = read.number<std::uint32_t>();
  if (has(kHasDigest)) message.digest = read.number<std::uint64_t>();
  const std::size_t records = has(kHasRecords) ? read.number<std::uint16_t>() : 0;
  if (flags_of(message, records > 0) != flags)
    return bad_bytes("a message with an optional part that is 0");
  if (records > kRecordBytesMax || records > read.left())
    return bad_bytes("a message whose records are longer than it may hold");
  if (!read_records(read.rest().first(records), message))
    return bad_bytes("a message with a record that is cut");
  message.payload = Payload(std::move(bytes), kMessageHeadBytes + optional + records);
  return message;
}

}  // namespace kimesh
