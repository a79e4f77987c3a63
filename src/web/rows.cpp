// Rows of the state: what is told of a node and of a link, by this page or by another one.
#include <algorithm>
#include <functional>

#include "json_number.h"
#include "run_state.h"

namespace kimesh {
namespace {

using Json = nlohmann::ordered_json;

// Over the last rounds.
template <typename T, typename Value>
double mean_of(const std::deque<T>& rounds, Value value) {
  const std::size_t count = std::min(rounds.size(), kMeanRounds);
  double sum = 0;
  for (std::size_t i = rounds.size() - count; i < rounds.size(); ++i)
    sum += std::invoke(value, rounds[i]);
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

}  // namespace

Json node_row(const RunWatch::Run& run, NodeIndex i) {
  if (const auto heard = run.heard_nodes.find(i); !run.known[i] && heard != run.heard_nodes.end())
    return heard->second.row;
  const NodeTally& node = run.tally.nodes()[i];
  const auto mean = [&](double TimeSplit::*part) {
    const auto of = [part](const NodeRound& round) { return round.split.*part; };
    return number(mean_of(run.node_rounds[i], of));
  };
  return Json::array({static_cast<bool>(run.known[i]), node.trained,
                      node.end ? Json(outcome_name(node.end->outcome)) : Json(nullptr),
                      mean(&TimeSplit::compute_s), mean(&TimeSplit::encode_s),
                      mean(&TimeSplit::apply_s), mean(&TimeSplit::step_s), mean(&TimeSplit::wire_s),
                      mean(&TimeSplit::wait_s)});
}

std::vector<LinkIndex> told_links(const RunWatch::Run& run, std::vector<LinkIndex> links) {
  if (links.size() <= kLinksToldMax) return links;
  const auto bytes = [&](LinkIndex link) { return run.tally.links()[link].bytes; };
  const auto last = links.begin() + static_cast<std::ptrdiff_t>(kLinksToldMax);
  std::ranges::nth_element(links, last, std::greater{}, bytes);
  links.resize(kLinksToldMax);
  std::ranges::sort(links);
  return links;
}

Json link_row(const RunWatch::Run& run, LinkIndex index) {
  const bool is_known = run.known[run.history.plan.links[index].from];
  if (const auto heard = run.heard_links.find(index); !is_known && heard != run.heard_links.end())
    return heard->second.row;
  const LinkTally& link = run.tally.links()[index];
  const LinkRecord& latest = run.latest[index];
  const auto elements = static_cast<double>(latest.elements);
  const auto& rounds = run.link_rounds[index];
  return Json::array({index, number(latest.rate_bits_per_s), number(latest.rate_error),
                      latest.rate_is_lower_bound, number(latest.true_rate_bits_per_s),
                      latest.budget_bytes, latest.bytes, number(mean_of(rounds, &LinkRound::bytes)),
                      number(elements > 0 ? static_cast<double>(latest.kept) / elements : 0),
                      number(latest.gain),
                      latest.queued_messages ? Json(*latest.queued_messages) : Json(nullptr),
                      number(mean_of(rounds, &LinkRound::busy)), link.bytes_sent()});
}

}  // namespace kimesh
