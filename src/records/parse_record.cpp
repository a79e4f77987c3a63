// Parses records.
#include <charconv>

#include "json.h"
#include "kimesh/records/recorder.h"

namespace kimesh {
namespace {

LinkRecord read_link(const Json& json, std::string& complaint) {
  LinkRecord link;
  FieldReader fields(json);
  fields.read("to", link.to);
  fields.read("rate_bits_per_s", link.rate_bits_per_s);
  fields.read("rate_error", link.rate_error);
  if (fields.has("rate_is_lower_bound"))
    fields.read("rate_is_lower_bound", link.rate_is_lower_bound);
  fields.read("true_rate_bits_per_s", link.true_rate_bits_per_s);
  fields.read("fixed_cost_s", link.fixed_cost_s);
  fields.read("budget_bytes", link.budget_bytes);
  fields.read("bytes", link.bytes);
  fields.read("kept", link.kept);
  fields.read("elements", link.elements);
  fields.read("gain", link.gain);
  fields.read("reduce_contraction", link.reduce_contraction);
  fields.read("gather_contraction", link.gather_contraction);
  fields.read("wire_s", link.wire_s);
  if (fields.has("queued_messages")) fields.read("queued_messages", link.queued_messages.emplace());
  if (!fields.ok()) complaint = fields.complaint();
  return link;
}

LinkCounterRecord read_counter(const Json& json, std::string& complaint) {
  LinkCounterRecord counter;
  FieldReader fields(json);
  fields.read("to", counter.to);
  fields.read("messages", counter.messages);
  fields.read("message_bytes", counter.message_bytes);
  fields.read("frame_bytes", counter.frame_bytes);
  fields.read("reconnects", counter.reconnects);
  fields.read("tcp_bytes_sent", counter.tcp_bytes_sent);
  fields.read("tcp_bytes_retransmitted", counter.tcp_bytes_retransmitted);
  if (!fields.ok()) complaint = fields.complaint();
  return counter;
}

std::pair<ShardIndex, std::uint64_t> read_digest(const Json& json, std::string& complaint) {
  ShardIndex shard = 0;
  std::string text;
  std::uint64_t digest = 0;
  FieldReader fields(json);
  fields.read("shard", shard);
  fields.read("digest", text);
  const auto end = text.data() + text.size();
  if (const auto [stop, code] = std::from_chars(text.data(), end, digest, 16);
      stop != end || code != std::errc{} || text.empty())
    fields.complain("'digest' is no hexadecimal number");
  if (!fields.ok()) complaint = fields.complaint();
  return {shard, digest};
}

std::optional<double> read_share(const Json& json, std::string& complaint) {
  if (json.is_number()) return json.get<double>();
  if (!json.is_null()) complaint = "it holds what is no number";
  return std::nullopt;
}

// Reads every item of the list `name`, which may be absent.
template <typename Item>
void read_list(FieldReader& fields, const char* name, std::vector<Item>& out,
               Item (*read_item)(const Json&, std::string&)) {
  if (!fields.has(name)) return;
  const Json* list = fields.list(name);
  if (list == nullptr) return;
  std::string complaint;
  for (const Json& json : *list) out.push_back(read_item(json, complaint));
  if (!complaint.empty()) fields.complain(std::string(name) + ": " + complaint);
}

NodeRecord read_start(FieldReader& fields) {
  StartRecord start;
  fields.read("time_s", start.time_s);
  fields.read("node", start.node);
  fields.read("version", start.version);
  return start;
}

NodeRecord read_round(FieldReader& fields) {
  RoundRecord round;
  fields.read("time_s", round.time_s);
  fields.read("round", round.round);
  fields.read("poll", round.confirmation);
  if (fields.has("closing")) fields.read("closing", round.closing);
  if (fields.has("checkpoint")) fields.read("checkpoint", round.checkpoint);
  fields.read_or_nan("loss", round.loss);
  fields.read_or_nan("own_loss", round.own_loss);
  fields.read("accuracy", round.accuracy);
  fields.read("accuracy_round", round.accuracy_round);
  fields.read("test_loss", round.test_loss);
  fields.read("perplexity", round.perplexity);
  fields.read("compute_s", round.compute_s);
  fields.read("evaluate_s", round.evaluate_s);
  fields.read("encode_s", round.encode_s);
  fields.read("apply_s", round.apply_s);
  fields.read("step_s", round.step_s);
  fields.read("wait_s", round.wait_s);
  fields.read("round_s", round.round_s);
  fields.read("evaluate_max_s", round.evaluate_max_s);
  fields.read("residual_energy", round.residual_energy);
  fields.read("residual_share", round.residual_share);
  read_list(fields, "links", round.links, &read_link);
  read_list(fields, "layers", round.layers, &read_share);
  read_list(fields, "digests", round.digests, &read_digest);
  if (fields.has("policy")) round.policy = fields.text_of_object("policy");
  return round;
}

NodeRecord read_resume(FieldReader& fields) {
  ResumeRecord resume;
  fields.read("time_s", resume.time_s);
  fields.read("round", resume.round);
  return resume;
}

BeforeRecord::Link read_link_before(const Json& json, std::string& complaint) {
  BeforeRecord::Link link;
  FieldReader fields(json);
  fields.read("to", link.to);
  fields.read("bytes", link.bytes);
  fields.read("kept", link.kept);
  fields.read("elements", link.elements);
  // Records of before did not say it.
  if (fields.has("resumed_bytes")) fields.read("resumed_bytes", link.resumed_bytes);
  fields.read("wire_s", link.wire_s);
  if (!fields.ok()) complaint = fields.complaint();
  return link;
}

NodeRecord read_before(FieldReader& fields) {
  BeforeRecord before;
  fields.read("time_s", before.time_s);
  fields.read("round", before.round);
  fields.read("trained", before.trained);
  fields.read("first_round_s", before.first_round_s);
  fields.read("evaluated_s", before.evaluated_s);
  fields.read("compute_s", before.compute_s);
  fields.read("evaluate_s", before.evaluate_s);
  fields.read("encode_s", before.encode_s);
  fields.read("apply_s", before.apply_s);
  fields.read("step_s", before.step_s);
  fields.read("wait_s", before.wait_s);
  read_list(fields, "links", before.links, &read_link_before);
  return before;
}

NodeRecord read_notice(FieldReader& fields) {
  NoticeRecord notice;
  fields.read("time_s", notice.time_s);
  fields.read("text", notice.text);
  return notice;
}

NodeRecord read_end(FieldReader& fields) {
  EndRecord end;
  std::string outcome, reason;
  fields.read("time_s", end.time_s);
  fields.read("outcome", outcome);
  fields.read("reason", reason);
  fields.read("text", end.text);
  fields.read("rounds", end.rounds);
  fields.read("seconds", end.seconds);
  read_list(fields, "counters", end.counters, &read_counter);
  if (const auto found = parse_outcome(outcome)) end.outcome = *found;
  if (!parse_outcome(outcome)) fields.complain("'" + outcome + "' is no outcome");
  if (const auto found = parse_reason(reason)) end.reason = *found;
  if (!parse_reason(reason)) fields.complain("'" + reason + "' is no reason");
  return end;
}

NodeRecord read_record(const std::string& event, FieldReader& fields) {
  if (event == "start") return read_start(fields);
  if (event == "round") return read_round(fields);
  if (event == "resume") return read_resume(fields);
  if (event == "before") return read_before(fields);
  if (event == "notice") return read_notice(fields);
  if (event == "end") return read_end(fields);
  fields.complain("'" + event + "' is no event");
  return NoticeRecord{};
}

}  // namespace

std::optional<Outcome> parse_outcome(const std::string& name) {
  for (const Outcome outcome : {Outcome::kDone, Outcome::kStopped, Outcome::kFailed})
    if (outcome_name(outcome) == name) return outcome;
  return std::nullopt;
}

std::optional<StopReason> parse_reason(const std::string& name) {
  for (const StopReason reason :
       {StopReason::kNone, StopReason::kRounds, StopReason::kAccuracy, StopReason::kLoss,
        StopReason::kTime, StopReason::kTraffic, StopReason::kWish, StopReason::kPermanent})
    if (reason_name(reason) == name) return reason;
  return std::nullopt;
}

Result<NodeRecord> parse_record(std::string_view line) {
  const Json json = parse_json<Json>(line);
  FieldReader fields(json);
  std::string event;
  fields.read("event", event);
  NodeRecord record = fields.ok() ? read_record(event, fields) : NodeRecord{};
  if (!fields.ok()) return Error{ErrorCode::kMalformed, fields.complaint()};
  return record;
}

}  // namespace kimesh
