// The searches of `suggest`, one a kind.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "kimesh/run/suggest.h"
#include "round_model.h"

namespace kimesh {

[[nodiscard]] std::vector<NodeIndex> all_nodes(std::size_t count);

// Finds the best of the arrangements that it is given, each with a bound under which its round
// cannot be. Best given with ascending bounds.
class Search {
 public:
  explicit Search(const RoundModel& model) : model_(model) {}
  // Whether an arrangement with this bound may be better than all before.
  [[nodiscard]] bool is_worth(double bound_s) const { return bound_s < best_s_; }
  // Lays out its rounds, if it is worth that.
  void consider(double bound_s, const Arrangement& arrangement);
  // `bound_s`: of all arrangements of the kind, where not all were considered; nothing: all were.
  // No suggestion: the kind cannot be.
  [[nodiscard]] std::optional<Suggestion> take(std::optional<double> bound_s = std::nullopt);

 private:
  const RoundModel& model_;
  std::optional<Arrangement> best_;
  double best_s_ = std::numeric_limits<double>::infinity();
  double left_out_s_ = std::numeric_limits<double>::infinity();  // least bound that was not tried
  std::size_t tried_ = 0;
};

[[nodiscard]] std::optional<Suggestion> best_ring(const RoundModel& model);
[[nodiscard]] std::optional<Suggestion> best_tree(const RoundModel& model);
[[nodiscard]] std::optional<Suggestion> best_servers(const RoundModel& model);

}  // namespace kimesh
