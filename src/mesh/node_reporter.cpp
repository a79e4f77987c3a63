#include "node_reporter.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "kimesh/model_files/node_model.h"

namespace kimesh {
namespace {

std::string left_out(std::size_t lines, const std::string& path) {
  return lines == 1 ? fmt::format("1 damaged line of {} is left out", path)
                    : fmt::format("{} damaged lines of {} are left out", lines, path);
}

}  // namespace

void MeshObserver::take(const NodeUpdate& update) {
  if (const auto* decision = std::get_if<Decision>(&update.what)) {
    if (callbacks_.decision) callbacks_.decision(update.node, *decision);
    return;
  }
  if (const auto* counters = std::get_if<LinkCounterList>(&update.what)) {
    if (callbacks_.counters) callbacks_.counters(update.node, *counters);
    return;
  }
  const auto& record = std::get<NodeRecord>(update.what);
  tally_.add(update.node, record);
  if (callbacks_.record) callbacks_.record(update.node, record);
  if (const auto* round = std::get_if<RoundRecord>(&record); round && callbacks_.round)
    callbacks_.round(update.node, *round, tally_);
  if (const auto* notice = std::get_if<NoticeRecord>(&record); notice && callbacks_.notice)
    callbacks_.notice(update.node, notice->text);
}

Status NodeReporter::open_files(const RunFolder& folder, bool resumes, RecordFiles files) {
  const std::string& name = mesh_->plan().view.nodes[self_];
  const Status ready = resumes ? folder.prepare_resumed_node() : folder.prepare_node(name);
  if (!ready) return ready;
  auto recorder = resumes ? NodeRecorder::extend(folder.events(name), files.flush, files.hold)
                          : NodeRecorder::create(folder.events(name), files.flush, files.hold);
  if (!recorder) return recorder.error();
  auto decisions = resumes ? DecisionLog::extend(mesh_->plan(), folder.decisions(name), files.hold)
                           : DecisionLog::create(mesh_->plan(), folder.decisions(name), files.hold);
  if (!decisions) return decisions.error();
  model_path_ = folder.node_model(name);
  recorder_ = std::move(*recorder);
  decisions_ = std::move(*decisions);
  return ok_status();
}

Result<NodeReporter> NodeReporter::open(const Mesh& mesh, NodeIndex self,
                                        const MeshRunOptions& options, RecordFiles files,
                                        const UpdateSink& sink) {
  NodeReporter reporter(mesh, self, sink);
  if (options.folder != nullptr) {
    const Status opened = reporter.open_files(*options.folder, options.resumes, files);
    if (!opened) return opened.error();
  }
  const std::string& name = mesh.plan().view.nodes[self];
  const Status begun = reporter.record(StartRecord{0, name, std::string(version())});
  if (!begun) return begun.error();
  return reporter;
}

Status NodeReporter::limit_files(std::uint64_t bytes_max, const RunFolder& folder) {
  const std::string& name = mesh_->plan().view.nodes[self_];
  limit_.emplace(Limit{bytes_max, folder.earlier_events(name), folder.checkpoints(name),
                       RunTally(mesh_->plan())});
  RecordFollower records(folder.events(name), folder.earlier_events(name));
  for (;;) {
    const auto record = records.next();
    if (!record) return record.error();
    if (!*record) break;
    limit_->tally.add(self_, **record);
  }
  for (const auto& [path, count] : records.damaged())
    if (const Status said = notice(0, left_out(count, path)); !said) return said;
  return ok_status();
}

// Called at the end of a round. A log of decisions ends where a checkpoint is, as far as there are
// any: a replay can begin there.
Status NodeReporter::rotate(const RoundReport& report) {
  constexpr Round kAll = kNoRound - 1;  // a run without checkpoints is replayed from its begin
  const std::uint64_t most = limit_->bytes_max;
  const bool saves = mesh_->config().checkpoint.keep > 0;
  if ((report.checkpoint || !saves) && decisions_->is_full(most)) {
    const std::vector<Round> kept = checkpoint_rounds(limit_->checkpoints);
    const Round oldest = kept.empty() ? 0 : kept.front();
    const Status begun = decisions_->begin_file(report.round, most, saves ? oldest : kAll);
    if (!begun) return begun;
  }
  if (recorder_->bytes() <= most / 2) return ok_status();
  return recorder_->begin_file(limit_->earlier_events, *limit_->tally.before(self_));
}

Status NodeReporter::keep(const Status& status) {
  if (files_.ok() && !status.ok()) files_ = status;
  return files_;
}

Status NodeReporter::record(NodeRecord record) {
  if (recorder_) static_cast<void>(keep(recorder_->write(record)));
  if (limit_) limit_->tally.add(self_, record);
  (*sink_)({self_, std::move(record)});
  return files_;
}

void NodeReporter::counters(const LinkCounterList& list) {
  for (const auto& [link, counters] : list) {
    const NodeIndex to = mesh_->plan().links[link].to;
    queued_[mesh_->plan().view.nodes[to]] = counters.queued_messages;
  }
  (*sink_)({self_, list});
}

Status NodeReporter::round(TimePoint origin, const RoundReport& report) {
  if (decisions_ && !keep(decisions_->flush())) return files_;
  RoundRecord made = make_round_record(mesh_->plan(), mesh_->topology(), self_, origin, report);
  if (mesh_->objective().scores_tokens()) add_perplexity(made);
  for (LinkRecord& link : made.links)
    if (const auto queued = queued_.find(link.to); queued != queued_.end())
      link.queued_messages = queued->second;
  if (!record(std::move(made)) || !limit_) return files_;
  return keep(rotate(report));
}

Status NodeReporter::decision(double seconds, const Decision& decision) {
  if (decision.kind == Decision::Kind::kResume) {
    std::error_code ignored;  // the model of an earlier end is none of this run's any more
    std::filesystem::remove(model_path_, ignored);
    static_cast<void>(record(ResumeRecord{seconds, decision.round}));
  }
  (*sink_)({self_, decision});
  return decisions_ ? keep(decisions_->write(decision)) : files_;
}

Status NodeReporter::notice(double seconds, const std::string& text) {
  return record(NoticeRecord{seconds, text});
}

Status NodeReporter::end(const EndRecord& end) {
  static_cast<void>(record(end));
  if (recorder_) static_cast<void>(keep(recorder_->close()));
  return decisions_ ? keep(decisions_->flush()) : files_;
}

Status save_model(const Mesh& mesh, const RunFolder& folder, const NodeModel& model) {
  const Plan& plan = mesh.plan();
  const ModelOrigin origin =
      model.agreed ? ModelOrigin{mesh.digest(), plan.layout.size(), {}}
                   : unagreed_origin(mesh.digest(), plan, model.node, {model.round, model.lineage});
  return write_model(folder.node_model(plan.view.nodes[model.node]), plan.layout, model.parameters,
                     mesh.objective().frozen(), metadata_of(origin));
}

std::vector<float> owners_parameters(
    const Plan& plan, const std::function<std::span<const float>(NodeIndex)>& of_node) {
  std::vector<float> x(plan.layout.size());
  for (const Shard& shard : plan.shards) {
    const std::span<const float> w = of_node(shard.owner);
    if (w.empty()) return {};
    std::ranges::copy(w.subspan(shard.begin, shard.size),
                      x.begin() + static_cast<std::ptrdiff_t>(shard.begin));
  }
  return x;
}

}  // namespace kimesh
