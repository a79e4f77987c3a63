#include "kimesh/report/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>

#include "kimesh/records/record_follower.h"
#include "kimesh/records/run_folder.h"
#include "kimesh/report/measures.h"
#include "kimesh/run/options.h"
#include "kimesh/util/overloaded.h"
#include "kimesh/util/thrown.h"

namespace kimesh {
namespace {

// `why` is a whole sentence.
Error is_no_run(const std::string& folder, const std::string& why) {
  return {ErrorCode::kUserInput,
          fmt::format("{} is no folder of a run: {} Name one such as runs/digits-ring4-1", folder,
                      why)};
}

template <typename T>
Result<T> value_of(Loaded<T> loaded, const std::string& folder) {
  if (loaded.ok()) return std::move(loaded.value);
  return is_no_run(folder, to_string(loaded.problems.front()));
}

// Takes the lines of one node's files, in order.
class NodeReader {
 public:
  void add(NodeRecord&& record) {
    std::visit(Overloaded{[&](RoundRecord& round) { add(std::move(round)); },
                          [&](const ResumeRecord& resume) { forget_from(resume.round); },
                          [&](NoticeRecord& notice) { add(std::move(notice)); },
                          [&](EndRecord& end) { add(std::move(end)); },
                          [&](const BeforeRecord& before) { add(before); },
                          [&](const StartRecord&) { clock_is_at_ = 0; }},
               record);
  }
  [[nodiscard]] NodeHistory take() {
    keep_last_notices();
    mark_closing_round();
    node_.seconds = clock_s_;
    node_.trained = trained_before_ + static_cast<Round>(node_.rounds.size());
    return std::move(node_);
  }

 private:
  void add(RoundRecord&& round) {
    // A run that began anew without a checkpoint says so by its first round.
    const bool repeats = !node_.rounds.empty() && node_.rounds.back().round >= round.round;
    if (repeats && !round.confirmation) forget_from(round.round);
    add_evaluation(round);
    clock_s_ += seconds_of(round);
    clock_is_at_ = round.time_s;
    if (round.confirmation) {
      confirmations_.emplace_back(round.round, clock_s_);
      return;
    }
    node_.clock_s.push_back(clock_s_);
    node_.rounds.push_back(std::move(round));
  }
  void add(NoticeRecord&& notice) {
    notice.time_s = clock_at(notice.time_s);
    node_.notices.push_back(std::move(notice));
    if (node_.notices.size() >= 2 * kNoticesMax) keep_last_notices();
  }
  void add(EndRecord&& end) {
    end.time_s = clock_at(end.time_s);
    node_.end = std::move(end);
  }
  // Rounds whose file is gone count by their time. A file that is read behind the one before it
  // adds nothing.
  void add(const BeforeRecord& before) {
    if (!node_.rounds.empty()) return;
    trained_before_ = before.trained;
    seconds_before_ = std::max(0.0, before.time_s - before.first_round_s - before.evaluated_s);
    clock_s_ = seconds_before_;
    clock_is_at_ = before.time_s;
  }
  void add_evaluation(const RoundRecord& round) {
    if (!round.accuracy || !round.accuracy_round) return;
    auto& evaluations = node_.evaluations;
    if (!evaluations.empty() && evaluations.back().round >= *round.accuracy_round) return;
    evaluations.push_back({*round.accuracy_round, round.time_s, *round.accuracy, round.test_loss});
  }
  // What lines before a resume say of its round and of later ones is void.
  void forget_from(Round round) {
    const auto first = std::ranges::lower_bound(node_.rounds, round, {}, &RoundRecord::round);
    node_.clock_s.resize(static_cast<std::size_t>(first - node_.rounds.begin()));
    node_.rounds.erase(first, node_.rounds.end());
    std::erase_if(node_.evaluations, [&](const Evaluation& e) { return e.round >= round; });
    node_.end.reset();
    std::erase_if(confirmations_, [&](const auto& of) { return of.first >= round; });
    clock_s_ = node_.clock_s.empty() ? seconds_before_ : node_.clock_s.back();
    if (!confirmations_.empty()) clock_s_ = std::max(clock_s_, confirmations_.back().second);
  }
  void keep_last_notices() {
    auto& notices = node_.notices;
    if (notices.size() > kNoticesMax) notices.erase(notices.begin(), notices.end() - kNoticesMax);
  }
  // The last round of a run that is done is a closing round; earlier versions did not record it.
  void mark_closing_round() {
    const bool tells = std::ranges::any_of(node_.rounds, &RoundRecord::closing);
    const bool is_done = node_.end && node_.end->outcome == Outcome::kDone;
    if (is_done && !tells && !node_.rounds.empty()) node_.rounds.back().closing = true;
  }
  // The run's clock at a time of the process.
  [[nodiscard]] double clock_at(double time_s) const {
    return clock_s_ + std::max(0.0, time_s - clock_is_at_);
  }

  NodeHistory node_;
  double clock_s_ = 0;      // the run's, at the end of the last round ...
  double clock_is_at_ = 0;  // ... which was then, in seconds of the process
  std::vector<std::pair<Round, double>> confirmations_;  // with the clock at their ends
  // Of rounds whose records are gone.
  Round trained_before_ = 0;
  double seconds_before_ = 0;
};

Result<NodeHistory> read_node(const std::string& path, const std::string& earlier) {
  NodeReader node;
  RecordFollower records(path, earlier);
  while (true) {
    auto record = records.next();
    if (!record) return record.error();
    if (const std::string& damage = records.first_damage(); !damage.empty())
      return Error{ErrorCode::kUserInput, damage + ". Remove the line, and the others are read."};
    if (!*record) break;
    node.add(std::move(**record));
  }
  return node.take();
}

// Parsing takes most of a report's time, and the files of nodes do not depend on each other.
std::vector<Result<NodeHistory>> read_nodes(const RunFolder& folder,
                                            const std::vector<std::string>& names) {
  std::vector<Result<NodeHistory>> nodes(names.size(), NodeHistory{});
  std::atomic<std::size_t> next{0};
  const auto read = [&] {
    for (std::size_t i = next++; i < names.size(); i = next++) {
      Thrown thrown;
      const auto read_one = [&] {
        nodes[i] = read_node(folder.events(names[i]), folder.earlier_events(names[i]));
      };
      if (!thrown.guard("reading records", read_one))
        nodes[i] = Error{ErrorCode::kIo, *thrown.text()};
    }
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
Result<Plan> plan_of(const RunHistory& history, const Layout& layout) {
  return make_plan(history.topology, history.layout_known ? layout : Layout::vector(kNodesMax),
                   shard_elements_max(history.config));
}

}  // namespace

NodeIndex RunHistory::furthest() const {
  const auto rounds = [](const NodeHistory& node) { return node.rounds.size(); };
  return static_cast<NodeIndex>(std::ranges::max_element(nodes, {}, rounds) - nodes.begin());
}

Result<RunHistory> load_run(const std::string& path) {
  const RunFolder folder(path);
  std::error_code code;
  if (!std::filesystem::is_directory(path, code))
    return is_no_run(path, "there is no such folder.");
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
  auto plan = plan_of(history, layout);
  if (!plan) return plan.error();
  history.plan = std::move(*plan);
  return history;
}

Result<RunHistory> load_records(RunHistory run) {
  const RunFolder folder(run.folder);
  for (auto& node : read_nodes(folder, run.plan.view.nodes)) {
    if (!node) return node.error();
    run.nodes.push_back(std::move(*node));
  }
  if (run.nodes[run.furthest()].rounds.empty())
    return Error{
        ErrorCode::kUserInput,
        fmt::format("no round of {} has ended yet: there is nothing to report", run.folder)};
  return run;
}

Result<RunHistory> load_history(const std::string& path) {
  auto run = load_run(path);
  if (!run) return run;
  return load_records(std::move(*run));
}

}  // namespace kimesh
