// The state of a run as JSON; run_watch.h says what its fields are.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <numeric>

#include "json_number.h"
#include "kimesh/records/parse_json.h"
#include "run_state.h"

namespace kimesh {
namespace {

using Json = nlohmann::ordered_json;

// What an answer has told, so that the next one goes on from there.
struct Cursor {
  std::uint64_t life = 0;  // of the watch
  std::size_t generation = 0, event = 0, evaluations = 0;
  Round round = 0;  // of the last point, which may have grown since
};

std::string text_of(const Cursor& cursor) {
  return fmt::format("{}.{}.{}.{}.{}", cursor.life, cursor.generation, cursor.round,
                     cursor.evaluations, cursor.event);
}

std::optional<Cursor> parse_cursor(std::string_view text) {
  std::array<std::uint64_t, 5> parts{};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0 && (at == end || *at++ != '.')) return std::nullopt;
    const auto [behind, error] = std::from_chars(at, end, parts[i]);
    if (error != std::errc{}) return std::nullopt;
    at = behind;
  }
  if (at != end || parts[2] > kNoRound) return std::nullopt;
  return Cursor{parts[0], parts[1], parts[4], parts[3], static_cast<Round>(parts[2])};
}

using Names = std::initializer_list<const char*>;
constexpr Names kNodeColumns{"known",   "rounds", "outcome", "compute_s", "encode_s",
                             "apply_s", "step_s", "wire_s",  "wait_s"};
constexpr Names kLinkColumns{"link",
                             "rate_bits_per_s",
                             "rate_error",
                             "is_lower_bound",
                             "true_rate_bits_per_s",
                             "budget_bytes",
                             "bytes",
                             "mean_bytes",
                             "kept",
                             "gain",
                             "queued",
                             "busy",
                             "total_bytes"};

// A column for each name, filled row by row.
class Columns {
 public:
  explicit Columns(Names names) {
    for (const char* name : names) json_[name] = Json::array();
  }
  // Requires an array with a value for each column.
  void add(const Json& row) {
    auto column = json_.begin();
    for (const Json& value : row) (column++)->push_back(value);
  }
  [[nodiscard]] Json take() { return std::move(json_); }

 private:
  Json json_ = Json::object();
};

Json with_from(std::uint64_t from, Columns columns) {
  Json json{{"from", from}};
  json.update(columns.take());
  return json;
}

Json what_never_changes(const RunHistory& history) {
  const CompressionOptions& compression = history.config.compression;
  Json links = Json::array();
  for (const Link& link : history.plan.links) links.push_back({link.from, link.to});
  return {{"name", history.name},
          {"topology", history.topology.kind->kind_name()},
          {"policy", compression.policy->kind_name()},
          {"compressor", compression.codec ? Json(compression.codec->kind_name()) : Json(nullptr)},
          {"parameters", history.layout_known ? Json(history.plan.layout.size()) : Json(nullptr)},
          {"nodes", history.plan.view.nodes},
          {"links", links}};
}

Json curve_json(const Course& course, Round from) {
  Columns columns{"round", "seconds", "loss", "round_s"};
  for (const CoursePoint& point : course.points()) {
    if (point.round < from) continue;
    const auto count = static_cast<double>(point.count);
    const Json loss =
        point.losses > 0 ? number(point.loss / static_cast<double>(point.losses)) : Json(nullptr);
    columns.add(
        Json::array({point.round, number(point.seconds), loss, number(point.round_s / count)}));
  }
  return with_from(from, std::move(columns));
}

Json evaluations_json(const Course& course, std::size_t from) {
  Columns columns{"round", "seconds", "accuracy", "test_loss"};
  for (std::size_t i = from; i < course.evaluations().size(); ++i) {
    const Evaluation& evaluation = course.evaluations()[i];
    columns.add({evaluation.round, number(evaluation.time_s), number(evaluation.accuracy),
                 number(evaluation.test_loss)});
  }
  return with_from(from, std::move(columns));
}

}  // namespace

// Private parts of RunWatch are told by these.
struct RunWatch::Teller {
  const Run& run;

  [[nodiscard]] Json nodes() const {
    Columns columns(kNodeColumns);
    for (NodeIndex i = 0; i < run.known.size(); ++i) columns.add(node_row(run, i));
    return columns.take();
  }

  [[nodiscard]] Json links() const {
    std::vector<LinkIndex> all(run.tally.links().size());
    std::iota(all.begin(), all.end(), LinkIndex{0});
    Columns columns(kLinkColumns);
    for (const LinkIndex index : told_links(run, std::move(all))) columns.add(link_row(run, index));
    return columns.take();
  }

  [[nodiscard]] Json events(std::size_t from) const {
    const std::size_t begin = std::max(from, run.first_event);
    Columns columns{"time_s", "node", "text"};
    for (std::size_t i = begin - run.first_event; i < run.events.size(); ++i)
      columns.add({number(run.events[i].time_s), run.events[i].node, run.events[i].text});
    return with_from(begin, std::move(columns));
  }

  [[nodiscard]] Json picked_node(NodeIndex node) const {
    if (node >= run.node_rounds.size()) return nullptr;
    Columns columns{"round", "compute_s", "encode_s", "apply_s", "step_s", "wire_s", "wait_s"};
    for (const auto& [round, split] : run.node_rounds[node])
      columns.add({round, number(split.compute_s), number(split.encode_s), number(split.apply_s),
                   number(split.step_s), number(split.wire_s), number(split.wait_s)});
    Json json{{"node", node}};
    json.update(columns.take());
    return json;
  }

  [[nodiscard]] Json picked_link(LinkIndex link) const {
    if (link >= run.link_rounds.size()) return nullptr;
    Columns columns{"round", "rate_bits_per_s", "true_rate_bits_per_s",
                    "bytes", "budget_bytes",    "gain",
                    "busy"};
    for (const LinkRound& r : run.link_rounds[link])
      columns.add({r.round, number(r.rate_bits_per_s), number(r.true_rate_bits_per_s),
                   number(r.bytes), number(r.budget_bytes), number(r.gain), number(r.busy)});
    Json json{{"link", link}};
    json.update(columns.take());
    return json;
  }

  [[nodiscard]] Json over() const {
    const NodeTally* node = run.over();
    if (node == nullptr) return nullptr;
    return {{"outcome", outcome_name(node->end->outcome)},
            {"reason", reason_name(node->end->reason)},
            {"text", node->end->text}};
  }

  // Rounds that all nodes have ended whose records are here.
  [[nodiscard]] Round rounds() const {
    Round least = kNoRound;
    for (NodeIndex i = 0; i < run.known.size(); ++i)
      if (run.known[i]) least = std::min(least, run.tally.nodes()[i].trained);
    return least == kNoRound ? 0 : least;
  }

  // The newest that all nodes hold whose records are here.
  [[nodiscard]] Json checkpoint() const {
    std::optional<Round> least;
    for (NodeIndex i = 0; i < run.known.size(); ++i) {
      if (!run.known[i]) continue;
      if (!run.checkpoints[i]) return nullptr;
      least = std::min(least.value_or(kNoRound), *run.checkpoints[i]);
    }
    return least ? Json(*least) : Json(nullptr);
  }

  void add_figures(Json& json) const {
    const RoundRecord none;
    const RoundRecord& latest = run.tally.latest() ? *run.tally.latest() : none;
    json["round"] = rounds();
    json["seconds"] = number(run.tally.clock_s());
    json["rounds_per_s"] = number(run.tally.rounds_per_s());
    json["loss"] = run.tally.latest() ? number(latest.loss) : Json(nullptr);
    json["accuracy"] = number(latest.accuracy);
    json["test_loss"] = number(latest.test_loss);
    json["bytes_sent"] = run.tally.bytes_sent();
    json["bytes_dense"] = run.tally.bytes_dense();
    json["checkpoint"] = checkpoint();
    const Json policy = parse_json<Json>(latest.policy);
    json["policy"] = policy.is_discarded() ? Json(nullptr) : policy;
  }
};

std::string RunWatch::state(const StateRequest& request) const {
  const Run& run = *run_;
  const Teller teller{run};
  const auto& points = run.course.points();
  const Cursor now{run.life, run.course.generation(), run.first_event + run.events.size(),
                   run.course.evaluations().size(), points.empty() ? 0 : points.back().round};
  const auto since = parse_cursor(request.since);
  const bool whole = !since || since->life != now.life || since->generation != now.generation ||
                     since->event > now.event || since->evaluations > now.evaluations ||
                     since->round > now.round;
  const Cursor from = whole ? Cursor{} : *since;
  Json json{{"cursor", text_of(now)}, {"whole", whole}};
  if (whole) json["run"] = what_never_changes(run.history);
  json["reading"] = run.reading;
  json["over"] = teller.over();
  teller.add_figures(json);
  json["curve"] = curve_json(run.course, from.round);
  json["evaluations"] = evaluations_json(run.course, from.evaluations);
  json["nodes"] = teller.nodes();
  json["links"] = teller.links();
  json["events"] = teller.events(from.event);
  json["node"] = request.node ? teller.picked_node(*request.node) : Json(nullptr);
  json["link"] = request.link ? teller.picked_link(*request.link) : Json(nullptr);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace kimesh
