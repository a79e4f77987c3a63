#include "kimesh/report/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>

#include "kimesh/records/run_folder.h"
#include "kimesh/records/text_file.h"
#include "kimesh/util/overloaded.h"

namespace kimesh {
namespace {

Error is_no_run(const std::string& folder, const std::string& why) {
  return {ErrorCode::kUserInput,
          fmt::format("{} is no folder of a run: {}. Name one such as runs/digits-ring4-1", folder,
                      why)};
}

template <typename T>
Result<T> value_of(Loaded<T> loaded, const std::string& folder) {
  if (loaded.ok()) return std::move(loaded.value);
  return is_no_run(folder, to_string(loaded.problems.front()));
}

// What lines before a resume say of its round and of later ones is void.
void forget_from(NodeHistory& node, Round round) {
  const auto first = std::ranges::lower_bound(node.rounds, round, {}, &RoundRecord::round);
  node.rounds.erase(first, node.rounds.end());
  std::erase_if(node.evaluations, [&](const Evaluation& e) { return e.round >= round; });
  node.end.reset();
}

void add_evaluation(NodeHistory& node, const RoundRecord& round) {
  if (!round.accuracy || !round.accuracy_round) return;
  if (!node.evaluations.empty() && node.evaluations.back().round >= *round.accuracy_round) return;
  node.evaluations.push_back(
      {*round.accuracy_round, round.time_s, *round.accuracy, round.test_loss});
}

void add_round(NodeHistory& node, RoundRecord&& round) {
  if (round.confirmation) return add_evaluation(node, round);
  // A run that began anew without a checkpoint says so by its first round.
  if (!node.rounds.empty() && node.rounds.back().round >= round.round)
    forget_from(node, round.round);
  add_evaluation(node, round);
  node.rounds.push_back(std::move(round));
}

// Rounds whose file is gone count by their time. A file that is read behind the one before it adds
// nothing.
void add_before(NodeHistory& node, const BeforeRecord& before) {
  if (!node.rounds.empty()) return;
  node.seconds_before = std::max(0.0, before.time_s - before.first_round_s - before.evaluated_s);
}

void add(NodeHistory& node, NodeRecord&& record) {
  std::visit(Overloaded{[&](RoundRecord& round) { add_round(node, std::move(round)); },
                        [&](const ResumeRecord& resume) { forget_from(node, resume.round); },
                        [&](NoticeRecord& notice) { node.notices.push_back(std::move(notice)); },
                        [&](EndRecord& end) { node.end = std::move(end); },
                        [&](const BeforeRecord& before) { add_before(node, before); },
                        [](const StartRecord&) {}},
             record);
  if (node.notices.size() >= 2 * kNoticesMax)
    node.notices.erase(node.notices.begin(), node.notices.end() - kNoticesMax);
}

Result<NodeHistory> read_node(const std::string& path, const std::string& earlier) {
  NodeHistory node;
  LineFollower file(path, earlier);
  while (true) {
    auto line = file.next();
    if (!line) return line.error();
    if (!*line) break;
    auto record = parse_record(**line);
    if (!record)
      return Error{ErrorCode::kUserInput,
                   fmt::format("{}:{}: {}", path, file.line(), record.error().message)};
    add(node, std::move(*record));
  }
  if (node.notices.size() > kNoticesMax)
    node.notices.erase(node.notices.begin(), node.notices.end() - kNoticesMax);
  return node;
}

// Parsing takes most of a report's time, and the files of nodes do not depend on each other.
std::vector<Result<NodeHistory>> read_nodes(const RunFolder& folder,
                                            const std::vector<std::string>& names) {
  std::vector<Result<NodeHistory>> nodes(names.size(), NodeHistory{});
  std::atomic<std::size_t> next{0};
  const auto read = [&] {
    for (std::size_t i = next++; i < names.size(); i = next++)
      nodes[i] = read_node(folder.events(names[i]), folder.earlier_events(names[i]));
  };
  const std::size_t count =
      std::min<std::size_t>(std::max(1u, std::thread::hardware_concurrency()), names.size());
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < count; ++i) threads.emplace_back(read);
  read();
  threads.clear();
  return nodes;
}

// A plan of the layout that run.json tells, or of a stand-in with a row for every shard.
Result<Plan> plan_of(const TopologyFile& topology, const Layout& layout) {
  return make_plan(topology, layout.layers.empty() ? Layout::vector(kNodesMax) : layout);
}

}  // namespace

NodeIndex RunHistory::furthest() const {
  const auto rounds = [](const NodeHistory& node) { return node.rounds.size(); };
  return static_cast<NodeIndex>(std::ranges::max_element(nodes, {}, rounds) - nodes.begin());
}

Result<RunHistory> load_run(const std::string& path) {
  const RunFolder folder(path);
  std::error_code code;
  if (!std::filesystem::is_directory(path, code)) return is_no_run(path, "there is no such folder");
  RunHistory history;
  history.folder = path;
  const auto absolute = std::filesystem::weakly_canonical(path, code);
  history.name = absolute.filename().string();
  auto topology = value_of(load_topology(folder.topology()), path);
  if (!topology) return topology.error();
  history.topology = std::move(*topology);
  auto config = value_of(load_config(folder.config()), path);
  if (!config) return config.error();
  history.config = std::move(*config);
  const Layout layout = folder.layout();
  history.layout_known = !layout.layers.empty();
  auto plan = plan_of(history.topology, layout);
  if (!plan) return plan.error();
  history.plan = std::move(*plan);
  return history;
}

Result<RunHistory> load_history(const std::string& path) {
  auto run = load_run(path);
  if (!run) return run;
  RunHistory& history = *run;
  const RunFolder folder(path);
  for (auto& node : read_nodes(folder, history.plan.view.nodes)) {
    if (!node) return node.error();
    history.nodes.push_back(std::move(*node));
  }
  if (history.nodes[history.furthest()].rounds.empty())
    return Error{ErrorCode::kUserInput,
                 fmt::format("no round of {} has ended yet: there is nothing to report", path)};
  return run;
}

}  // namespace kimesh
