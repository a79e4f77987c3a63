// The message, one record from the sending core to the receiving core through live or simulated
// links, and the answer of the receiving core.
//
// Its payload is moved all the way, or shared by the messages of several links. kimesh itself
// copies the payload's bytes once at the sender, into ZeroMQ's frame (src/link/zmq_socket.cpp), and
// once at the receiver, out of ZeroMQ's frames into the record (src/link/inbox.cpp). The simulator
// copies none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kimesh/codec/codec.h"
#include "kimesh/util/ids.h"
#include "kimesh/util/leb128.h"

namespace kimesh {

// Encoded bytes, constant once they are here, owned by the records that share them. Move-only: what
// is to be sent twice says so.
class Payload {
 public:
  Payload() = default;
  explicit Payload(std::vector<std::byte> bytes) : Payload(std::move(bytes), 0) {}
  // The bytes of `buffer` from `begin` on, without a copy.
  Payload(std::vector<std::byte> buffer, std::size_t begin)
      : buffer_(std::make_shared<const std::vector<std::byte>>(std::move(buffer))), begin_(begin) {}
  Payload(Payload&& other) noexcept
      : buffer_(std::move(other.buffer_)), begin_(std::exchange(other.begin_, 0)) {}
  Payload& operator=(Payload&& other) noexcept {
    buffer_ = std::move(other.buffer_);
    begin_ = std::exchange(other.begin_, 0);
    return *this;
  }

  // The same bytes, for one more record. Thread: any.
  [[nodiscard]] Payload share() const {
    Payload same;
    same.buffer_ = buffer_;
    same.begin_ = begin_;
    return same;
  }
  [[nodiscard]] std::span<const std::byte> bytes() const {
    if (!buffer_) return {};
    return std::span(*buffer_).subspan(begin_);
  }
  [[nodiscard]] std::size_t size() const { return bytes().size(); }

 private:
  std::shared_ptr<const std::vector<std::byte>> buffer_;
  std::size_t begin_ = 0;
};

// The control values of a message: what a control vector (reduce) or a verdict (gather) becomes on
// the wire (round/control.h). A control vector fills the array; what a verdict leaves is 0.
inline constexpr std::size_t kControlSlots = 27;
using Control = std::array<double, kControlSlots>;

// Control values travel in two records of a message (docs/protocol.md): those that a float holds
// exactly travel as floats, the others as doubles. Zeros do not travel. A record has a head, a set
// of bits in LEB128 that says which values it has, and the values. The encoding is compact because
// messages on slow links have 100 bytes, many of which are control values.
inline constexpr std::size_t kRecordHeadBytes = 2;
struct ControlRecords {
  std::uint32_t floats = 0, doubles = 0;  // bit i: control value i is in this record
};
static_assert(kControlSlots <= 31, "a record's values are a set of 32 bits, its length has 8");
[[nodiscard]] ControlRecords records_of(const Control& control);
// Bytes of these records: 0 where all values are 0.
[[nodiscard]] std::size_t control_bytes(const Control& control);
inline constexpr std::size_t kControlBytesMax =
    2 * (kRecordHeadBytes + leb128_bytes((std::uint32_t{1} << kControlSlots) - 1)) +
    kControlSlots * sizeof(double);

// A message of one channel, which is named by the link that carries it, the shard and the phase.
struct Message {
  Round round = 0;
  Generation generation = 0;
  ShardIndex shard = 0;
  Phase phase = Phase::kReduce;
  Form form = Form::kEmpty;
  bool restart = false;  // first of its generation: the receiver's estimate starts from 0 (reduce)
                         // or is assigned
  std::uint64_t digest = 0;  // of the estimate after this message, 0: none
  Control control{};         // shard 0: ControlVector up, Verdict down; else gather_limit up
  Payload payload{};
};

// Bytes of a message besides its head and its payload: what is not 0 of its generation, its digest
// and its control values.
inline constexpr std::size_t kGenerationBytes = 4, kMessageDigestBytes = 8, kRecordsLengthBytes = 2;
[[nodiscard]] std::size_t optional_bytes(Generation generation, bool has_digest,
                                         const Control& control);
[[nodiscard]] inline std::size_t optional_bytes(const Message& message) {
  return optional_bytes(message.generation, message.digest != 0, message.control);
}
inline constexpr std::size_t kOptionalBytesMax =
    kGenerationBytes + kMessageDigestBytes + kRecordsLengthBytes + kControlBytesMax;

// The result of applying a message, which the receiving core sends back.
enum class ApplyOutcome : std::uint8_t {
  kApplied = 0,
  kDigestDiffers = 1,  // applied, but the two ends hold different bits
};
struct Applied {
  Round round = 0;
  Generation generation = 0;
  ShardIndex shard = 0;
  Phase phase = Phase::kReduce;
  ApplyOutcome outcome = ApplyOutcome::kApplied;
  bool operator==(const Applied&) const = default;
};

// Why a node ends the run for all nodes. The numbers are part of the wire format.
// kPermanent: a failure that comes again where the nodes are only started again.
enum class HaltKind : std::uint8_t { kUserStop = 0, kFailure = 1, kPermanent = 2 };

}  // namespace kimesh
