#include "kimesh/report/recent_rounds.h"

#include "kimesh/report/findings.h"
#include "kimesh/report/measures.h"
#include "kimesh/report/report.h"

namespace kimesh {
namespace {

Round rounds_to_keep(std::size_t links) {
  const std::size_t rounds = RecentRounds::kLinkRecordsMax / std::max<std::size_t>(1, links);
  if (rounds < RecentRounds::kRoundsMin) return 0;
  return static_cast<Round>(std::min<std::size_t>(rounds, RecentRounds::kRoundsMax));
}

}  // namespace

RecentRounds::RecentRounds(RunHistory run)
    : run_(std::move(run)), kept_(rounds_to_keep(run_.plan.links.size())) {
  run_.nodes.assign(run_.plan.view.nodes.size(), {});
  if (kept_ == 0) verdict_ = command_that_tells(run_.folder);
}

void RecentRounds::add(NodeIndex node, const RoundRecord& round) {
  if (kept_ == 0 || round.confirmation || round.closing) return;
  auto& rounds = run_.nodes.at(node).rounds;
  const auto repeated = std::ranges::lower_bound(rounds, round.round, {}, &RoundRecord::round);
  rounds.erase(repeated, rounds.end());
  if (rounds.size() >= kept_) rounds.erase(rounds.begin(), rounds.begin() + kept_ / 4);
  rounds.push_back(round);
  ++new_;
}

const std::string& RecentRounds::verdict() {
  std::size_t records = 0;
  for (const NodeHistory& node : run_.nodes) records += node.rounds.size();
  const bool enough = run_.nodes[run_.furthest()].rounds.size() >= kRoundsMin;
  if (kept_ > 0 && enough && kLooksMax * new_ >= records) look();
  return verdict_;
}

void RecentRounds::look() {
  new_ = 0;
  ++looks_;
  const auto measures = measure(run_);
  if (!measures) return;
  const std::vector<Finding> findings = find_all({run_, *measures, nullptr});
  verdict_ = kimesh::verdict(*measures, findings);
}

}  // namespace kimesh
