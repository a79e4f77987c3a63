#include "handshake.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "kimesh/link/network.h"
#include "kimesh/util/digest.h"

namespace kimesh {
namespace {

constexpr std::size_t kShownMax =
    400;  // bytes of a foreign text in a sentence: a few lines of a terminal

bool is_doctors(std::uint64_t config_digest) {
  return config_digest == doctors_config_digest();
}

constexpr const char* kWantsEncryption = "wants encrypted links, and this node has security: none";

// What two nodes have that differs, for both sides.
struct Reason {
  std::string sentence, told;
};
Reason same(const std::string& sentence) {
  return {sentence, sentence};
}

Reason differing(const std::string& what, std::uint64_t theirs, std::uint64_t ours,
                 const Hello& hello, const Hello& own, const std::string& remedy) {
  return {fmt::format("the {} differ ({}: {}, {}: {}); {}", what, printable(hello.from),
                      digest_name(theirs), own.from, digest_name(ours), remedy),
          fmt::format("the {} differ; {}", what, remedy)};
}

}  // namespace

std::uint64_t doctors_config_digest() {
  return digest_text("kimesh doctor");
}

std::string without_controls(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  return text;
}

std::string printable(const std::string& text) {
  return without_controls(text.substr(0, kShownMax));
}

std::optional<Refusal> refusal_of(const Hello& hello, const Hello& ours) {
  const std::string from = printable(hello.from);
  std::vector<Reason> reasons;
  if (hello.protocol != ours.protocol || hello.build != ours.build)
    reasons.push_back(same(fmt::format(
        "the versions differ ({}: kimesh {}, wire {}; {}: kimesh {}, wire {}); install the same "
        "version on both",
        from, printable(hello.build), hello.protocol, ours.from, ours.build, ours.protocol)));
  if (hello.topology_digest != ours.topology_digest)
    reasons.push_back(differing("topologies", hello.topology_digest, ours.topology_digest, hello,
                                ours, "give both nodes the same topology file"));
  const bool one_examines = hello.config_digest != ours.config_digest &&
                            (is_doctors(hello.config_digest) || is_doctors(ours.config_digest));
  if (one_examines)
    reasons.push_back(
        same("one of the two runs kimesh doctor and the other one trains; end one of them"));
  else if (hello.config_digest != ours.config_digest)
    reasons.push_back(differing("configs", hello.config_digest, ours.config_digest, hello, ours,
                                "give both nodes the same config file"));
  // A different config explains different parameters: only the cause is worth a sentence.
  else if (hello.parameters_digest != ours.parameters_digest)
    reasons.push_back(differing("initial parameters", hello.parameters_digest,
                                ours.parameters_digest, hello, ours,
                                "use the same builds of kimesh and LibTorch, C library and kind "
                                "of processor on both machines, and where programs bring the "
                                "model the same names, order, shapes and start"));
  if (reasons.empty() && (hello.run != ours.run || hello.view != ours.view))
    reasons.push_back(same("the runs differ; start all nodes anew, from the same point"));
  const bool mutual =
      !reasons.empty() && !one_examines;  // an address that leads elsewhere is one node's mistake
  if (hello.to != ours.from)
    reasons.push_back(same(fmt::format(
        "the address that {} dialled for node {} leads to node {}; check the addresses in the "
        "topology file",
        from, printable(hello.to), ours.from)));
  if (reasons.empty()) return std::nullopt;
  Refusal refusal;
  refusal.mutual = mutual;
  refusal.sentence = refusal.told = fmt::format("node {} refuses node {}: ", ours.from, from);
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    const std::string_view also = i > 0 ? "; also " : "";
    refusal.sentence.append(also).append(reasons[i].sentence);
    refusal.told.append(also).append(reasons[i].told);
  }
  return refusal;
}

std::string sentence_stranger(const std::string& from, const std::string& self) {
  return fmt::format(
      "node {} refuses node {}: no link leads from {} to {} in its topology; give both nodes the "
      "same topology file",
      self, printable(from), printable(from), self);
}

std::string sentence_unknown(const std::string& from) {
  return fmt::format("node {} is unknown at the address that it dialled; the log there says more",
                     printable(from));
}

std::string sentence_flood(const std::string& name) {
  return fmt::format(
      "node {} sends messages that do not end, or more than this node reads: its connection was "
      "ended",
      printable(name));
}

std::string sentence_second(const std::string& name, const std::string& self) {
  return fmt::format(
      "node {} refuses a second node named {} while the first one lives: stop one of them, or "
      "start it under its own name",
      self, printable(name));
}

std::string sentence_restarted(const std::string& name) {
  return fmt::format(
      "node {} was restarted in the middle of the run and has lost its state: the run must begin "
      "anew on all nodes",
      printable(name));
}

std::string sentence_claims_restart(const std::string& name, const std::string& self) {
  return fmt::format(
      "node {} refuses a process that says it is node {}, started again, since links are not "
      "encrypted and anybody can say so; the run ends if node {} stays silent for dead_after",
      self, printable(name), printable(name));
}

std::string sentence_foreign(const std::string& name) {
  return fmt::format("node {} sends frames of another run, which are dropped", printable(name));
}

std::string sentence_malformed(const std::string& name, const std::string& what) {
  return fmt::format("what came from {} is not what kimesh sends ({}): its connection is refused",
                     printable(name), what);
}

std::string sentence_unknown_key(const std::string& address, const std::string& self) {
  return fmt::format(
      "node {} refuses a connection from {}, whose key is not in its list: if that is a node of "
      "this mesh, give both nodes the same list of public keys, and start {} again",
      self, printable(address), self);
}

std::string sentence_not_encrypted(const std::string& self) {
  return fmt::format(
      "node {} refuses a connection that is not encrypted for its key: if that is a node of this "
      "mesh, give both nodes the same topology file and the same list of public keys",
      self);
}

std::string sentence_stolen_name(const std::string& node, const std::string& from,
                                 const std::string& self) {
  return fmt::format(
      "node {} refuses a connection that says it is node {} with the key of node {}: start that "
      "node under its own name",
      self, printable(from), printable(node));
}

std::string sentence_key_denied(const std::string& name, const std::string& address,
                                const std::string& self) {
  return fmt::format(
      "node {} at {} refuses the key of node {}: give both nodes the same list of public keys, and "
      "start {} again",
      name, address, self, name);
}

std::string sentence_other_security(const std::string& name, const std::string& address,
                                    bool is_encrypted) {
  return fmt::format("what listens for node {} at {} {}: give both nodes the same topology file",
                     name, address,
                     is_encrypted ? "does not encrypt, and this node does" : kWantsEncryption);
}

std::string sentence_no_handshake(const std::string& name, const std::string& address,
                                  bool is_encrypted) {
  return fmt::format(
      "what listens for node {} at {} {}, or is no node of kimesh: give both nodes the same "
      "topology file and list of public keys, and check the address",
      name, address,
      is_encrypted ? fmt::format("does not hold the key that the list gives to {}", name)
                   : kWantsEncryption);
}

std::string sentence_no_room(const std::string& name, const std::string& address) {
  return fmt::format(
      "node {} at {} cannot be dialled now, since there is no room for another socket, and is "
      "tried again; if this stays, raise the limit of open files (ulimit -n)",
      name, address);
}

PeerHalted halted_by(NodeIndex node, const Halt& halt) {
  const bool is_known = halt.kind == HaltKind::kUserStop || halt.kind == HaltKind::kPermanent;
  return {node, is_known ? halt.kind : HaltKind::kFailure, without_controls(halt.reason)};
}

}  // namespace kimesh
