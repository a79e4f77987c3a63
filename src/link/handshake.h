// What control frames say: who may join, with the sentences that refuse a hello, and halts. Pure.
#pragma once

#include <optional>
#include <string>

#include "kimesh/events/links.h"
#include "kimesh/wire/frame.h"

namespace kimesh {

// Compares a hello with ours (`ours.from` is this node's name). Nothing: both run the same version,
// topology, config and initial parameters, and the hello is meant for us. Else a sentence that both
// sides can show: it names all that differs and says what to do.
[[nodiscard]] std::optional<std::string> refusal_of(const Hello& hello, const Hello& ours);

// More sentences of the same kind. Names come from the network: shown with control characters taken
// out, and short.
[[nodiscard]] std::string sentence_stranger(const std::string& from, const std::string& self);
[[nodiscard]] std::string sentence_second(const std::string& name, const std::string& self);
[[nodiscard]] std::string sentence_restarted(const std::string& name);
[[nodiscard]] std::string sentence_malformed(const std::string& name, const std::string& what);
[[nodiscard]] std::string printable(const std::string& text);

// What the engine is told of a halt. A kind that this version does not know is a failure.
[[nodiscard]] PeerHalted halted_by(NodeIndex node, const Halt& halt);

}  // namespace kimesh
