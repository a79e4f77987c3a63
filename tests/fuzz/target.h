// What the fuzzers feed: a target for each decoder that stands at a border, be it to a peer or to a
// user's file. libfuzzer.cpp makes a program of them for `./dev fuzz`; fuzz_test.cpp replays their
// seeds with the ordinary compiler.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace kimesh::fuzz {

using Bytes = std::vector<std::byte>;
using Input = std::span<const std::byte>;

struct Target {
  std::string name;
  // Decodes the input, and aborts where the decoder breaks a promise. Returns whether all of it was
  // taken for correct.
  std::function<bool(Input input)> accepts;
  // Inputs that are correct, from the encoders or from shipped files: where mutation starts. The
  // same at each call.
  std::function<std::vector<Bytes>()> seeds;
  // Where nearly every mutation would end at the same check: puts right what that check looks at
  // (a magic number, a length), so that the branches behind it are reached.
  void (*mend)(std::span<std::byte> input) = nullptr;
};

// Messages' payloads, a target for each form: the vector's size as u16, then the payload.
[[nodiscard]] std::vector<Target> payload_targets();
// What arrives on a link: frames, whole messages, chunks in any order, acks in any order.
[[nodiscard]] std::vector<Target> link_targets();
// What a node reads on the connections that it dials, by real connections over loopback.
[[nodiscard]] std::vector<Target> answer_targets();
// What users write: configs, topologies, traces.
[[nodiscard]] std::vector<Target> config_targets();
// What runs leave and later commands read: weights, records, decisions.
[[nodiscard]] std::vector<Target> run_file_targets();

[[nodiscard]] std::vector<Target> all_targets();

}  // namespace kimesh::fuzz
