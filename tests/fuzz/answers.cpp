// What a node reads on the connections that it dials: the answers of a link's receiver, and what a
// link's sender says where the receiver dials. Real connections read it, over loopback, from a
// ROUTER that follows the input as a script.
#include <algorithm>
#include <array>
#include <chrono>

#include "kimesh/bandwidth/sample.h"
#include "tests/fuzz/dialled_link.h"
#include "tests/fuzz/frame_heads.h"

namespace kimesh::fuzz {
namespace answers {
namespace {

using Clock = std::chrono::steady_clock;

// A script: a byte whose lowest bit is NetworkOptions::dials_again, then steps, each an op as u8
// and what it takes. A frame is a length as u16 and so many bytes.
enum Op : std::uint32_t {
  kFrame,  // the far side says a frame
  kParts,  // and one of two parts
  kSend,   // this side sends a message of so many bytes (u16), or of an incoming link `applied`
  kCut,    // the connection breaks, and the next one says hello
  kEnd,    // this side says halt (u8 odd) or bye
  kOps
};
constexpr int kStepsMax = 40, kCutsMax = 4;

struct Step {
  Op op;
  std::uint32_t number;
  Input frame;
};

// Takes the next step from the front of `left`; what is missing at its end is 0.
Step next_step(Input& left) {
  const auto number = [&](std::size_t width) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < width && !left.empty(); ++i, left = left.subspan(1))
      value |= std::to_integer<std::uint32_t>(left.front()) << (8 * i);
    return value;
  };
  Step step{static_cast<Op>(number(1) % kOps), 0, {}};
  if (step.op == kEnd) step.number = number(1);
  if (step.op == kSend) step.number = number(2);
  if (step.op != kFrame && step.op != kParts) return step;
  const std::size_t wanted = number(2), size = std::min(wanted, left.size());
  step.frame = left.first(size);
  left = left.subspan(size);
  return step;
}

// A script that is carried out, between a dialling side and whom it dials.
class Play {
 public:
  Play(Dialling& dialling, Far& far, std::uint64_t incarnation)
      : dialling_(dialling), far_(far), incarnation_(incarnation) {}

  void carry_out(Input script) {
    next_hello();
    int steps = 0, cuts = 0;
    for (; !script.empty() && dialling_.socket() && steps < kStepsMax; ++steps) {
      const Step step = next_step(script);
      if (step.op == kSend) dialling_.send(step.number);
      if (step.op == kEnd) dialling_.end(step.number % 2 == 1);
      if (step.op == kFrame || step.op == kParts) hear(step);
      if (step.op == kCut && ++cuts <= kCutsMax) {
        far_.cut();
        next_hello();
      }
      dialling_.pass();
      static_cast<void>(is_connected_anew());
      static_cast<void>(dialling_.all_arrived());
    }
  }

 private:
  bool is_connected_anew() {
    const std::uint32_t latest = far_.connection_of(incarnation_);
    return std::exchange(connection_, latest) != latest;
  }
  // Passes of the dialling side until `done`, or until it dials no more.
  template <typename Done>
  void pass_until(const Done& done) {
    const auto end = Clock::now() + kDialledPatience;
    for (dialling_.pass(); dialling_.socket() && !done(); dialling_.pass()) {
      KIMESH_CHECK(Clock::now() < end, "the connection goes on");
      constexpr int kPassMs = 10;
      std::array<zmq_pollitem_t, 3> items{{{dialling_.socket(), 0, ZMQ_POLLIN, 0},
                                           {dialling_.monitor(), 0, ZMQ_POLLIN, 0},
                                           {far_.socket(), 0, ZMQ_POLLIN, 0}}};
      zmq_poll(items.data(), static_cast<int>(items.size()), kPassMs);
    }
  }
  void next_hello() {
    pass_until([&] { return is_connected_anew(); });
  }
  // A frame is lost where this side has just cut the connection, to say a halt.
  void hear(const Step& step) {
    far_.say(step.frame, step.op == kParts);
    pass_until([&] {
      zmq_pollitem_t item{dialling_.socket(), 0, ZMQ_POLLIN, 0};
      if (zmq_poll(&item, 1, 0) <= 0) return is_connected_anew();
      dialling_.read_one_frame();
      return true;
    });
  }
  Dialling& dialling_;
  Far& far_;
  const std::uint64_t incarnation_;
  std::uint32_t connection_ = 0;  // the latest that it has said hello on
};

// What seeds say; terminals would act on it.
constexpr const char *kSaid = "another \x1b[31mversion", *kShown = "another ?[31mversion";

// The words of a refusal are an answer like others: all else that is complained about is not.
bool was_taken(const Told& told, bool refuses) {
  if (refuses) return told.complaint() == kShown;
  return told.was_up() && told.complaint().empty();
}

template <typename Side>
bool accepts(Input script) {
  static Far far;
  static std::uint64_t incarnation = 0;
  if (script.empty()) return false;
  const bool dials_again = (script.front() & std::byte{1}) != std::byte{0};
  bool refuses = false;
  for (Input left = script.subspan(1); !left.empty();) {
    const auto frame = decode_frame(next_step(left).frame);
    refuses = refuses || (frame.ok() && std::holds_alternative<Refuse>(*frame));
  }
  Side side(++incarnation, dials_again, far.endpoint());
  Play(side, far, incarnation).carry_out(script.subspan(1));
  far.forget();
  return was_taken(side.told(), refuses) && side.all_arrived();
}

// The heads of frames, all but their types.
void mend(std::span<std::byte> input) {
  if (input.empty()) return;
  for (Input left = Input(input).subspan(1); !left.empty();) {
    const Input frame = next_step(left).frame;
    const auto begin = static_cast<std::size_t>(frame.data() - input.data());
    mend_head(input.subspan(begin, frame.size()), kDialledTag);
  }
}

// Writes a script.
class Writer {
 public:
  explicit Writer(bool dials_again = false) : bytes_{std::byte{dials_again}} {}
  Writer& far(const Frame& frame) {
    const Bytes encoded = encode_frame(frame, kDialledTag);
    numbers({kFrame, encoded.size() & 0xff, encoded.size() >> 8});
    bytes_.insert(bytes_.end(), encoded.begin(), encoded.end());
    return *this;
  }
  Writer& welcome(std::uint32_t connection, std::uint64_t delivered = 0, std::uint16_t held = 0) {
    return far(Welcome{"b", 7, connection, delivered, held});
  }
  Writer& sends(std::size_t bytes) { return numbers({kSend, bytes & 0xff, bytes >> 8}); }
  Writer& cut() { return numbers({kCut}); }
  Writer& halts() { return numbers({kEnd, 1}); }
  Writer& leaves() { return numbers({kEnd, 0}); }
  operator Bytes() const { return bytes_; }

 private:
  Writer& numbers(std::initializer_list<std::size_t> numbers) {
    for (const std::size_t number : numbers) bytes_.push_back(static_cast<std::byte>(number));
    return *this;
  }
  Bytes bytes_;
};

Ack ack(std::uint64_t sequence, std::size_t payload) {
  const std::size_t bytes = message_bytes(payload, 0);
  return {.sequence = sequence,
          .bytes = static_cast<std::uint32_t>(bytes),
          .tail_bytes = static_cast<std::uint32_t>(bytes / 2),
          .tail_ns = 1000,
          .chunks = static_cast<std::uint16_t>(chunk_count(bytes))};
}

const Halt kHalt{"b", HaltKind::kFailure, kSaid};

std::vector<Bytes> seeds_of_answers() {
  const Applied applied{.round = 1, .generation = 2, .shard = 3, .phase = Phase::kGather};
  const Later later{.type = kLaterTypes, .body = {}};
  return {Writer().sends(100).welcome(1).far(ack(1, 100)).far(applied).far(Heartbeat{}).far(later),
          Writer()
              .sends(4000)
              .sends(10)
              .welcome(1)
              .cut()
              .welcome(2, 0, 1)
              .far(ack(1, 4000))
              .far(ack(2, 10)),
          Writer().sends(5).far(ack(1, 5)).far(Bye{"b"}).welcome(1).welcome(1).far(ack(1, 5)),
          Writer().sends(9).sends(8).welcome(1).far(ack(1, 9)).cut().welcome(2, 2).far(ack(1, 9)),
          Writer().welcome(1).far(kHalt).leaves().far(Bye{"b"}),
          Writer().welcome(1).halts().cut().welcome(2).far(kHalt),
          Writer(true).welcome(1).far(Refuse{kSaid}),
          Writer().far(Refuse{kSaid})};
}

Frame chunk_of(const Bytes& message, std::uint64_t sequence, std::uint16_t index,
               std::uint16_t count) {
  const std::size_t part = message.size() / count, begin = index * part;
  Chunk chunk{.sequence = sequence,
              .index = index,
              .count = count,
              .bytes = Input(message).subspan(begin, part)};
  return chunk;
}

std::vector<Bytes> seeds_of_messages() {
  Bytes message = encode_message_head({});
  message.resize(message.size() + 1000, std::byte{9});
  const Later later{.type = kLaterTypes, .body = {}};
  const auto chunk = [&](std::uint64_t sequence, std::uint16_t index, std::uint16_t count) {
    return chunk_of(message, sequence, index, count);
  };
  return {Writer().welcome(1).far(chunk(1, 0, 1)).sends(1).far(chunk(2, 0, 2)).far(chunk(2, 1, 2)),
          Writer().welcome(1).far(chunk(1, 0, 4)).cut().welcome(2).far(chunk(1, 1, 4)).far(later),
          Writer().far(chunk(1, 0, 1)).far(Bye{"b"}).welcome(1).welcome(1).far(chunk(1, 0, 1)),
          Writer()
              .sends(4)
              .welcome(1)
              .far(Heartbeat{})
              .far(chunk(1, 0, 1))
              .cut()
              .welcome(2)
              .far(chunk(1, 0, 1)),
          Writer().welcome(1).far(kHalt).leaves().far(Bye{"b"}),
          Writer().welcome(1).halts().cut().welcome(2).far(kHalt),
          Writer(true).welcome(1).far(Refuse{kSaid}),
          Writer().far(Refuse{kSaid})};
}

}  // namespace
}  // namespace answers

std::vector<Target> answer_targets() {
  return {{"answers", answers::accepts<DialledSender>, answers::seeds_of_answers, answers::mend},
          {"dialled-messages", answers::accepts<DialledReceiver>, answers::seeds_of_messages,
           answers::mend}};
}

}  // namespace kimesh::fuzz
