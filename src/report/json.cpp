// The report as JSON, which the page holds too.
#include <cmath>
#include <nlohmann/json.hpp>

#include "curves.h"
#include "kimesh/report/four_digits.h"
#include "kimesh/report/report.h"

namespace kimesh {
namespace {

using Json = nlohmann::ordered_json;

// Four digits are more than a drawing shows; a number that is unknown or infinite becomes null.
Json number(double value) {
  if (!std::isfinite(value)) return nullptr;
  const double rounded = four_digits(value);
  const bool is_whole = rounded == std::floor(rounded) && std::abs(rounded) < 1e15;
  return is_whole ? Json(static_cast<std::int64_t>(rounded)) : Json(rounded);
}
Json number(const std::optional<double>& value) {
  return value ? number(*value) : Json(nullptr);
}
Json numbers(const std::vector<double>& values) {
  Json json = Json::array();
  for (const double value : values) json.push_back(number(value));
  return json;
}

Json to_json(const Finding& finding) {
  return {{"rule", finding.rule},
          {"weight", number(finding.weight)},
          {"text", finding.text},
          {"remedy", finding.remedy}};
}

Json to_json(const NodeMeasures& node) {
  if (node.rounds == 0) return nullptr;
  return {{"gradient_p50_s", number(node.gradient_s.p50)},
          {"gradient_p95_s", number(node.gradient_s.p95)},
          {"compute_s", number(node.split.compute_s)},
          {"encode_s", number(node.split.encode_s)},
          {"apply_s", number(node.split.apply_s)},
          {"step_s", number(node.split.step_s)},
          {"wire_s", number(node.split.wire_s)},
          {"wait_s", number(node.split.wait_s)}};
}

Json to_json(const RunHistory& history, const LinkMeasures& link) {
  const auto [from, to] = history.plan.links[link.link];
  return {{"from", from},
          {"to", to},
          {"rate_bits_per_s", number(link.rate_bits_per_s)},
          {"true_rate_bits_per_s", number(link.true_rate_bits_per_s)},
          {"rate_off", number(link.rate_off)},
          {"fixed_cost_s", number(link.fixed_cost_s)},
          {"busy", number(link.busy)},
          {"bytes", number(link.bytes)},
          {"budget_bytes", number(link.budget_bytes)},
          {"dense_bytes", number(link.dense_bytes)},
          {"kept", number(link.kept)},
          {"reduce_contraction", number(link.reduce_contraction)},
          {"gather_contraction", number(link.gather_contraction)},
          {"saved_s", number(link.saved_s)}};
}

// The rounds of all nodes, but for the last one where it closed the run.
Bins bins_of(const RunHistory& history, std::size_t count, Round unit = 1) {
  Round first = kNoRound, end = 0;
  bool closes = false;
  for (const NodeHistory& node : history.nodes) {
    if (node.rounds.empty()) continue;
    first = std::min(first, node.rounds.front().round);
    if (node.rounds.back().round < end) continue;
    end = node.rounds.back().round + 1;
    closes = node.rounds.back().closing;
  }
  if (closes && end - first > 1) --end;
  return {first / unit * unit, end, count, unit};
}

// Where the time of a round goes at one node.
Json node_curves(const NodeHistory& node, const Bins& bins) {
  Means compute(bins.size()), encode(bins.size()), apply(bins.size()), step(bins.size()),
      wire(bins.size()), wait(bins.size());
  for (const RoundRecord& round : node.rounds) {
    if (!shows_times(bins, round)) continue;
    const std::size_t bin = bins.of(round.round);
    const TimeSplit split = split_of(round);
    compute.add(bin, split.compute_s);
    encode.add(bin, split.encode_s);
    apply.add(bin, split.apply_s);
    step.add(bin, split.step_s);
    wire.add(bin, split.wire_s);
    wait.add(bin, split.wait_s);
  }
  return {{"compute_s", numbers(compute.values())}, {"encode_s", numbers(encode.values())},
          {"apply_s", numbers(apply.values())},     {"step_s", numbers(step.values())},
          {"wire_s", numbers(wire.values())},       {"wait_s", numbers(wait.values())}};
}

struct LinkCurves {
  Means rate, true_rate, budget, bytes, busy, reduce, gather;
  explicit LinkCurves(std::size_t bins)
      : rate(bins),
        true_rate(bins),
        budget(bins),
        bytes(bins),
        busy(bins),
        reduce(bins),
        gather(bins) {}
  static constexpr std::size_t kCurves = 7;

  void add(std::size_t bin, const LinkRecord& link, double round_s) {
    if (link.rate_bits_per_s) rate.add(bin, *link.rate_bits_per_s);
    if (link.true_rate_bits_per_s) true_rate.add(bin, *link.true_rate_bits_per_s);
    budget.add(bin, static_cast<double>(link.budget_bytes));
    bytes.add(bin, static_cast<double>(link.bytes));
    if (round_s > 0) busy.add(bin, std::min(1.0, sending_s(link) / round_s));
    if (link.reduce_contraction) reduce.add(bin, *link.reduce_contraction);
    if (link.gather_contraction) gather.add(bin, *link.gather_contraction);
  }
  [[nodiscard]] Json json() const {
    return {{"rate_bits_per_s", numbers(rate.values())},
            {"true_rate_bits_per_s", numbers(true_rate.values())},
            {"budget_bytes", numbers(budget.values())},
            {"bytes", numbers(bytes.values())},
            {"busy", numbers(busy.values())},
            {"reduce_contraction", numbers(reduce.values())},
            {"gather_contraction", numbers(gather.values())}};
  }
};

Json link_curves(const RunHistory& history, const Bins& bins) {
  std::vector<LinkCurves> curves(history.plan.links.size(), LinkCurves(bins.size()));
  for (NodeIndex node = 0; node < history.nodes.size(); ++node)
    for (const RoundRecord& round : history.nodes[node].rounds)
      for (const LinkRecord& record : round.links) {
        const auto to = history.topology.find_node(record.to);
        const auto link = to ? history.plan.find_link(node, *to) : std::nullopt;
        if (link && shows_times(bins, round))
          curves[*link].add(bins.of(round.round), record, seconds_of(round));
      }
  Json json = Json::array();
  for (const LinkCurves& curve : curves) json.push_back(curve.json());
  return json;
}

std::vector<double> begins(const Bins& bins) {
  std::vector<double> rounds;
  for (std::size_t bin = 0; bin < bins.size(); ++bin) rounds.push_back(bins.begin(bin));
  return rounds;
}

// Loss against rounds and seconds, as the furthest node knows them.
Json curves_of(const RunHistory& history) {
  const Bins bins = bins_of(history, kPointsMax);
  const std::size_t links = std::max<std::size_t>(1, history.plan.links.size());
  const Bins link_bins = bins_of(
      history, std::min(kPointsMax,
                        std::max<std::size_t>(10, kLinkNumbersMax / links / LinkCurves::kCurves)));
  const NodeHistory& node = history.nodes[history.furthest()];
  Means loss(bins.size()), seconds(bins.size()), length(bins.size());
  for (std::size_t i = 0; i < node.rounds.size(); ++i) {
    if (!bins.holds(node.rounds[i].round)) continue;
    const std::size_t bin = bins.of(node.rounds[i].round);
    loss.add(bin, node.rounds[i].loss);
    seconds.add(bin, node.clock_s[i]);
    if (shows_times(bins, node.rounds[i])) length.add(bin, seconds_of(node.rounds[i]));
  }
  Json nodes = Json::array();
  for (const NodeHistory& each : history.nodes) nodes.push_back(node_curves(each, bins));
  return {{"round", numbers(begins(bins))},
          {"seconds", numbers(seconds.values())},
          {"loss", numbers(loss.values())},
          {"round_s", numbers(length.values())},
          {"nodes", nodes},
          {"link_round", numbers(begins(link_bins))},
          {"links", link_curves(history, link_bins)}};
}

Json evaluations_of(const RunHistory& history) {
  const NodeHistory& node = history.nodes[history.furthest()];
  Json json = Json::array();
  for (const Evaluation& evaluation : node.evaluations) {
    const auto at =
        std::ranges::lower_bound(node.rounds, evaluation.round, {}, &RoundRecord::round);
    const auto place = std::min<std::size_t>(at - node.rounds.begin(), node.clock_s.size() - 1);
    json.push_back({{"round", evaluation.round},
                    {"seconds", number(node.clock_s[place])},
                    {"accuracy", number(evaluation.accuracy)},
                    {"test_loss", number(evaluation.test_loss)}});
  }
  return json;
}

// The share of each layer's elements that travelled, by layer and time; null: nothing is known.
Json layers_of(const RunHistory& history) {
  constexpr std::size_t kColumnsMax = 60, kLayersMax = 500;
  const auto& layers = history.plan.layout.layers;
  if (!history.layout_known || layers.size() > kLayersMax) return nullptr;
  const Bins bins = bins_of(history, kColumnsMax, kLayerReportEvery);
  std::vector<Means> shares(layers.size(), Means(bins.size()));
  bool any = false;
  for (const NodeHistory& node : history.nodes)
    for (const RoundRecord& round : node.rounds)
      for (std::size_t i = 0; i < std::min(round.layers.size(), layers.size()); ++i)
        if (round.layers[i] && bins.holds(round.round))
          shares[i].add(bins.of(round.round), *round.layers[i]), any = true;
  if (!any) return nullptr;
  Json names = Json::array(), sizes = Json::array(), rows = Json::array();
  for (std::size_t i = 0; i < layers.size(); ++i) {
    names.push_back(layers[i].name);
    sizes.push_back(layers[i].size);
    rows.push_back(numbers(shares[i].values()));
  }
  return {{"names", names}, {"elements", sizes}, {"round", numbers(begins(bins))}, {"kept", rows}};
}

Json events_of(const RunHistory& history) {
  constexpr std::size_t kEventsMax = 200;
  std::vector<std::pair<double, Json>> all;
  for (NodeIndex i = 0; i < history.nodes.size(); ++i) {
    const auto add = [&](double time_s, const std::string& text) {
      all.emplace_back(time_s, Json{{"time_s", number(time_s)}, {"node", i}, {"text", text}});
    };
    for (const NoticeRecord& notice : history.nodes[i].notices) add(notice.time_s, notice.text);
    if (history.nodes[i].end && !history.nodes[i].end->text.empty())
      add(history.nodes[i].end->time_s, history.nodes[i].end->text);
  }
  std::ranges::stable_sort(all, {}, &std::pair<double, Json>::first);
  Json json = Json::array();
  for (std::size_t i = all.size() > kEventsMax ? all.size() - kEventsMax : 0; i < all.size(); ++i)
    json.push_back(std::move(all[i].second));
  return json;
}

Json to_json(const RunReport& report) {
  const RunHistory& history = report.history;
  const NodeHistory& node = history.nodes[history.furthest()];
  const RoundRecord& last = node.rounds.back();
  const auto& evaluations = node.evaluations;
  const CompressionOptions& compression = history.config.compression;
  Json json{
      {"name", history.name},
      {"outcome", node.end ? Json(outcome_name(node.end->outcome)) : Json(nullptr)},
      {"reason", node.end ? Json(reason_name(node.end->reason)) : Json(nullptr)},
      {"text", node.end ? node.end->text : ""},
      {"policy", compression.policy->kind_name()},
      {"compressor", compression.codec ? Json(compression.codec->kind_name()) : Json(nullptr)},
      {"topology", history.topology.kind->kind_name()},
      {"nodes", history.plan.view.nodes},
      {"parameters", history.layout_known ? Json(history.plan.layout.size()) : Json(nullptr)},
      {"rounds", node.trained},
      {"seconds", number(node.seconds)},
      {"loss", number(last.loss)}};
  json["accuracy"] = evaluations.empty() ? Json(nullptr) : number(evaluations.back().accuracy);
  json["verdict"] = report.verdict;
  json["round_s"] = {{"p50", number(report.measures.round_s.p50)},
                     {"p95", number(report.measures.round_s.p95)}};
  json["measured_rounds"] = {report.measures.first, report.measures.end};
  json["compute_share"] = number(report.measures.compute_share());
  json["findings"] = Json::array();
  for (const Finding& finding : report.findings) json["findings"].push_back(to_json(finding));
  json["no_what_if"] = report.no_what_if;
  for (const NodeMeasures& each : report.measures.nodes)
    json["node_measures"].push_back(to_json(each));
  json["nodes_without_file"] = nodes_without_file(report);
  json["links"] = Json::array();
  for (const LinkMeasures& link : report.measures.links)
    json["links"].push_back(to_json(history, link));
  json["curves"] = curves_of(history);
  json["evaluations"] = evaluations_of(history);
  json["layers"] = layers_of(history);
  json["events"] = events_of(history);
  return json;
}

}  // namespace

std::string report_json(std::span<const RunReport> reports) {
  Json json{{"runs", Json::array()}};
  for (const RunReport& report : reports) json["runs"].push_back(to_json(report));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace kimesh
