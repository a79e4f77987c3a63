// The first node's parameters on their way to all others, before the first round: dense, in pieces,
// along the shortest way over the plan's links. A node hands each piece on when it has it.
//
// The pieces are the first messages of a link, which delivers in order, so that they need no mark
// of their own on the wire: shard 0, phase gather, form dense, and the piece's number as the round.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kimesh/events/links.h"
#include "kimesh/topology/plan.h"
#include "kimesh/util/result.h"

namespace kimesh {

// Floats of a piece: one takes half a second at 1 Mbit/s.
inline constexpr std::size_t kPieceFloats = 16 * 1024;
// Pieces that wait for the ack of a link, so that it is never idle.
inline constexpr std::uint32_t kPiecesUnderWay = 4;

// The link by which each node gets the first node's point; nothing at the first node. The same at
// all nodes: fewest hops, of several links the first in the plan.
[[nodiscard]] std::vector<std::optional<LinkIndex>> ways_from_first_node(const Plan& plan);

// One node's part. Thread: the engine's.
class FirstPointExchange {
 public:
  using Sender = std::function<void(SendMessage)>;
  // `point` is the first node's, or is filled. It and `plan` outlive this.
  FirstPointExchange(const Plan& plan, NodeIndex self, std::span<float> point);

  // Hands on what there is, as far as acks allow. To be called once the links are up.
  void begin(Sender send);
  // Whether the next message on this link is a piece.
  [[nodiscard]] bool takes(LinkIndex link) const;
  // Errors: Malformed, a sentence: no piece of this point, or other bits than those that were sent.
  [[nodiscard]] Status arrived(const MessageArrived& event);
  void acked(LinkIndex link);

  // All pieces are here, and those that follow on the tree have acked them.
  [[nodiscard]] bool done() const;
  // Pieces that came or were acked, which grows as long as there is progress.
  [[nodiscard]] std::uint64_t progress() const;
  // "the parameters of node a", or "node b to take the parameters of node a".
  [[nodiscard]] std::string waiting_for() const;

 private:
  struct Child {
    LinkIndex link = 0;
    std::uint32_t sent = 0, acked = 0;
  };
  void hand_on();
  [[nodiscard]] std::span<float> piece(std::uint32_t number) const;

  const Plan& plan_;
  const std::span<float> point_;
  const std::uint32_t pieces_;
  std::optional<LinkIndex> from_;
  std::vector<Child> children_;
  std::uint32_t here_ = 0;    // pieces that are here
  std::uint64_t digest_ = 0;  // of the whole point, as the first node said it
  Sender send_;               // empty before begin()
};

}  // namespace kimesh
