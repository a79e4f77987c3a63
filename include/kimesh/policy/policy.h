// Policies: from what a link can carry and what a message wants to how it is sent. Pure functions
// of their input.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "kimesh/bandwidth/estimator.h"
#include "kimesh/compress/compressor.h"
#include "kimesh/util/ids.h"

namespace kimesh {

struct PolicyOptions {
  enum class Kind { kNone, kFixed, kKimad } kind = Kind::kNone;
  bool dense_only = false;             // compressor: identity
  double ratio = 0.05;                 // fixed: share of the elements kept, (0, 1]
  std::optional<Duration> round_time;  // kimad: what a round should take
};

// All that a decision may depend on.
struct MessageContext {
  std::size_t elements = 0;              // of the shard
  std::size_t overhead_bytes = 0;        // headers and control that travel with the payload
  std::size_t chunk_overhead_bytes = 0;  // and what each of its chunks adds (bandwidth/sample.h)
  Round round = 0;
  LinkEstimate link;
  double share_bytes_per_s = 0;  // this link's max-min share of the node's declared cap; infinity
                                 // or 0: none declared
  unsigned link_hops = 2;        // H_link
  Duration compute_time{0};      // T_comp: the mesh's largest, one round old
  // The largest message of the link that was acked lately; 0: none yet. What was only sent proves
  // nothing: several messages may be under way.
  std::size_t proven_bytes = 0;
  // In a row that did not fill the pipe, with the budget used to the full.
  unsigned unfilled_messages = 0;
};

struct Choice {
  Setting setting;
  std::size_t budget_bytes = 0;  // overhead included. 0: the policy has no notion of a budget
};

// Every channel sends at least this share of its elements (design, invariant 4).
inline constexpr double kFloorRatio = 0.001;
// Before anything is known of a link: enough for 8 chunks of 2 KiB, which gives a first estimate.
inline constexpr std::size_t kFirstBudgetBytes = 16 * 1024;
// While the pipe is not filled, a message is at most this much larger than what was carried lately.
inline constexpr double kGrowthMax = 1.5;
// When so many messages in a row did not fill the pipe, the next one is a probe: larger, with real
// content.
inline constexpr unsigned kProbeEvery = 10;
// A probe fills almost any pipe with so many bytes,
inline constexpr std::size_t kProbeBytesMax = 1'000'000;
// or with so many times what the pipe holds in a fixed cost,
inline constexpr double kProbeFixedCosts = 4;
// but apart from the latter it takes at most so many hops: on a slow link 1 MB is a pause of
// seconds.
inline constexpr double kProbeHopsMax = 2;
// and is at most so many times what was carried lately: where the rate is a guess, so are its hops.
inline constexpr double kProbeGrowthMax = 4;

// The budget of design section 3, β((t − T_comp)/H_link − a), with floor, first budget, growth
// limit and probes; for the whole message with its overhead. β is at most the share; a < 0 counts
// as 0.
[[nodiscard]] std::size_t budget_bytes(Duration round_time, const MessageContext& message);

class Policy {
 public:
  virtual ~Policy() = default;
  [[nodiscard]] virtual Choice choose(const MessageContext& message) const = 0;
};

// none: dense. fixed: keep = max(1, round(ratio · n)). kimad: the largest keep that fits the
// budget, the floor when nothing does. Dense wherever 4 bytes per element are no more than that.
// dense_only: always dense, no budget. Requires: ratio in (0, 1] for fixed, a round time for kimad
// (config checks the user's words).
[[nodiscard]] std::unique_ptr<Policy> make_policy(const PolicyOptions& options);

}  // namespace kimesh
