// The state of a core's channels and shards (state.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "coding_time.h"
#include "kimesh/round/core.h"

namespace kimesh {

struct IncomingChannel {
  ChannelIndex channel = 0;
  std::optional<Message> pending;  // at most one: the sender waits for `applied`
  bool applying = false;
  TimePoint asked{};         // when that was
  Round applied = kNoRound;  // round of the last message applied
  Generation generation = 0;
  Control control{};  // of the message applied last
  template <typename Self>
  static auto state_of(Self& self) {
    return std::tie(self.generation);
  }
};

// The round of a message. Its node may have begun the next one before the message is sent.
struct MessageRound {
  Round round = kNoRound;
  bool confirmation = false, closing = false;
};

struct OutgoingChannel {
  ChannelIndex channel = 0;
  LinkIndex link = 0;
  BufferId estimate;
  bool busy = false;      // its last message is not yet applied at the far side
  bool waiting = false;   // `due` comes when it is
  bool encoding = false;  // it has not been sent yet
  MessageRound sent, due;
  TimePoint asked{};            // when the encoding of its last message was
  Duration encoded{0};          // its part that grows with the bytes; 0: none yet
  CodingTime coding_time;       // of messages of the run's codec
  bool has_usual_codec = true;  // the message that is being made
  Generation generation = 0;
  bool restart = false;           // the next message begins a generation
  Budget budget;                  // of the last message's setting
  std::size_t payload_bytes = 0;  // of the last message
  Curve curve;                    // of the last message that was measured; empty: none was
  // Only where the policy wants curves: the message's place among those of its link and phase.
  std::size_t group = 0, place = 0;
  static constexpr std::size_t kUnobserved = static_cast<std::size_t>(-1);
  std::size_t observation = kUnobserved;  // its place in `observations`
  template <typename Self>
  static auto state_of(Self& self) {
    return std::tie(self.coding_time, self.generation, self.restart, self.budget,
                    self.payload_bytes, self.curve);
  }
};

// The content of a shared gather message, which goes to every child as it is.
struct SharedMessage {
  Form form = Form::kEmpty;
  std::uint64_t digest = 0;
  Control control{};
  Payload payload{};
};

struct ShardState {
  std::vector<BufferId>
      reduce_terms;  // own contribution, then the children's estimates in node order
  std::vector<BufferId> gather_terms;  // x[s] at the owner, w[s] elsewhere
  std::vector<BufferId> parameters;    // w[s]
  Round reduced = kNoRound;            // last round whose reduce work was issued
  Round current = kNoRound;            // last round that the parameters hold
  TimePoint asked{};                   // when the last step was
  // Of a shared gather: `shared` is kept for children that are not free yet. `gather_limit` is
  // the most bytes that the gather links of this node, and of the nodes below it in the reduce
  // tree, carry in time; 0: none of them limits it.
  SharedMessage shared;
  bool is_making = false;  // at the owner
  double gather_limit = 0;
  template <typename Self>
  static auto state_of(Self& self) {
    return std::tie(self.gather_limit);
  }
};

}  // namespace kimesh
