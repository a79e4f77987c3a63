// What the offers of a run have told of the nodes' data: whether they are alike, and whether nodes
// may take gradients ahead of the parameters. Thread: that of the core, at the owner of shard 0.
#pragma once

#include <algorithm>
#include <optional>
#include <tuple>

#include "kimesh/policy/round_time_search.h"
#include "recent_median.h"

namespace kimesh {

class DataLikeness {
 public:
  // `cosine`: mean_cosine() of the movements of round 0. These begin at one point with nothing
  // late, and tell like data from unlike data most clearly.
  void add_first(double cosine) { first_agree_ = cosine > kFirstAgreement; }
  // Whether these movements agree so much that the rounds before the first offer may have several
  // local steps. Nothing else depends on it.
  [[nodiscard]] bool first_movements_agree() const { return first_agree_; }

  // `cosine`: mean_cosine() of one more offer.
  void add(double cosine) {
    const double unlike = unlikeness(cosine);
    recent_.add(unlike);
    if (!may_look_ahead_) may_look_ahead_ = unlike < kUnlikenessOfLookAhead;
    if (recent_.count() == kOffersOfAMedian) at_first_ = recent_.value();
    if (is_sure() && recent_.value() >= kUnlikenessOfLookAhead) may_look_ahead_ = false;
  }

  // From 0 to 1, as unlikeness() has it. Data stay what they are. Once nodes have learnt them,
  // their movements are mostly noise of batches, which hides what is unlike: the first offers
  // bound it.
  [[nodiscard]] double unlike() const { return std::max(at_first_, recent_.value()); }
  // Whether enough offers have been made to know unlike().
  [[nodiscard]] bool is_sure() const { return recent_.count() >= kOffersOfAMedian; }
  // The first offer says so, and data that seem unlike later end it for good.
  [[nodiscard]] bool may_look_ahead() const { return may_look_ahead_.value_or(false); }

  template <typename Self>
  static auto state_of(Self& self) {
    return std::tie(self.recent_, self.at_first_, self.may_look_ahead_, self.first_agree_);
  }

 private:
  // The least cosine of first movements that agree. Digits have 0.16 to 0.69, even, and −0.41 to
  // −0.22 by label; independent data have 0 (docs/experiments.md, "Steps beside the smallest
  // messages").
  static constexpr double kFirstAgreement = 0.1;
  static constexpr std::size_t kOffersOfAMedian = 3;  // a single odd offer decides nothing
  RecentMedian recent_;
  double at_first_ = 0;  // the median of the first offers
  std::optional<bool> may_look_ahead_;
  bool first_agree_ = false;
};

}  // namespace kimesh
