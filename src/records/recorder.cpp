#include "kimesh/records/recorder.h"

#include <algorithm>
#include <cmath>

#include "json.h"
#include "kimesh/util/digest.h"

namespace kimesh {
namespace {

constexpr double kBitsPerByte = 8;

Json to_json(const LinkRecord& link) {
  Json json;
  json["to"] = link.to;
  json["rate_bits_per_s"] = number_or_null(link.rate_bits_per_s);
  json["rate_error"] = number_or_null(link.rate_error);
  if (link.rate_is_lower_bound) json["rate_is_lower_bound"] = true;
  if (link.true_rate_bits_per_s) json["true_rate_bits_per_s"] = number(*link.true_rate_bits_per_s);
  json["fixed_cost_s"] = number(link.fixed_cost_s);
  json["budget_bytes"] = link.budget_bytes;
  json["bytes"] = link.bytes;
  json["kept"] = link.kept;
  json["elements"] = link.elements;
  json["gain"] = number(link.gain);
  if (link.reduce_contraction) json["reduce_contraction"] = number(*link.reduce_contraction);
  if (link.gather_contraction) json["gather_contraction"] = number(*link.gather_contraction);
  json["wire_s"] = number(link.wire_s);
  if (link.queued_messages) json["queued_messages"] = *link.queued_messages;
  return json;
}

Json to_json(const LinkCounterRecord& counter) {
  Json json;
  json["to"] = counter.to;
  json["messages"] = counter.messages;
  json["message_bytes"] = counter.message_bytes;
  json["frame_bytes"] = counter.frame_bytes;
  json["reconnects"] = counter.reconnects;
  json["tcp_bytes_sent"] = counter.tcp_bytes_sent;
  json["tcp_bytes_retransmitted"] = counter.tcp_bytes_retransmitted;
  return json;
}

Json head(const char* event, double time_s) {
  Json json;
  json["event"] = event;
  json["time_s"] = number(time_s);
  return json;
}

Json to_json(const StartRecord& start) {
  Json json = head("start", start.time_s);
  json["node"] = start.node;
  json["version"] = start.version;
  return json;
}

Json to_json(const RoundRecord& round) {
  Json json = head("round", round.time_s);
  json["round"] = round.round;
  json["poll"] = round.confirmation;
  if (round.closing) json["closing"] = true;
  if (round.checkpoint) json["checkpoint"] = true;
  json["loss"] = number(round.loss);
  json["own_loss"] = number(round.own_loss);
  json["accuracy"] = number_or_null(round.accuracy);
  json["accuracy_round"] = round.accuracy_round ? Json(*round.accuracy_round) : Json(nullptr);
  json["test_loss"] = number_or_null(round.test_loss);
  if (round.perplexity) json["perplexity"] = number(*round.perplexity);
  json["compute_s"] = number(round.compute_s);
  json["evaluate_s"] = number(round.evaluate_s);
  json["encode_s"] = number(round.encode_s);
  json["apply_s"] = number(round.apply_s);
  json["step_s"] = number(round.step_s);
  json["wait_s"] = number(round.wait_s);
  json["round_s"] = number(round.round_s);
  json["evaluate_max_s"] = number(round.evaluate_max_s);
  if (round.residual_energy) json["residual_energy"] = number(*round.residual_energy);
  if (round.residual_share) json["residual_share"] = number(*round.residual_share);
  json["links"] = Json::array();
  for (const LinkRecord& link : round.links) json["links"].push_back(to_json(link));
  for (const auto& share : round.layers) json["layers"].push_back(number_or_null(share));
  for (const auto& [shard, digest] : round.digests)
    json["digests"].push_back({{"shard", shard}, {"digest", digest_name(digest)}});
  if (!round.policy.empty()) json["policy"] = parse_json<Json>(round.policy);
  return json;
}

Json to_json(const ResumeRecord& resume) {
  Json json = head("resume", resume.time_s);
  json["round"] = resume.round;
  return json;
}

Json to_json(const BeforeRecord& before) {
  Json json = head("before", before.time_s);
  json["round"] = before.round;
  json["trained"] = before.trained;
  json["first_round_s"] = number(before.first_round_s);
  json["evaluated_s"] = number(before.evaluated_s);
  json["compute_s"] = number(before.compute_s);
  json["evaluate_s"] = number(before.evaluate_s);
  json["encode_s"] = number(before.encode_s);
  json["apply_s"] = number(before.apply_s);
  json["step_s"] = number(before.step_s);
  json["wait_s"] = number(before.wait_s);
  json["links"] = Json::array();
  for (const BeforeRecord::Link& link : before.links)
    json["links"].push_back({{"to", link.to},
                             {"bytes", link.bytes},
                             {"kept", link.kept},
                             {"elements", link.elements},
                             {"resumed_bytes", link.resumed_bytes},
                             {"wire_s", number(link.wire_s)}});
  return json;
}

Json to_json(const NoticeRecord& notice) {
  Json json = head("notice", notice.time_s);
  json["text"] = notice.text;
  return json;
}

Json to_json(const EndRecord& end) {
  Json json = head("end", end.time_s);
  json["outcome"] = outcome_name(end.outcome);
  json["reason"] = reason_name(end.reason);
  json["text"] = end.text;
  json["rounds"] = end.rounds;
  json["seconds"] = number(end.seconds);
  for (const LinkCounterRecord& counter : end.counters)
    json["counters"].push_back(to_json(counter));
  return json;
}

}  // namespace

std::string outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kDone:
      return "done";
    case Outcome::kStopped:
      return "stopped";
    case Outcome::kFailed:
      break;
  }
  return "failed";
}

std::string reason_name(StopReason reason) {
  switch (reason) {
    case StopReason::kRounds:
      return "rounds";
    case StopReason::kAccuracy:
      return "accuracy";
    case StopReason::kLoss:
      return "loss";
    case StopReason::kTime:
      return "time";
    case StopReason::kTraffic:
      return "traffic";
    case StopReason::kWish:
      return "stopped";
    case StopReason::kPermanent:
      return "permanent";
    case StopReason::kNone:
      break;
  }
  return "none";
}

std::string to_line(const NodeRecord& record) {
  return text_of(std::visit([](const auto& r) { return to_json(r); }, record));
}

namespace {

std::optional<double> contraction_of(const EnergyReport& energies) {
  if (energies.to_send <= 0) return std::nullopt;
  return 1 - energies.missing / energies.to_send;
}

std::vector<std::optional<double>> layer_shares(std::span<const LayerReport> layers) {
  // Three digits: hundreds of layers are many numbers.
  constexpr double kDigits = 1e3;
  std::vector<std::optional<double>> shares;
  for (const LayerReport& layer : layers) {
    auto& share = shares.emplace_back();
    if (layer.elements == 0) continue;
    share = static_cast<double>(layer.kept) / static_cast<double>(layer.elements);
    if (*share <= 0) continue;
    const double digits = kDigits / std::pow(10.0, std::ceil(std::log10(*share)));
    share = std::round(*share * digits) / digits;
  }
  return shares;
}

// What each of the links that share an interface gets of it while all of them send. Their number is
// counted where there is a limit alone, since most meshes have none.
std::optional<double> part_of_interfaces(const Plan& plan, const TopologyFile& topology,
                                         NodeIndex self, const Link& link) {
  const auto part = [&](const std::optional<double>& whole, NodeIndex Link::*end) {
    const auto of_node = [&](const Link& other) { return other.*end == link.*end; };
    return whole ? std::optional(*whole /
                                 static_cast<double>(std::ranges::count_if(plan.links, of_node)))
                 : std::nullopt;
  };
  const auto out = part(topology.nodes[self].sending_cap_bits_per_s(), &Link::from);
  const auto in = part(topology.nodes[link.to].downlink_bits_per_s, &Link::to);
  return out && in ? std::min(out, in) : out ? out : in;
}

LinkRecord make_link_record(const Plan& plan, const TopologyFile& topology, NodeIndex self,
                            double seconds, const LinkReport& report) {
  const Link& link = plan.links[report.link];
  LinkRecord record;
  record.to = plan.view.nodes[link.to];
  if (report.bytes_per_s > 0) {
    record.rate_bits_per_s = report.bytes_per_s * kBitsPerByte;
    record.rate_error = report.relative_error;
    record.rate_is_lower_bound = report.lower_bound;
  }
  if (const auto& rate = topology.link(link.from, link.to).rate)
    record.true_rate_bits_per_s = rate->at(std::max(seconds, 0.0));
  if (const auto part = part_of_interfaces(plan, topology, self, link))
    record.true_rate_bits_per_s = std::min(record.true_rate_bits_per_s.value_or(*part), *part);
  record.fixed_cost_s = to_seconds(report.fixed_cost);
  record.budget_bytes = report.budget_bytes;
  record.bytes = report.bytes;
  record.kept = report.kept;
  record.elements = report.elements;
  record.gain = report.gain;
  record.reduce_contraction = contraction_of(report.reduce);
  record.gather_contraction = contraction_of(report.gather);
  record.wire_s = to_seconds(report.wire);
  return record;
}

}  // namespace

RoundRecord make_round_record(const Plan& plan, const TopologyFile& topology, NodeIndex self,
                              TimePoint origin, const RoundReport& report) {
  RoundRecord record;
  record.time_s = to_seconds(report.ended - origin);
  record.round = report.round;
  record.confirmation = report.confirmation;
  record.closing = report.closing;
  record.checkpoint = report.checkpoint;
  record.loss = report.verdict.loss;
  record.own_loss = report.own_loss;
  if (report.verdict.accuracy_round != kNoRound) {
    record.accuracy = report.verdict.accuracy;
    record.accuracy_round = report.verdict.accuracy_round;
    record.test_loss = report.verdict.test_loss;
  }
  record.compute_s = to_seconds(report.compute);
  record.evaluate_s = to_seconds(report.evaluate);
  record.encode_s = to_seconds(report.encode);
  record.apply_s = to_seconds(report.apply);
  record.step_s = to_seconds(report.step);
  record.round_s = to_seconds(report.ended - report.begun);
  record.wait_s = std::max(0.0, record.round_s - record.compute_s - record.evaluate_s);
  record.evaluate_max_s = report.verdict.evaluate_s;
  if (report.residual.of_energy > 0) {
    record.residual_energy = report.residual.energy;
    record.residual_share = report.residual.energy / report.residual.of_energy;
  }
  record.policy = report.policy_state;
  for (const LinkReport& link : report.links)
    record.links.push_back(make_link_record(plan, topology, self, record.time_s, link));
  record.layers = layer_shares(report.layers);
  record.digests = report.digests;
  return record;
}

void add_perplexity(RoundRecord& record) {
  if (record.test_loss) record.perplexity = std::exp(*record.test_loss);
}

Result<NodeRecorder> NodeRecorder::create(std::string path, Flush flush, LineFile::Hold hold) {
  auto file = LineFile::create(std::move(path), hold);
  if (!file) return file.error();
  return NodeRecorder(std::move(*file), flush);
}

Result<NodeRecorder> NodeRecorder::extend(std::string path, Flush flush, LineFile::Hold hold) {
  auto file = LineFile::extend(std::move(path), hold);
  if (!file) return file.error();
  return NodeRecorder(std::move(*file), flush);
}

Status NodeRecorder::begin_file(const std::string& earlier, const BeforeRecord& before) {
  const auto moved = file_.move_to(earlier);
  if (!moved) return moved.error();
  return *moved ? write(before) : ok_status();
}

Status NodeRecorder::write(const NodeRecord& record) {
  Status status = file_.append(to_line(record));
  if (!status.ok() || flush_ == Flush::kWhenFull) return status;
  return file_.flush();
}

}  // namespace kimesh
