#include "kimesh/web/run_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "kimesh/report/measures.h"
#include "kimesh/util/overloaded.h"
#include "run_state.h"

namespace kimesh {
namespace {

// Read of one node before the next one has its turn.
constexpr std::size_t kTurnBytes = 64 << 10;

template <typename T>
void keep_last(std::deque<T>& items, std::size_t most) {
  while (items.size() > most) items.pop_front();
}

LinkRound round_of(const RoundRecord& round, const LinkRecord& link) {
  LinkRound told;
  told.round = round.round;
  told.bytes = static_cast<double>(link.bytes);
  told.budget_bytes = static_cast<double>(link.budget_bytes);
  told.gain = link.gain;
  const double round_s = seconds_of(round);
  told.busy = round_s > 0 ? std::min(1.0, sending_s(link) / round_s) : 0;
  told.rate_bits_per_s = link.rate_bits_per_s;
  told.true_rate_bits_per_s = link.true_rate_bits_per_s;
  return told;
}

}  // namespace

RunWatch::Run::Run(RunHistory run, std::uint64_t the_life)
    : life(the_life),
      history(std::move(run)),
      tally(history.plan),
      known(history.plan.view.nodes.size()),
      broken(known.size()),
      node_rounds(known.size()),
      link_rounds(history.plan.links.size()),
      latest(link_rounds.size()),
      checkpoints(known.size()) {
  const RunFolder folder(history.folder);
  for (const std::string& name : history.plan.view.nodes)
    files.emplace_back(folder.events(name), folder.earlier_events(name));
}

bool RunWatch::Run::read_record(NodeIndex node, std::size_t& bytes) {
  const auto give_up = [&](const std::string& why) {
    broken[node] = true;
    add_event(tally.clock_s(), node, why);
    return false;
  };
  RecordFollower& records = files[node];
  const std::uint64_t before = records.bytes();
  const auto record = records.next();
  bytes += static_cast<std::size_t>(records.bytes() - before);
  if (!record) return give_up(record.error().message);
  if (const auto complaint = records.complaint()) add_event(tally.clock_s(), node, *complaint);
  if (!*record) return false;
  add(node, **record);
  return true;
}

void RunWatch::Run::add(NodeIndex node, const NodeRecord& record) {
  known[node] = true;
  tally.add(node, record);
  std::visit(
      Overloaded{
          [&](const RoundRecord& round) { add_round(node, round); },
          [&](const ResumeRecord& resume) {
            forget_from(node, resume.round);
            add_event(resume.time_s, node, fmt::format("goes on with round {}", resume.round));
          },
          [&](const NoticeRecord& notice) { add_event(notice.time_s, node, notice.text); },
          [&](const EndRecord& end) {
            const std::string why = end.text.empty() ? reason_name(end.reason) : end.text;
            add_event(end.time_s, node, fmt::format("{}: {}", outcome_name(end.outcome), why));
          },
          [](const BeforeRecord&) {}, [](const StartRecord&) {}},
      record);
}

void RunWatch::Run::add_round(NodeIndex node, const RoundRecord& round) {
  if (!teller) teller = node;
  if (node == *teller) course.add(round, tally.nodes()[node].clock_s());
  if (round.checkpoint) checkpoints[node] = round.round;
  if (round.confirmation) return;
  node_rounds[node].push_back({round.round, split_of(round)});
  keep_last(node_rounds[node], kRecentRounds);
  for (const LinkRecord& record : round.links) {
    const auto to = history.topology.find_node(record.to);
    const auto link = to ? history.plan.find_link(node, *to) : std::nullopt;
    if (!link) continue;
    latest[*link] = record;
    link_rounds[*link].push_back(round_of(round, record));
    keep_last(link_rounds[*link], link_rounds.size() > kManyLinks ? kMeanRounds : kRecentRounds);
  }
}

void RunWatch::Run::add_event(double time_s, NodeIndex node, std::string text) {
  events.push_back({time_s, node, std::move(text)});
  if (events.size() <= kEventsToldMax) return;
  events.pop_front();
  ++first_event;
}

void RunWatch::Run::forget_from(NodeIndex node, Round round) {
  if (node == teller) course.forget_from(round);
  // It went on from the checkpoint of the round before.
  checkpoints[node] = round > 0 ? std::optional(round - 1) : std::nullopt;
  const auto is_void = [&](const auto& known_round) { return known_round.round >= round; };
  std::erase_if(node_rounds[node], is_void);
  for (LinkIndex link = 0; link < link_rounds.size(); ++link)
    if (history.plan.links[link].from == node) std::erase_if(link_rounds[link], is_void);
}

// The node whose end is that of the run: nodes end together, and one that was lost leaves no end,
// upon which the others fail.
const NodeTally* RunWatch::Run::over() const {
  const NodeTally* last = nullptr;
  bool all = true;
  for (NodeIndex i = 0; i < known.size(); ++i) {
    if (!known[i]) continue;
    const NodeTally& node = tally.nodes()[i];
    if (node.end && node.end->outcome == Outcome::kFailed) return &node;
    all = all && node.end;
    if (node.end) last = &node;
  }
  return all ? last : nullptr;
}

RunWatch::RunWatch(RunHistory run, std::uint64_t life)
    : run_(std::make_unique<Run>(std::move(run), life)) {}
RunWatch::~RunWatch() = default;

void RunWatch::read() {
  Run& run = *run_;
  std::size_t bytes = 0;
  run.reading = true;
  while (run.reading && bytes < kReadBytesMax) {
    run.reading = false;
    for (NodeIndex node = 0; node < run.files.size(); ++node) {
      std::size_t turn = 0;
      bool more = !run.broken[node];
      while (more && turn < kTurnBytes) more = run.read_record(node, turn);
      run.reading = run.reading || more;
      bytes += turn;
    }
  }
}

}  // namespace kimesh
