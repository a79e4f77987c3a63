// kimesh up: all nodes of a topology, a process each, on this machine or on others.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "commands.h"
#include "ending.h"
#include "fleet.h"
#include "job.h"
#include "kimesh/records/log_bound.h"
#include "kimesh/records/record_follower.h"
#include "kimesh/train/trainer.h"
#include "live_view.h"
#include "outputs.h"
#include "page.h"
#include "remote_nodes.h"
#include "say.h"
#include "signals.h"

namespace kimesh::cli {
namespace {

constexpr std::chrono::milliseconds kCheckEvery{100};  // between two checks of the nodes
constexpr std::chrono::seconds kBoundLogsEvery{1};
constexpr std::size_t kLastWords = 6;  // lines of a dead node's log that are shown

// The signals that sigtimedwait takes; they are blocked, so that no handler interrupts anything.
sigset_t signals() {
  sigset_t set = stop_signals();
  for (const int signal : {SIGUSR1, SIGCHLD}) ::sigaddset(&set, signal);
  return set;
}

TimePoint now() {
  return std::chrono::steady_clock::now();
}

// Reads the record files of all nodes as they grow.
class Followers {
 public:
  Followers(const RunFolder& folder, const Plan& plan) : plan_(plan), tally_(plan) {
    for (const std::string& name : plan.view.nodes)
      files_.emplace_back(folder.events(name), folder.earlier_events(name));
    broken_.resize(files_.size());
  }
  [[nodiscard]] const RunTally& tally() const { return tally_; }

  // Shows the notices among the new lines; null: shows nothing.
  void read(LiveView* view) {
    for (NodeIndex i = 0; i < files_.size(); ++i)
      while (!broken_[i] && read_record(i, view)) {
      }
  }

 private:
  // Reads a record. Returns false where there is no further one now. The node itself counts the
  // damaged lines that an earlier start has left.
  bool read_record(NodeIndex node, LiveView* view) {
    const auto record = files_[node].next();
    if (!record) return give_up(node, record.error().message);
    if (const auto complaint = files_[node].complaint()) complain(*complaint);
    if (!*record) return false;
    tally_.add(node, **record);
    if (const auto* round = std::get_if<RoundRecord>(&**record); round && view != nullptr)
      view->observe(node, *round);
    if (const auto* notice = std::get_if<NoticeRecord>(&**record); notice && view != nullptr)
      view->notice(plan_.view.nodes[node] + ": " + notice->text);
    return true;
  }
  bool give_up(NodeIndex node, const std::string& why) {
    broken_[node] = true;
    complain(why);
    return false;
  }

  const Plan& plan_;
  RunTally tally_;
  std::vector<RecordFollower> files_;
  std::vector<bool> broken_;  // by node: its records cannot be read on
};

std::vector<std::string> arguments_for(const RunOptions& options, const RunFolder& folder,
                                       const std::string& node, int threads) {
  const char* place = options.resume.empty() ? "--run-folder" : "--resume";
  std::vector<std::string> words{
      "node",        "--topology", options.topology,        "--name",      node, place,
      folder.path(), "--threads",  std::to_string(threads), "--no-verdict"};
  // Without --config a node reads the folder's copy, and run.json tells it where the original lies.
  if (options.config_copied_from.empty()) words.insert(words.end(), {"--config", options.config});
  if (options.digests) words.push_back("--digests");
  if (!options.page.address.empty()) words.push_back("--watched");
  if (!options.keys.empty()) words.insert(words.end(), {"--keys", options.keys});
  return words;
}

// Starts all nodes on this machine, or on the machines of `remote`.
Status start_all(const Mesh& mesh, const RunOptions& options, const RunFolder& folder,
                 const RemoteNodes* remote, Fleet& fleet) {
  const int each = threads(mesh.config(), mesh.nodes());
  for (NodeIndex i = 0; i < mesh.nodes(); ++i) {
    const std::string& name = mesh.plan().view.nodes[i];
    auto child = remote != nullptr
                     ? remote->start(i, options, folder)
                     : Child::start(arguments_for(options, folder, name, each), folder.log(name));
    if (!child) return child.error();
    fleet.add(std::move(*child));
  }
  return ok_status();
}

// The logs of the nodes, which know of no bound.
class Logs {
 public:
  Logs(const RunFolder& folder, const Plan& plan) {
    for (const std::string& name : plan.view.nodes) paths_.push_back(folder.log(name));
  }
  // Keeps them within their bound. A disk that fails is the nodes' to say.
  void bound(TimePoint at) {
    if (at < next_) return;
    next_ = at + kBoundLogsEvery;
    for (const std::string& path : paths_) static_cast<void>(bound_log(path));
  }

 private:
  std::vector<std::string> paths_;
  TimePoint next_{};
};

// Shows the run until the last node has ended.
void watch(Fleet& fleet, Followers& followers, Logs logs, LiveView& view) {
  const sigset_t set = signals();
  const timespec pause{0, std::chrono::nanoseconds(kCheckEvery).count()};
  bool output_lost = false, page_lost = false;
  while (fleet.running()) {
    const int signal = ::sigtimedwait(&set, nullptr, &pause);
    const bool lost_now = stop_wanted() && !std::exchange(output_lost, true);
    if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP || lost_now) {
      view.notice("stopping the nodes (once more kills them)");
      fleet.interrupt(now());
    }
    if (signal == SIGUSR1) fleet.tell(SIGUSR1);
    fleet.supervise(now());
    if (const auto thrown = thrown_by_servers().text(); thrown && !std::exchange(page_lost, true))
      view.notice("the page is served no more: " + *thrown);
    logs.bound(now());
    followers.read(&view);
    view.update(followers.tally(), now());
  }
  followers.read(&view);
  view.finish(followers.tally());
}

// The node where the failure happened. Nodes that fail together repeat the sentence of the first
// one, "node b: ...", which is taken if that node gave up by itself.
NodeIndex origin_of(const Fleet& fleet, const Plan& plan, const std::string& text) {
  if (fleet.child(*fleet.failed_node()).was_killed()) return *fleet.failed_node();
  for (NodeIndex i = 0; i < plan.view.nodes.size(); ++i) {
    const std::string begin = "node " + plan.view.nodes[i];
    const bool named = text.starts_with(begin + ":") || text.starts_with(begin + ",");
    if (named && !fleet.child(i).succeeded() && !fleet.child(i).was_killed()) return i;
  }
  return *fleet.failed_node();
}

// Whether a node has trained since this start, and so has left a model. One that was killed says
// nothing.
bool has_begun(const RunTally& tally) {
  return std::ranges::any_of(
      tally.nodes(), [](const NodeTally& node) { return node.end && node.end->rounds > 0; });
}

// Prints which node's end ended the run, and the last lines of its log.
void report_failed_node(const Fleet& fleet, const RunFolder& folder, const Plan& plan,
                        RunEnd& end) {
  if (!fleet.failed_node()) return;
  const NodeIndex node = origin_of(fleet, plan, end.text);
  const std::string& name = plan.view.nodes[node];
  const std::string how = fleet.child(node).how_it_ended();
  const std::string words = last_lines(folder.log(name), kLastWords);
  complain(fmt::format("node {} {}.{}", name, how,
                       words.empty() ? " It left no words." : " Its last words:"));
  if (!words.empty()) static_cast<void>(std::fputs((words + "\n").c_str(), stderr));
  if (fleet.child(node).was_killed()) end.text = fmt::format("node {} {}", name, how);
}

// The folder in which a run goes on under another topology.
Result<RunFolder> carried_folder(const Mesh& mesh, const TopologyFile& before,
                                 const RunOptions& options) {
  const auto carried = mesh.carry_over({before, {RunFolder(options.resume)}},
                                       {options.run, "runs", options.resume}, options.command);
  if (!carried) return carried.error();
  say(text_of(*carried, options.topology));
  return carried->folder;
}

// The folder of the run: a new one, or that of the run that goes on, whose checkpoints may be
// `elsewhere`.
Result<RunFolder> folder_of(const Mesh& mesh, const RunOptions& options, bool elsewhere) {
  if (options.resume.empty()) return mesh.make_folder({options.run}, options.command);
  const RunFolder folder(options.resume);
  const auto before = mesh.topology_before(folder);
  if (!before) return before.error();
  if (*before && elsewhere)
    return Error{ErrorCode::kUserInput,
                 fmt::format("{} is of another topology, and its checkpoints are on other "
                             "machines: fetch their run folders, make one of them with `kimesh "
                             "join`, and start nodes with it",
                             options.resume)};
  if (*before) return carried_folder(mesh, **before, options);
  if (!options.run.empty()) return one_folder();
  if (elsewhere) return folder;
  const auto round = mesh.common_checkpoint(folder);
  if (!round) return round.error();
  say(fmt::format("{} goes on from its checkpoint of round {}", folder.path(), *round));
  return folder;
}

// Whether somebody has asked for a stop since signals were blocked. Takes that request.
bool take_stop() {
  const sigset_t stop = stop_signals();
  const timespec at_once{};
  return ::sigtimedwait(&stop, nullptr, &at_once) > 0;
}

// Readies the machines of `remote`. Nothing of a start that fails is left.
Status prepare(const RemoteNodes& remote, const Mesh& mesh, const RunOptions& options,
               const RunFolder& folder) {
  Status ready = remote.prepare(mesh, options, folder);
  // A Ctrl-C ends the programs that copy, too.
  if (take_stop()) ready = Error{ErrorCode::kIo, "stopped before the nodes were started"};
  if (ready) return ready;
  remote.remove_keys(mesh, folder);
  std::error_code ignored;  // a new folder has nothing in it but copies
  if (options.resume.empty()) std::filesystem::remove_all(folder.path(), ignored);
  return ready;
}

// Runs the nodes to their end, and gives the exit code.
int run_all(const Mesh& mesh, const RunOptions& options, const RunFolder& folder,
            const RemoteNodes* remote) {
  auto followers = std::make_unique<Followers>(folder, mesh.plan());
  if (!options.resume.empty()) followers->read(nullptr);
  Fleet fleet;
  if (const Status started = start_all(mesh, options, folder, remote, fleet); !started.ok()) {
    if (remote != nullptr) remote->remove_keys(mesh, folder);
    return fail(started.error());
  }
  LiveView view(run_of(mesh, folder));
  view.notice(fmt::format("{} nodes start; run folder: {}", mesh.nodes(), folder.path()));
  watch(fleet, *followers, Logs(folder, mesh.plan()), view);
  bool kept = true;
  if (remote != nullptr) {
    remote->remove_keys(mesh, folder);  // a node that ssh did not start has left its own
    const Status fetched = remote->fetch(folder);
    if (!fetched) complain("what a machine has was not fetched: " + fetched.error().message);
    kept = fetched.ok();
    // The fetched files are whole, even where a connection was lost, and are read from the start.
    followers = std::make_unique<Followers>(folder, mesh.plan());
    followers->read(nullptr);
  }
  const RunTally& tally = followers->tally();
  RunEnd end = end_of_mesh(tally);
  if (fleet.failed_node()) end.outcome = Outcome::kFailed;
  report_failed_node(fleet, folder, mesh.plan(), end);
  if (has_begun(tally)) kept = collect(folder, mesh, end) && kept;
  return conclude(folder, tally, end, options.json, kept);
}

}  // namespace

int up(RunOptions options) {
  ignore_save_requests();
  if (const Status whole = complete(options); !whole) return fail(whole.error());
  if (const Status place = check_output({"--json",
                                         options.json,
                                         {options.config, options.topology, options.hosts},
                                         {options.resume},
                                         options.run,
                                         ".json"});
      !place)
    return fail(place.error());
  auto files = load_copied_files(options.config, options.topology, options.config_copied_from);
  if (!files) return kExitUser;
  if (files->config.quadratic) {
    complain("a quadratic runs in `kimesh simulate` only. Write model and data instead.");
    return kExitUser;
  }
  std::vector<NodeIndex> all(files->topology.nodes.size());
  std::iota(all.begin(), all.end(), NodeIndex{0});
  if (!check_security(files->topology, options.keys, all)) return kExitUser;
  std::optional<RemoteNodes> remote;
  if (!options.hosts.empty()) {
    auto opened = RemoteNodes::open(options.hosts, files->topology);
    if (!opened) return fail(opened.error());
    remote = std::move(*opened);
  }
  const auto page = listen_for_page(options.page);
  if (!page) return fail(page.error());
  if (!remote) load_gpu(files->config);
  const auto mesh = make_mesh(std::move(*files));
  if (!mesh) return fail(mesh.error());
  if (!remote) {
    if (const Status there = (*mesh)->check_device(); !there) return fail(there.error());
    // run.json records the number of threads.
    set_up_training(threads((*mesh)->config(), (*mesh)->nodes()));
  }
  const auto folder = folder_of(**mesh, options, remote.has_value());
  if (!folder) return fail(folder.error());
  const sigset_t set = signals();
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  stop_on_lost_output();
  if (const Status shown = show_page(page->get(), options.page, *folder); !shown)
    return fail(shown.error());
  if (remote)
    if (const Status ready = prepare(*remote, **mesh, options, *folder); !ready)
      return fail(ready.error());
  return run_all(**mesh, options, *folder, remote ? &*remote : nullptr);
}

}  // namespace kimesh::cli
