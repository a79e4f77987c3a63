// The message: one record from the core that sends it to the core that gets it, through links live
// or simulated. And what goes back about it.
//
// Its payload is moved all the way. kimesh itself copies the payload's bytes once at the sender,
// into ZeroMQ's frame (src/link/zmq_socket.cpp), and once at the receiver, out of ZeroMQ's frames
// into the record (src/link/inbox.cpp). The simulator copies none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kimesh/codec/codec.h"
#include "kimesh/util/ids.h"

namespace kimesh {

// Encoded bytes, owned by the record that they are in. Move-only: a copy would not compile.
class Payload {
 public:
  Payload() = default;
  explicit Payload(std::vector<std::byte> bytes) : Payload(std::move(bytes), 0) {}
  // The bytes from `begin` on; what is before them is kept and not seen.
  Payload(std::vector<std::byte> buffer, std::size_t begin)
      : buffer_(std::move(buffer)), begin_(begin) {}
  Payload(Payload&& other) noexcept
      : buffer_(std::move(other.buffer_)), begin_(std::exchange(other.begin_, 0)) {}
  Payload& operator=(Payload&& other) noexcept {
    buffer_ = std::move(other.buffer_);
    begin_ = std::exchange(other.begin_, 0);
    return *this;
  }

  [[nodiscard]] std::span<const std::byte> bytes() const {
    return std::span(buffer_).subspan(begin_);
  }
  [[nodiscard]] std::size_t size() const { return bytes().size(); }

 private:
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0;
};

// Numbers that ride with a message; what they mean is round/control.h's.
// There is room for what is said today and more. Slots that nobody fills are 0.
inline constexpr std::size_t kControlSlots = 12;
using Control = std::array<double, kControlSlots>;

// How many of them travel: zeros at the end do not. What is seldom said comes last, so that most
// rounds take a few bytes, which counts where a slow link's whole message has 200.
[[nodiscard]] std::size_t controls_to_send(const Control& control);

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
  Control control{};         // ControlVector up, Verdict down; meaningful with shard 0 only
  Payload payload{};
};

// What the far core says once it has applied a message.
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

// Why a node ends the run for all. The numbers travel.
enum class HaltKind : std::uint8_t { kUserStop = 0, kFailure = 1 };

}  // namespace kimesh
