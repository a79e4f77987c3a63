// The searches of `suggest`, one for each kind of arrangement.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "kimesh/run/suggest.h"
#include "round_model.h"

namespace kimesh {

// What it costs to lay a round out: the messages that it has.
[[nodiscard]] std::size_t messages_of(const Arrangement& arrangement, std::size_t nodes);
// The messages of so many rings of kExactNodesMax nodes.
[[nodiscard]] std::size_t messages_max(std::size_t laid_out_max);

// The steps of a search for rings or trees with a low bound: about a second of one core. The bound
// of one ring takes as many steps as it has nodes.
inline constexpr std::size_t kBoundStepsMax = 300'000'000;

// Finds the best of the arrangements that it is given, each with a lower bound of its round. It
// lays out the fewest rounds when the bounds ascend.
class Search {
 public:
  Search(const RoundModel& model, std::size_t laid_out_max)
      : model_(model), messages_max_(messages_max(laid_out_max)) {}
  // Whether an arrangement with this bound may be better than all earlier ones.
  [[nodiscard]] bool is_worth(double bound_s) const { return bound_s < best_s_; }
  // Lays out the arrangement's rounds, if its bound makes it worth that and the limit allows it.
  void consider(double bound_s, const Arrangement& arrangement);
  // The time of a round, laid out whatever the limit.
  [[nodiscard]] double round_s(const Arrangement& arrangement);
  [[nodiscard]] std::size_t messages_left() const {
    return messages_max_ - std::min(messages_, messages_max_);
  }
  // `bound_s`: a lower bound for all arrangements of the kind; nothing: all were considered.
  // Returns nothing where the known pairs allow no arrangement of the kind.
  [[nodiscard]] std::optional<Suggestion> take(std::optional<double> bound_s = std::nullopt);

 private:
  const RoundModel& model_;
  std::size_t messages_max_;
  std::optional<Arrangement> best_;
  double best_s_ = std::numeric_limits<double>::infinity();
  double left_out_s_ = std::numeric_limits<double>::infinity();  // least bound beyond the limit
  std::size_t tried_ = 0, messages_ = 0;
};

[[nodiscard]] std::optional<Suggestion> best_ring(const RoundModel& model,
                                                  std::size_t laid_out_max = kLaidOutMax);
[[nodiscard]] std::optional<Suggestion> best_tree(const RoundModel& model,
                                                  std::size_t laid_out_max = kLaidOutMax);
[[nodiscard]] std::optional<Suggestion> best_servers(const RoundModel& model,
                                                     std::size_t laid_out_max = kLaidOutMax);

}  // namespace kimesh
