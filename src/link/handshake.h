// The check of a hello, the sentences that refuse one, and halts. Pure.
#pragma once

#include <optional>
#include <string>

#include "kimesh/events/links.h"
#include "kimesh/wire/frame.h"

namespace kimesh {

struct Refusal {
  std::string sentence;  // names all that differs and what to do
  std::string told;      // to the other node: the same without our digests, which it should have
  bool mutual = false;   // the other node refuses our hello as well
};
// Compares a hello with ours, whose `from` is this node's name. Nothing: both sides have the same
// version, topology, config and initial parameters, and the hello is meant for this node.
[[nodiscard]] std::optional<Refusal> refusal_of(const Hello& hello, const Hello& ours);

// Further sentences. Names come from the network: they are shortened, and shown without control
// characters.
[[nodiscard]] std::string sentence_stranger(const std::string& from, const std::string& self);
// For one who has named no node that dials us: it tells nothing of this mesh.
[[nodiscard]] std::string sentence_unknown(const std::string& from);
[[nodiscard]] std::string sentence_flood(const std::string& name);
[[nodiscard]] std::string sentence_second(const std::string& name, const std::string& self);
[[nodiscard]] std::string sentence_restarted(const std::string& name);
// Without keys, of a hello: whoever says so may be anybody.
[[nodiscard]] std::string sentence_claims_restart(const std::string& name, const std::string& self);
[[nodiscard]] std::string sentence_foreign(const std::string& name);
[[nodiscard]] std::string sentence_malformed(const std::string& name, const std::string& what);
// Keys: `self` is this node, `address` where the other side is.
[[nodiscard]] std::string sentence_unknown_key(const std::string& address, const std::string& self);
[[nodiscard]] std::string sentence_not_encrypted(const std::string& self);
[[nodiscard]] std::string sentence_stolen_name(const std::string& node, const std::string& from,
                                               const std::string& self);
// Of a node that is dialled: it does not know this node's key; one of the two does not encrypt; it
// hangs up without a word, as a node does that is dialled with a key which it has not.
[[nodiscard]] std::string sentence_key_denied(const std::string& name, const std::string& address,
                                              const std::string& self);
[[nodiscard]] std::string sentence_other_security(const std::string& name,
                                                  const std::string& address, bool is_encrypted);
[[nodiscard]] std::string sentence_no_handshake(const std::string& name, const std::string& address,
                                                bool is_encrypted);
// Where ZeroMQ or the process has no room for the socket with which it is to be dialled.
[[nodiscard]] std::string sentence_no_room(const std::string& name, const std::string& address);
[[nodiscard]] std::string printable(const std::string& text);
// The same in full length, which a frame bounds.
[[nodiscard]] std::string without_controls(std::string text);

// The event for a halt, whose reason is shown without control characters. A kind that this version
// does not know counts as a failure.
[[nodiscard]] PeerHalted halted_by(NodeIndex node, const Halt& halt);

}  // namespace kimesh
