#include "kimesh/records/tally.h"

#include <algorithm>

#include "kimesh/util/check.h"

namespace kimesh {
namespace {

constexpr std::size_t kRateRounds = 20;  // a few seconds at the usual round times
// A run goes on from one of its last two checkpoints.
constexpr std::size_t kKeptMax = 4;

}  // namespace

std::uint64_t LinkTally::bytes_sent() const {
  return counters ? resumed_bytes + counters->frame_bytes : bytes;
}

double NodeTally::clock_s() const {
  return latest ? std::max(0.0, latest->time_s - first_round_s - evaluated_s) : 0;
}

RunTally::RunTally(const Plan& plan)
    : plan_(&plan),
      nodes_(plan.view.nodes.size()),
      links_(plan.links.size()),
      kept_(nodes_.size()) {
  for (LinkIndex link = 0; link < links_.size(); ++link) {
    links_[link].link = link;
    links_[link].latest.to = plan.view.nodes[plan.links[link].to];
  }
}

void RunTally::add(NodeIndex node, const NodeRecord& record) {
  KIMESH_CHECK(node < nodes_.size(), "a node of the plan");
  if (const auto* round = std::get_if<RoundRecord>(&record)) return add_round(node, *round);
  if (const auto* before = std::get_if<BeforeRecord>(&record)) return begin_with(node, *before);
  if (const auto* went_on = std::get_if<ResumeRecord>(&record)) return resume(node, *went_on);
  if (std::holds_alternative<StartRecord>(record)) nodes_[node].end.reset();
  if (const auto* notice = std::get_if<NoticeRecord>(&record)) nodes_[node].notice = notice->text;
  const auto* end = std::get_if<EndRecord>(&record);
  if (end == nullptr) return;
  nodes_[node].end = *end;
  // A process that ended before it went on has not sent what the rounds so far have.
  if (end->rounds == 0 && nodes_[node].latest) return;
  for (const LinkCounterRecord& counter : end->counters)
    for (LinkTally& link : links_)
      if (plan_->links[link.link].from == node && link.latest.to == counter.to)
        link.counters = counter;
}

void RunTally::add_round(NodeIndex index, const RoundRecord& round) {
  NodeTally& node = nodes_[index];
  if (!node.latest) node.first_round_s = round.time_s - round.round_s;
  if (!round.confirmation) {
    ++node.trained;
    node.residual_energy = round.residual_energy;
    node.residual_share = round.residual_share;
  }
  node.evaluated_s += round.evaluate_max_s;
  node.compute_s += round.compute_s;
  node.evaluate_s += round.evaluate_s;
  node.encode_s += round.encode_s;
  node.apply_s += round.apply_s;
  node.step_s += round.step_s;
  node.wait_s += round.wait_s;
  node.latest = round;
  if (!paces_) paces_ = index;
  if (index == *paces_) {
    ends_s_.push_back(round.time_s);
    if (ends_s_.size() > kRateRounds + 1) ends_s_.pop_front();
  }
  for (LinkTally& link : links_of(index)) {
    const auto found = std::ranges::find(round.links, link.latest.to, &LinkRecord::to);
    if (found == round.links.end()) continue;
    link.latest = *found;
    link.bytes += found->bytes;
    link.kept += found->kept;
    link.elements += found->elements;
    link.wire_s += found->wire_s;
  }
  if (round.checkpoint) keep(index);
}

// Links are sorted by sender, so that those of a node are consecutive.
std::span<LinkTally> RunTally::links_of(NodeIndex node) {
  const auto sender = [this](const LinkTally& link) { return plan_->links[link.link].from; };
  return {std::ranges::lower_bound(links_, node, {}, sender),
          std::ranges::upper_bound(links_, node, {}, sender)};
}

void RunTally::keep(NodeIndex node) {
  const std::span<LinkTally> links = links_of(node);
  kept_[node].push_back({nodes_[node], {links.begin(), links.end()}});
  if (kept_[node].size() > kKeptMax) kept_[node].pop_front();
}

// The records of a process count their time from its own begin: the run's clock goes on from where
// it was.
void RunTally::resume(NodeIndex index, const ResumeRecord& record) {
  std::deque<Kept>& kept = kept_[index];
  const auto is_void = [&](const Kept& at) { return at.node.latest->round >= record.round; };
  std::erase_if(kept, is_void);
  NodeTally& node = nodes_[index];
  node = kept.empty() ? NodeTally{} : kept.back().node;
  if (node.latest) {
    node.first_round_s += record.time_s - node.latest->time_s;
    node.latest->time_s = record.time_s;
  }
  const std::span<LinkTally> links = links_of(index);
  for (std::size_t i = 0; i < links.size(); ++i) {
    LinkTally before;
    before.link = links[i].link;
    before.latest.to = links[i].latest.to;
    links[i] = kept.empty() ? before : kept.back().links[i];
    links[i].resumed_bytes = links[i].bytes;
  }
  if (index == paces_) ends_s_.clear();
}

std::optional<BeforeRecord> RunTally::before(NodeIndex index) const {
  const NodeTally& node = nodes_[index];
  if (!node.latest) return std::nullopt;
  BeforeRecord before{node.latest->time_s, node.latest->round, node.trained,    node.first_round_s,
                      node.evaluated_s,    node.compute_s,     node.evaluate_s, node.encode_s,
                      node.apply_s,        node.step_s,        node.wait_s,     {}};
  for (const LinkTally& link : links_)
    if (plan_->links[link.link].from == index)
      before.links.push_back(
          {link.latest.to, link.bytes, link.kept, link.elements, link.resumed_bytes, link.wire_s});
  return before;
}

// Who has read what came before knows it already.
void RunTally::begin_with(NodeIndex index, const BeforeRecord& record) {
  NodeTally& node = nodes_[index];
  if (node.latest && node.latest->round == record.round) return;
  RoundRecord latest = node.latest.value_or(RoundRecord{});
  latest.round = record.round;
  latest.time_s = record.time_s;
  node.latest = latest;
  node.trained = record.trained;
  node.first_round_s = record.first_round_s;
  node.evaluated_s = record.evaluated_s;
  node.compute_s = record.compute_s;
  node.evaluate_s = record.evaluate_s;
  node.encode_s = record.encode_s;
  node.apply_s = record.apply_s;
  node.step_s = record.step_s;
  node.wait_s = record.wait_s;
  for (LinkTally& link : links_of(index)) {
    const auto found = std::ranges::find(record.links, link.latest.to, &BeforeRecord::Link::to);
    if (found == record.links.end()) continue;
    link.bytes = found->bytes;
    link.kept = found->kept;
    link.elements = found->elements;
    link.resumed_bytes = found->resumed_bytes;
    link.wire_s = found->wire_s;
  }
  keep(index);
}

const NodeTally* RunTally::furthest() const {
  const NodeTally* best = nullptr;
  for (const NodeTally& node : nodes_)
    if (node.latest && (best == nullptr || node.latest->round > best->latest->round)) best = &node;
  return best;
}

const RoundRecord* RunTally::latest() const {
  const NodeTally* node = furthest();
  return node == nullptr ? nullptr : &*node->latest;
}

double RunTally::rounds_per_s() const {
  if (ends_s_.size() < 2 || ends_s_.back() <= ends_s_.front()) return 0;
  return static_cast<double>(ends_s_.size() - 1) / (ends_s_.back() - ends_s_.front());
}

Round RunTally::rounds() const {
  return nodes_.empty() ? 0 : std::ranges::min(nodes_, {}, &NodeTally::trained).trained;
}

double RunTally::clock_s() const {
  double longest = 0;
  for (const NodeTally& node : nodes_) longest = std::max(longest, node.clock_s());
  return longest;
}

std::uint64_t RunTally::bytes_sent() const {
  std::uint64_t sum = 0;
  for (const LinkTally& link : links_) sum += link.bytes_sent();
  return sum;
}

std::uint64_t RunTally::bytes_dense() const {
  std::uint64_t sum = 0;
  for (const LinkTally& link : links_) sum += link.elements * sizeof(float);
  return sum;
}

const LinkTally* RunTally::slowest_link() const {
  const LinkTally* slowest = nullptr;
  for (const LinkTally& link : links_) {
    if (!link.latest.rate_bits_per_s) continue;
    if (slowest == nullptr || *link.latest.rate_bits_per_s < *slowest->latest.rate_bits_per_s)
      slowest = &link;
  }
  return slowest;
}

}  // namespace kimesh
