// Frames as a peer sends them, or nobody does, for fuzzers of a live inbox.
#pragma once

#include <cstddef>
#include <iterator>
#include <vector>

#include "kimesh/util/random.h"
#include "kimesh/wire/frame.h"

namespace kimesh {

// One frame of who says this `hello` and has `next` as its next message.
inline std::vector<std::byte> some_frame(Random& random, const Hello& hello, std::uint64_t next) {
  Message message;
  message.form = Form::kDense;
  message.control = {1, 2, 3};
  std::vector<std::byte> whole = encode_message_head(message);
  whole.resize(whole.size() + random.below(2000), static_cast<std::byte>(next * 97));
  Chunk chunk;
  chunk.sequence = next;
  chunk.count = 1;
  chunk.bytes = whole;
  const std::string& name = hello.from;
  const Frame frames[] = {chunk,
                          chunk,
                          chunk,
                          Bye{name},
                          Heartbeat{},
                          Halt{name, HaltKind::kUserStop, "x"},
                          Ack{next},
                          hello,
                          Later{.type = 99, .body = whole},
                          Applied{},
                          Welcome{name, 1},
                          Refuse{"no"}};
  return encode_frame(frames[random.below(std::size(frames))]);
}

// Another byte somewhere, or an end too early.
inline void change(std::vector<std::byte>& bytes, Random& random) {
  const auto at = random.below(static_cast<std::uint32_t>(bytes.size()));
  if (random.below(8) == 0) return bytes.resize(at);
  bytes[at] = static_cast<std::byte>(random.below(256));
}

}  // namespace kimesh
