#include "kimesh/records/summary.h"

#include <fmt/format.h>

#include <cmath>

#include "json.h"
#include "kimesh/util/check.h"
#include "kimesh/util/digest.h"
#include "kimesh/util/units.h"

namespace kimesh {
namespace {

const std::string& name(const RunTally& tally, NodeIndex node) {
  return tally.plan().view.nodes[node];
}

Json digests_json(const Plan& plan, const std::vector<float>& model) {
  if (model.empty()) return nullptr;
  KIMESH_CHECK(model.size() == plan.layout.size(), "a whole model");
  Json json;
  json["model"] = digest_name(digest_floats(model));
  json["shards"] = Json::array();
  for (const Shard& shard : plan.shards)
    json["shards"].push_back(
        digest_name(digest_floats(std::span(model).subspan(shard.begin, shard.size))));
  return json;
}

void put_ends(Json& json, const RunTally& tally, const Link& link) {
  json["from"] = name(tally, link.from);
  json["to"] = name(tally, link.to);
}

Json slowest_json(const RunTally& tally) {
  const LinkTally* slowest = tally.slowest_link();
  if (slowest == nullptr) return nullptr;
  Json json;
  put_ends(json, tally, tally.plan().links[slowest->link]);
  json["rate_bits_per_s"] = number_or_null(slowest->latest.rate_bits_per_s);
  return json;
}

Json link_json(const RunTally& tally, const LinkTally& link) {
  Json json;
  put_ends(json, tally, tally.plan().links[link.link]);
  json["rate_bits_per_s"] = number_or_null(link.latest.rate_bits_per_s);
  json["rate_error"] = number_or_null(link.latest.rate_error);
  if (link.latest.true_rate_bits_per_s)
    json["true_rate_bits_per_s"] = number(*link.latest.true_rate_bits_per_s);
  json["bytes_sent"] = link.bytes_sent();
  json["bytes_dense"] = link.elements * sizeof(float);
  json["bytes"] = link.bytes;
  json["kept"] = link.kept;
  json["elements"] = link.elements;
  json["wire_s"] = number(link.wire_s);
  if (!link.counters) return json;
  json["messages"] = link.counters->messages;
  json["message_bytes"] = link.counters->message_bytes;
  json["frame_bytes"] = link.counters->frame_bytes;
  json["reconnects"] = link.counters->reconnects;
  json["tcp_bytes_sent"] = link.counters->tcp_bytes_sent;
  json["tcp_bytes_retransmitted"] = link.counters->tcp_bytes_retransmitted;
  return json;
}

Json node_json(const std::string& name, const NodeTally& node) {
  Json json;
  json["name"] = name;
  json["rounds"] = node.trained;
  json["outcome"] = node.end ? outcome_name(node.end->outcome) : "lost";
  json["text"] = node.end ? node.end->text : "";
  json["compute_s"] = number(node.compute_s);
  json["evaluate_s"] = number(node.evaluate_s);
  json["encode_s"] = number(node.encode_s);
  json["apply_s"] = number(node.apply_s);
  json["step_s"] = number(node.step_s);
  json["wait_s"] = number(node.wait_s);
  if (node.residual_energy) json["residual_energy"] = number(*node.residual_energy);
  if (node.residual_share) json["residual_share"] = number(*node.residual_share);
  return json;
}

std::optional<double> compression_ratio(const RunTally& tally) {
  const auto sent = static_cast<double>(tally.bytes_sent());
  if (sent == 0) return std::nullopt;
  return static_cast<double>(tally.bytes_dense()) / sent;
}

std::string headline(const RunEnd& end) {
  switch (end.outcome) {
    case Outcome::kDone:
      switch (end.reason) {
        case StopReason::kAccuracy:
          return "done: the accuracy was reached";
        case StopReason::kLoss:
          return "done: the test loss was reached";
        case StopReason::kRounds:
          return "done: all rounds were made";
        case StopReason::kTime:
          return "done: the time is over";
        case StopReason::kTraffic:
          return "done: what a node may still send by its traffic limit is kept for the end";
        case StopReason::kWish:
        case StopReason::kPermanent:
        case StopReason::kNone:
          return "done";
      }
      return "done";
    case Outcome::kStopped:
      return end.text.empty() ? "stopped" : "stopped: " + end.text;
    case Outcome::kFailed:
      break;
  }
  return end.text.empty() ? "failed" : "failed: " + end.text;
}

std::string accuracy_text(const RunTally& tally) {
  const RoundRecord* latest = tally.latest();
  if (latest == nullptr || !latest->accuracy) return "none was evaluated";
  return fmt::format("{:.4f} (round {})", *latest->accuracy, latest->accuracy_round.value_or(0));
}

std::string bytes_text(const RunTally& tally) {
  const auto sent = static_cast<double>(tally.bytes_sent());
  const auto dense = static_cast<double>(tally.bytes_dense());
  std::string text = fmt::format("{} sent; dense: {}", format_bytes(sent), format_bytes(dense));
  if (const auto ratio = compression_ratio(tally); ratio && dense > 0)
    text += fmt::format(" ({:.3g} times as much)", *ratio);
  return text;
}

std::string slowest_text(const RunTally& tally) {
  const LinkTally* slowest = tally.slowest_link();
  if (slowest == nullptr) return "no rate is known";
  const Link& link = tally.plan().links[slowest->link];
  return fmt::format("{}->{}, {} estimated", name(tally, link.from), name(tally, link.to),
                     format_rate(*slowest->latest.rate_bits_per_s));
}

}  // namespace

std::string summary_json(const RunTally& tally, const RunEnd& end) {
  const RoundRecord* latest = tally.latest();
  Json json;
  json["outcome"] = outcome_name(end.outcome);
  json["reason"] = reason_name(end.reason);
  json["text"] = end.text;
  json["accuracy"] = latest ? number_or_null(latest->accuracy) : Json(nullptr);
  json["accuracy_round"] =
      latest && latest->accuracy_round ? Json(*latest->accuracy_round) : Json(nullptr);
  json["test_loss"] = latest ? number_or_null(latest->test_loss) : Json(nullptr);
  if (latest && latest->perplexity) json["perplexity"] = number(*latest->perplexity);
  json["loss"] = latest ? number(latest->loss) : Json(nullptr);
  json["rounds"] = tally.rounds();
  json["seconds"] = number(tally.clock_s());
  json["bytes_sent"] = tally.bytes_sent();
  json["bytes_dense"] = tally.bytes_dense();
  json["compression_ratio"] = number_or_null(compression_ratio(tally));
  json["slowest_link"] = slowest_json(tally);
  if (end.gradient_norm_squared) json["gradient_norm_squared"] = number(*end.gradient_norm_squared);
  json["digests"] = digests_json(tally.plan(), end.model);
  json["complete"] = end.complete;
  json["links"] = Json::array();
  for (const LinkTally& link : tally.links()) json["links"].push_back(link_json(tally, link));
  json["nodes"] = Json::array();
  for (NodeIndex i = 0; i < tally.nodes().size(); ++i)
    json["nodes"].push_back(node_json(name(tally, i), tally.nodes()[i]));
  return text_of(json, 2) + "\n";
}

std::string summary_text(const RunTally& tally, const RunEnd& end) {
  const RoundRecord* latest = tally.latest();
  std::string text = headline(end) + "\n";
  const auto row = [&](const char* label, const std::string& value) {
    text += fmt::format("  {:<14}{}\n", label, value);
  };
  row("accuracy", accuracy_text(tally));
  if (latest && latest->test_loss) row("test loss", fmt::format("{:.4g}", *latest->test_loss));
  if (latest && latest->perplexity) row("perplexity", fmt::format("{:.4g}", *latest->perplexity));
  if (latest && std::isfinite(latest->loss)) row("loss", fmt::format("{:.4g}", latest->loss));
  if (end.gradient_norm_squared) row("‖∇f‖²", fmt::format("{:.3e}", *end.gradient_norm_squared));
  if (!end.model.empty() && !end.complete)
    row("model", "with other nodes' copies of the shards of nodes that left nothing");
  row("rounds", std::to_string(tally.rounds()));
  row("time", fmt::format("{} without evaluation", format_duration(from_seconds(tally.clock_s()))));
  row("bytes", bytes_text(tally));
  row("slowest link", slowest_text(tally));
  return text;
}

std::string figures_json(std::span<const Figure> figures) {
  Json json;
  json["figures"] = Json::array();
  for (const Figure& figure : figures) {
    Json runs = Json::array();
    for (const double run : figure.runs) runs.push_back(number(run));
    json["figures"].push_back({{"name", figure.name},
                               {"value", number(figure.value)},
                               {"unit", figure.unit},
                               {"runs", std::move(runs)}});
  }
  return text_of(json, 2) + "\n";
}

std::vector<Figure> figures_of(const RunTally& tally, const RunEnd& end) {
  std::vector<Figure> figures;
  const auto add = [&](const char* figure, double value, const char* unit) {
    figures.push_back({figure, value, unit, {value}});
  };
  const RoundRecord* latest = tally.latest();
  if (latest && latest->accuracy) add("accuracy", *latest->accuracy, "1");
  if (latest && latest->test_loss) add("test_loss", *latest->test_loss, "nat");
  if (latest && latest->perplexity) add("perplexity", *latest->perplexity, "1");
  if (latest && std::isfinite(latest->loss)) add("loss", latest->loss, "1");
  if (end.gradient_norm_squared) add("gradient_norm_squared", *end.gradient_norm_squared, "1");
  add("rounds", tally.rounds(), "1");
  add("seconds", tally.clock_s(), "s");
  add("bytes_sent", static_cast<double>(tally.bytes_sent()), "B");
  add("bytes_dense", static_cast<double>(tally.bytes_dense()), "B");
  if (const auto ratio = compression_ratio(tally)) add("compression_ratio", *ratio, "1");
  return figures;
}

}  // namespace kimesh
