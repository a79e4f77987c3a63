// The verdict of a run that goes on, from the rounds that its nodes ended last. A live view tells
// it, so that memory and work are bounded whatever the run's length and the mesh's size.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

#include "kimesh/report/history.h"

namespace kimesh {

// Thread: one at a time.
class RecentRounds {
 public:
  // `run` is what load_run() has read, or what is known of a run whose folder is still to come.
  explicit RecentRounds(RunHistory run);

  // Takes a round; those of one node come in order, but for rounds that are repeated.
  void add(NodeIndex node, const RoundRecord& round);

  // The first finding of the last rounds, without simulations, in one sentence. Empty: too few
  // rounds are known. Looks through what is kept once a quarter of it is new, else says the same
  // again: at most kLooksMax times at each record of a link.
  [[nodiscard]] const std::string& verdict();

  static constexpr Round kRoundsMin = 20, kRoundsMax = 200;  // that are kept of a node
  static constexpr std::size_t kLinkRecordsMax = 20'000;     // of all nodes: 3 MB
  static constexpr std::size_t kLooksMax = 4;
  // The rounds that are kept of each node; 0: the mesh has too many links, and the verdict names
  // the command that tells it.
  [[nodiscard]] Round kept() const { return kept_; }
  // How often a verdict was worked out.
  [[nodiscard]] std::size_t looks() const { return looks_; }

 private:
  void look();
  RunHistory run_;
  const Round kept_;
  std::size_t new_ = 0;  // records since the last look
  std::size_t looks_ = 0;
  std::string verdict_;
};

}  // namespace kimesh
