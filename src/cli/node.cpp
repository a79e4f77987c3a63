// kimesh node: one node, in this process.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "commands.h"
#include "ending.h"
#include "health_file.h"
#include "job.h"
#include "kimesh/kernels/simd.h"
#include "kimesh/train/trainer.h"
#include "live_view.h"
#include "outputs.h"
#include "page.h"
#include "run_place.h"
#include "say.h"
#include "signals.h"

namespace kimesh::cli {
namespace {

// tcp://HOST:PORT without the port.
std::string host_of(const NodeSpec& node) {
  return node.address.substr(0, node.address.rfind(':'));
}

std::size_t nodes_on_the_host_of(const TopologyFile& topology, NodeIndex self) {
  const std::string host = host_of(topology.nodes[self]);
  return static_cast<std::size_t>(std::ranges::count(topology.nodes, host, host_of));
}

std::vector<LinkTraffic> traffic(const Plan& plan, const LinkCounterList& list) {
  std::vector<LinkTraffic> traffic;
  for (const auto& [link, c] : list)
    traffic.push_back(
        {plan.view.nodes[plan.links[link].to], c.frame_bytes, c.reconnects, c.queued_messages});
  return traffic;
}

// The callbacks that feed the live view and the metrics of a node. `metrics` may be null.
MeshCallbacks callbacks(const Mesh& mesh, LiveView& view, Metrics* metrics, bool tells_records) {
  MeshCallbacks calls;
  if (tells_records)
    calls.record = [](NodeIndex, const NodeRecord& record) { say(to_line(record)); };
  calls.round = [&view, metrics, tells_records](NodeIndex node, const RoundRecord& round,
                                                const RunTally& tally) {
    if (metrics != nullptr) metrics->observe(round);
    if (tells_records) return;
    view.observe(node, round);
    view.update(tally, std::chrono::steady_clock::now());
  };
  calls.notice = [&view, metrics, tells_records](NodeIndex, const std::string& text) {
    if (!tells_records) view.notice(text);
    if (metrics != nullptr) metrics->observe_notice();
  };
  if (metrics != nullptr)
    calls.counters = [&mesh, metrics](NodeIndex, const LinkCounterList& list) {
      metrics->observe(traffic(mesh.plan(), list));
    };
  return calls;
}

int end_of(const std::string& name, const LiveNodeEnd& end, const RunPlace& place,
           const NodeOptions& wanted) {
  if (end.outcome == Outcome::kFailed) {
    if (place.died_at_end && end.was_alone) {
      say(fmt::format(
          "no other node begins a run, and {} has come to its end: nothing is left to do",
          place.died_at_end->path()));
      return kExitDone;
    }
    complain(fmt::format("node {} failed: {}", name, end.text));
    return end.reason == StopReason::kPermanent ? kExitPermanent : kExitFailed;
  }
  if (!wanted.tells_records)
    say(end.outcome == Outcome::kDone
            ? fmt::format("node {} is done: {}", name, reason_name(end.reason))
            : fmt::format("node {} was stopped: {}", name, end.text));
  const bool goes_on = end.outcome == Outcome::kStopped && wanted.resumes_if_any && !stop_wanted();
  return goes_on ? kExitOtherStopped : kExitDone;
}

// A page on loopback is one of several on this machine or, where machines have one node each, the
// only one that can be reached.
bool asks_others(const NodeOptions& options, const HttpServer& page) {
  return options.asks_others.value_or(!page.address().is_loopback());
}

int run_node(const Mesh& mesh, const RunPlace& place, NodeIndex self, const NodeOptions& wanted,
             Metrics* metrics) {
  LiveView view(run_of(mesh, place.folder));
  HealthFile health(wanted.health);
  MeshRunOptions options;
  options.callbacks = callbacks(mesh, view, metrics, wanted.tells_records);
  if (!wanted.health.empty())
    options.callbacks.health = [&health](NodeIndex, TimePoint until, const std::string& what) {
      health.write(until, what);
    };
  options.watched = wanted.watched || !wanted.run.page.address.empty();
  stop_on_signals();
  stop_on_lost_output();
  options.stop = &stop_wanted();
  options.folder = &place.folder;
  options.digests = wanted.run.digests;
  options.resumes = place.resumes;
  options.rejoins = wanted.resumes_if_any;
  options.has_ended = place.has_ended;
  options.save = &save_on_signal();
  options.thrown = &thrown_by_servers();
  const auto ended = mesh.run_node(self, options);
  if (!ended) return fail(ended.error());
  if (!wanted.tells_records) view.finish(ended->tally);
  int code = end_of(mesh.plan().view.nodes[self], ended->node, place, wanted);
  const bool is_first_to_tell = !wanted.tells_records && !wanted.no_verdict;
  if (const std::string verdict = is_first_to_tell ? why(run_of(mesh, place.folder)) : "";
      !verdict.empty())
    say("verdict: " + verdict);
  if (!ended->files) code = fail(ended->files.error());
  if (ended->node.hangs) {  // its thread works on what a return would destroy
    code = end_output(code);
    std::fflush(nullptr);
    std::_Exit(code);
  }
  return code;
}

}  // namespace

int node(NodeOptions options) {
  ignore_save_requests();
  if (options.resumes_if_any && !(options.run.resume.empty() && options.run_folder.empty())) {
    complain("--resume-if-any finds the folder by itself: leave --resume and --run-folder out.");
    return kExitUser;
  }
  if (!options.run.resume.empty() && !options.run_folder.empty()) {
    complain("--run-folder names a new folder and --resume one that is there: write one of them.");
    return kExitUser;
  }
  if (const Status whole = complete(options.run); !whole) return fail(whole.error());
  if (const Status place =
          check_output({"--health", options.health, {options.run.config, options.run.topology}});
      !place)
    return fail(place.error());
  if (!options.health.empty()) HealthFile(options.health).write_start();
  if (!options.run.resume.empty()) options.run_folder = options.run.resume;
  if (const Status forced = kernels::force_simd(options.simd); !forced)
    return fail({forced.error().code, "--simd: " + forced.error().message});
  auto files =
      load_copied_files(options.run.config, options.run.topology, options.run.config_copied_from);
  if (!files) return kExitUser;
  const auto self = find_node(files->topology, options.name);
  if (!self) return kExitUser;
  if (files->config.quadratic) {
    complain("a quadratic runs in `kimesh simulate` only. Write model and data instead.");
    return kExitUser;
  }
  if (!check_security(files->topology, options.run.keys, std::array{*self})) return kExitUser;
  const auto servers = listen_for_node(options);
  if (!servers) return fail(servers.error());
  load_gpu(files->config);
  const auto mesh = make_mesh(std::move(*files));
  if (!mesh) return fail(mesh.error());
  if (const Status there = (*mesh)->check_device(); !there) return fail(there.error());
  const std::size_t local = nodes_on_the_host_of((*mesh)->topology(), *self);
  set_up_training(options.threads > 0 ? options.threads : threads((*mesh)->config(), local));

  const auto place = place_of(**mesh, options);
  if (!place) return fail(place.error());
  if (servers->page)
    show_page(*servers->page, options.run.page, run_of(**mesh, place->folder),
              asks_others(options, *servers->page)
                  ? other_pages(*servers->page, (*mesh)->topology(), *self)
                  : std::vector<HttpQuestion>());
  return run_node(**mesh, *place, *self, options, servers->metrics.get());
}

}  // namespace kimesh::cli
