#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "kimesh/round/control.h"
#include "kimesh/util/check.h"
#include "kimesh/wire/frame.h"
#include "src/link/handshake.h"
#include "src/link/inbox.h"
#include "src/link/outbox.h"
#include "tests/fuzz/frame_heads.h"
#include "tests/fuzz/target.h"

namespace kimesh::fuzz {
namespace {

const Hello kOurs{.from = "b", .to = "a", .build = "0.1.0"};

bool shows_well(const std::string& sentence) {
  return std::ranges::none_of(sentence, [](char c) { return c >= 0 && c < ' '; });
}

bool accepts_frame(Input input) {
  const auto frame = decode_frame(input);
  if (!frame.ok()) {
    KIMESH_CHECK(frame.error().code == ErrorCode::kMalformed, "a frame is malformed or correct");
    return false;
  }
  // Control frames may hold unknown keys and numbers wider than they need; others have one form.
  const Bytes again = encode_frame(*frame, tag_of(input));
  const bool is_map = std::holds_alternative<Hello>(*frame) ||
                      std::holds_alternative<Welcome>(*frame) ||
                      std::holds_alternative<Refuse>(*frame) ||
                      std::holds_alternative<Halt>(*frame) || std::holds_alternative<Bye>(*frame);
  KIMESH_CHECK(is_map || std::ranges::equal(again, input), "a frame of numbers has one form");
  const auto decoded = decode_frame(again);
  KIMESH_CHECK(decoded.ok() && encode_frame(*decoded, tag_of(again)) == again,
               "what was read can be written");
  if (const auto* chunk = std::get_if<Chunk>(&*frame))
    KIMESH_CHECK(chunk->index < chunk->count, "a chunk is of its message");
  if (const auto* hello = std::get_if<Hello>(&*frame)) {
    const auto refusal = refusal_of(*hello, kOurs);
    KIMESH_CHECK(!refusal || shows_well(refusal->sentence),
                 "a stranger's words are shown without controls");
  }
  return true;
}

void mend_frame(std::span<std::byte> input) {
  mend_head(input, {});
}

std::vector<Bytes> frame_seeds() {
  static const Bytes content(40, std::byte{7});
  const std::array<Frame, 12> frames = {
      Hello{.from = "a", .to = "b", .incarnation = 5, .topology_digest = 1, .build = "0.1.0"},
      Welcome{"b", 7},
      Refuse{"another version"},
      Chunk{.sequence = 3, .index = 1, .count = 2, .bytes = content},
      Ack{.sequence = 3, .bytes = 80, .tail_bytes = 68, .tail_ns = 1000, .chunks = 2},
      Ack{.sequence = 4, .bytes = 80},
      Applied{.round = 1, .generation = 2, .shard = 3, .phase = Phase::kGather},
      Applied{.round = 1, .shard = 3},
      Heartbeat{},
      Halt{"a", HaltKind::kFailure, "disk full"},
      Bye{"a"},
      Later{.type = kLaterTypes, .body = content}};
  std::vector<Bytes> seeds;
  for (const Frame& frame : frames) seeds.push_back(encode_frame(frame));
  return seeds;
}

bool same_verdict(const Verdict& a, const Verdict& b) {
  const Control x = a.to_control(), y = b.to_control();
  return std::memcmp(x.data(), y.data(), sizeof x) == 0;
}

Bytes joined(const Message& message) {
  Bytes bytes = encode_message_head(message);
  bytes.insert(bytes.end(), message.payload.bytes().begin(), message.payload.bytes().end());
  return bytes;
}

bool accepts_message(Input input) {
  const auto message = decode_message({input.begin(), input.end()});
  if (!message.ok()) {
    KIMESH_CHECK(message.error().code == ErrorCode::kMalformed,
                 "a message is malformed or correct");
    return false;
  }
  const auto again = decode_message(joined(*message));
  KIMESH_CHECK(again.ok() && joined(*again) == joined(*message), "a message is passed on whole");
  ControlVector sum = ControlVector::from_control(message->control);
  sum.merge(sum);
  const Verdict verdict = Verdict::from_control(message->control);
  KIMESH_CHECK(same_verdict(Verdict::from_control(verdict.to_control()), verdict),
               "a verdict is passed on whole");
  return true;
}

// The flags, and the lengths of the records: one of control values, of as many as it says.
void mend_message(std::span<std::byte> input) {
  constexpr std::byte kAllFlags{31}, kHasGeneration{4}, kHasDigest{8}, kHasRecords{16};
  if (input.empty()) return;
  input[0] &= kAllFlags;
  const auto has = [&](std::byte flag) { return (input[0] & flag) != std::byte{0}; };
  const std::size_t at = kMessageHeadBytes + (has(kHasGeneration) ? kGenerationBytes : 0) +
                         (has(kHasDigest) ? kMessageDigestBytes : 0);
  if (!has(kHasRecords) || input.size() <= at + kRecordsLengthBytes + kRecordHeadBytes) return;
  const auto record = input.subspan(at + kRecordsLengthBytes);
  const bool are_floats = (record[0] & std::byte{1}) != std::byte{0};
  record[0] = are_floats ? std::byte{1} : std::byte{2};
  const auto content = record.subspan(kRecordHeadBytes);
  std::size_t values = 0, length = 0;
  for (bool goes_on = true; goes_on && length < content.size() && length < 4; ++length) {
    goes_on = (content[length] & std::byte{0x80}) != std::byte{0};
    values += std::popcount(std::to_integer<unsigned>(content[length] & std::byte{0x7f}));
  }
  length = std::min({length + values * (are_floats ? sizeof(float) : sizeof(double)),
                     content.size(), std::size_t{0xff}});
  record[1] = static_cast<std::byte>(length);
  const auto records = static_cast<std::uint16_t>(kRecordHeadBytes + length);
  std::memcpy(&input[at], &records, sizeof records);
}

std::vector<Bytes> message_seeds() {
  static const Bytes payload(24, std::byte{9});
  const ControlVector said{
      .nodes = 2, .loss = 0.5, .correct = 3, .samples = 4, .compute_s = 0.1, .offer = {}};
  const Verdict verdict{.accuracy = 0.9, .accuracy_round = 3, .closing_round = 8, .stop = true};
  std::vector<Bytes> seeds;
  for (const Control& control : {Control{}, said.to_control(), verdict.to_control()}) {
    Message message;
    message.shard = 3;
    message.form = Form::kSparse;
    message.control = control;
    message.payload = Payload(payload);
    seeds.push_back(joined(message));
    message.generation = 2;
    message.digest = 5;
    seeds.push_back(joined(message));
  }
  return seeds;
}

// Takes small numbers from an input; zeros at its end.
class Script {
 public:
  explicit Script(Input input) : left_(input) {}
  [[nodiscard]] bool over() const { return left_.empty(); }
  std::uint32_t number(std::size_t width) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < width; ++i)
      value |= std::to_integer<std::uint32_t>(byte()) << (8 * i);
    return value;
  }

 private:
  std::byte byte() {
    if (left_.empty()) return std::byte{0};
    const std::byte first = left_.front();
    left_ = left_.subspan(1);
    return first;
  }
  Input left_;
};

// A chunk as a script writes it: sequence, index, count as u8, length as u16. A sequence of 255 is
// a new connection instead.
constexpr std::uint32_t kRestart = 255;
constexpr std::size_t kMessageMax = 3000;

bool accepts_chunks(Input input) {
  static const Bytes content(1 << 16, std::byte{3});
  Inbox inbox(kMessageMax);
  Script script(input);
  TimePoint now{};
  std::uint64_t delivered = 0;
  bool all_good = true;
  while (!script.over()) {
    now += Duration(1000);
    Chunk chunk;
    chunk.sequence = script.number(1);
    if (chunk.sequence == kRestart) {
      inbox.restart();
      continue;
    }
    chunk.index = static_cast<std::uint16_t>(script.number(1));
    chunk.count = static_cast<std::uint16_t>(script.number(1));
    chunk.bytes = std::span(content).first(script.number(2));
    const Bytes frame = encode_frame(chunk);
    const auto decoded = decode_frame(frame);
    const auto arrival = decoded.ok() ? inbox.add(std::get<Chunk>(*decoded), now, script.number(1))
                                      : Result<Inbox::Arrival>(decoded.error());
    all_good = all_good && arrival.ok();
    if (!arrival.ok()) continue;
    if (!arrival->message) continue;
    KIMESH_CHECK(arrival->message->size() <= kMessageMax, "no message is larger than the plan's");
    KIMESH_CHECK(arrival->ack && arrival->ack->sequence == ++delivered, "handed on once, in order");
    KIMESH_CHECK(arrival->message->size() == arrival->ack->bytes, "an ack tells what came");
  }
  return all_good;
}

std::vector<Bytes> chunk_seeds() {
  const auto script = [](std::initializer_list<std::array<int, 4>> chunks) {
    Bytes bytes;
    for (const auto& [sequence, index, count, length] : chunks)
      for (const int number : {sequence, index, count, length & 0xff, length >> 8, 60 * index})
        bytes.push_back(std::byte(number));
    return bytes;
  };
  return {script({{1, 0, 1, 10}, {2, 0, 1, 0}}),
          script({{1, 0, 2, 300}, {1, 1, 2, 300}, {1, 0, 1, 600}}),
          script({{1, 0, 3, 300}, {1, 1, 3, 300}, {1, 2, 3, 299}, {2, 0, 1, 3000}})};
}

// What a script does to an outbox: op as u8, then what the op takes.
enum Op : std::uint32_t { kPush, kPlace, kNewConnection, kAck, kResume, kOps };

void ack(Outbox& outbox, Script& script, TimePoint now, bool& all_good) {
  const Ack said{.sequence = script.number(1),
                 .bytes = script.number(3),
                 .tail_bytes = script.number(4),
                 .tail_ns = std::uint64_t{script.number(4)} << (script.number(1) % 33),
                 .chunks = static_cast<std::uint16_t>(script.number(2))};
  const std::size_t held = outbox.held();
  const auto sample = outbox.acked(said, now);
  all_good = all_good && sample.ok();
  const bool taken = sample.ok() && *sample;
  KIMESH_CHECK(outbox.held() == held - (taken ? 1 : 0), "an ack frees its message alone");
  if (!taken) return;
  KIMESH_CHECK((*sample)->elapsed >= Duration(0), "no time is negative");
  KIMESH_CHECK((*sample)->tail_time >= Duration(0), "no time is negative");
}

// A welcome says where the far side is: so many messages as u8, and so many chunks of the next one.
void resume(Outbox& outbox, Script& script, bool& all_good) {
  const std::uint64_t delivered = script.number(1);
  const auto far_holds = static_cast<std::uint16_t>(script.number(1));
  const auto before = outbox.next();
  const std::size_t held = outbox.held();
  const auto removed = outbox.resume(delivered, far_holds);
  all_good = all_good && removed.ok();
  const auto next = outbox.next();
  if (!removed.ok()) {
    const bool stays =
        next ? before && before->sequence == next->sequence && before->index == next->index
             : !before;
    KIMESH_CHECK(stays && outbox.held() == held, "a welcome that cannot be changes nothing");
    return;
  }
  KIMESH_CHECK(*removed <= held && outbox.held() == held - *removed, "what was sent is removed");
  KIMESH_CHECK(next || far_holds == 0, "chunks that are held are those of a message");
  if (!next) return;
  KIMESH_CHECK(next->sequence > delivered && next->index < next->count,
               "the next chunk is one of a message");
  if (next->sequence == delivered + 1)
    KIMESH_CHECK(next->index == far_holds, "the link goes on at the chunk where the far side is");
}

bool accepts_acks(Input input) {
  Outbox outbox;
  Script script(input);
  TimePoint now{};
  bool all_good = true;
  while (!script.over()) {
    now += Duration(1000);
    switch (script.number(1) % kOps) {
      case kPush:
        outbox.push(Bytes(script.number(2)), {});
        break;
      case kPlace:
        if (outbox.next()) outbox.placed(now, script.number(1) % 2 == 1);
        break;
      case kNewConnection:
        outbox.restart();
        break;
      case kResume:
        resume(outbox, script, all_good);
        break;
      default:
        ack(outbox, script, now, all_good);
    }
  }
  return all_good;
}

std::vector<Bytes> ack_seeds() {
  const auto script = [](std::initializer_list<int> numbers) {
    Bytes bytes;
    for (const int number : numbers) bytes.push_back(std::byte(number));
    return bytes;
  };
  // Sequence, bytes, tail bytes, the tail's time and its shift, chunks.
  return {
      script({kPush, 100, 0, kPlace, 0, kAck, 1, 100, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 2, 1, 0}),
      script({kPush, 9, 0, kPlace, 1, kAck, 1, 9, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 32, 1, 0}),
      script({kPush,  9, 0,    kPush, 8, 0, kPlace, 1, kPlace, 1, kNewConnection,
              kPlace, 0, kAck, 1,     9, 0, 0,      0, 0,      0, 0,
              9,      0, 0,    0,     2, 1, 0}),
      script({kPush, 9, 0, kPush, 9, 0, kPlace, 1, kPlace, 1, kAck,           1,       9, 0, 0, 0,
              0,     0, 0, 9,     0, 0, 0,      2, 1,      0, kNewConnection, kResume, 2, 0}),
      script({kPush, 160, 15, kPush, 160, 15, kPush, 9, 0, kPlace, 1, kPlace, 1, kNewConnection,
              kResume, 1, 3, kPlace, 0}),
      script({kPush, 9, 0, kPlace, 0, kNewConnection, kResume, 1, 0, kResume, 1, 0})};
}

}  // namespace

std::vector<Target> link_targets() {
  return {{"frame", accepts_frame, frame_seeds, mend_frame},
          {"message", accepts_message, message_seeds, mend_message},
          {"chunks", accepts_chunks, chunk_seeds},
          {"acks", accepts_acks, ack_seeds}};
}

}  // namespace kimesh::fuzz
