#include "kimesh/records/decision_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>

#include "json.h"
#include "kimesh/records/recorder.h"
#include "kimesh/records/run_folder.h"
#include "setting_json.h"

namespace kimesh {
namespace {

void put_channel(Json& json, const Plan& plan, ChannelIndex index) {
  const Channel& channel = plan.channels[index];
  json["to"] = plan.view.nodes[plan.links[channel.link].to];
  json["shard"] = channel.shard;
  json["phase"] = channel.phase == Phase::kReduce ? "reduce" : "gather";
}

void put_verdict(Json& json, const Verdict& verdict) {
  json["closing_round"] = verdict.closing_round;
  json["reason"] = reason_name(verdict.reason);
  json["loss"] = number(verdict.loss);
  json["accuracy"] = number(verdict.accuracy);
  json["accuracy_round"] = verdict.accuracy_round;
  json["test_loss"] = number(verdict.test_loss);
  json["compute_s"] = number(verdict.compute_s);
  json["evaluate_s"] = number(verdict.evaluate_s);
}

Json to_json(const Plan& plan, const Decision& decision) {
  Json json;
  const auto begin = [&](const char* kind) {
    json["kind"] = kind;
    json["round"] = decision.round;
  };
  switch (decision.kind) {
    case Decision::Kind::kSetting:
      begin("setting");
      put_channel(json, plan, decision.channel);
      put_setting(json, decision.setting);
      break;
    case Decision::Kind::kReset:
      begin("reset");
      put_channel(json, plan, decision.channel);
      break;
    case Decision::Kind::kClosing:
      begin("closing");
      put_verdict(json, decision.verdict);
      break;
    case Decision::Kind::kConfirmedStop:
      begin("poll_stop");
      put_verdict(json, decision.verdict);
      break;
    case Decision::Kind::kPace:
      begin("ahead");
      json["ahead"] = ahead_name(decision.verdict.ahead);
      json["local_steps"] = decision.verdict.local_steps;
      if (decision.verdict.mean_multiple > 1)
        json["mean_multiple"] = decision.verdict.mean_multiple;
      break;
    case Decision::Kind::kMultiple:
      begin("multiple");
      json["multiple"] = decision.multiple;
      break;
    case Decision::Kind::kCheckpoint:
      begin("checkpoint");
      break;
    case Decision::Kind::kResume:
      begin("resume");
      break;
  }
  return json;
}

constexpr std::string_view kEnding = ".jsonl";

// a.decisions.jsonl, 7 -> a.decisions.7.jsonl
std::string part_path(const std::string& path, unsigned number) {
  return fmt::format("{}.{}{}", path.substr(0, path.size() - kEnding.size()), number, kEnding);
}

// The numbers of the files that hold what came before `path`, ascending.
std::vector<unsigned> part_numbers(const std::string& path) {
  namespace fs = std::filesystem;
  std::vector<unsigned> numbers;
  const std::string name = fs::path(path).filename().string();
  const std::string head = name.substr(0, name.size() - kEnding.size()) + ".";
  std::error_code code;
  for (fs::directory_iterator entry(fs::path(path).parent_path(), code), end; !code && entry != end;
       entry.increment(code)) {
    const std::string other = entry->path().filename().string();
    if (!other.starts_with(head) || !other.ends_with(kEnding)) continue;
    if (other.size() < head.size() + kEnding.size()) continue;
    unsigned number = 0;
    const char* const digits_end = other.data() + other.size() - kEnding.size();
    const auto [stopped, wrong] = std::from_chars(other.data() + head.size(), digits_end, number);
    if (wrong == std::errc{} && stopped == digits_end) numbers.push_back(number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

using Place = std::pair<ChannelIndex, Round>;

class LoadedDecisions : public LoggedDecisions {
 public:
  [[nodiscard]] std::optional<Setting> setting(ChannelIndex channel, Round round) const override {
    return find(settings, {channel, round});
  }
  [[nodiscard]] bool reset(ChannelIndex channel, Round round) const override {
    return resets.contains({channel, round});
  }
  [[nodiscard]] std::optional<Verdict> closing(Round round) const override {
    return find(closings, round);
  }
  [[nodiscard]] std::optional<Verdict> confirmed_stop(Round round) const override {
    return find(confirmed_stops, round);
  }
  [[nodiscard]] std::optional<Pace> pace(Round round) const override { return find(paces, round); }
  [[nodiscard]] std::optional<unsigned> multiple(NodeIndex node, Round round) const override {
    return find(multiples, {node, round});
  }
  [[nodiscard]] bool checkpoint(Round round) const override { return checkpoints.contains(round); }

  std::map<Place, Setting> settings;
  std::set<Place> resets;
  std::map<Round, Verdict> closings, confirmed_stops;
  std::map<Round, Pace> paces;
  std::map<std::pair<NodeIndex, Round>, unsigned> multiples;
  std::set<Round> checkpoints;
  Round first = 0;

  [[nodiscard]] Round first_round() const override { return first; }

 private:
  template <typename Key, typename Value>
  static std::optional<Value> find(const std::map<Key, Value>& map, const Key& key) {
    const auto found = map.find(key);
    return found == map.end() ? std::nullopt : std::optional(found->second);
  }
};

// Adds the lines of one node's log to the decisions of all logs.
class LogReader {
 public:
  LogReader(const Plan& plan, NodeIndex self, LoadedDecisions& out)
      : plan_(plan), self_(self), out_(out) {}

  // Adds a line. Returns half a sentence when it is wrong, else nothing.
  std::string add_line(std::string_view line) {
    const Json json = parse_json<Json>(line);
    FieldReader fields(json);
    std::string kind;
    Round round = 0;
    fields.read("kind", kind);
    fields.read("round", round);
    if (!fields.ok()) return fields.complaint();
    if (kind == "setting") {
      add_setting(fields, round);
    } else if (kind == "reset") {
      if (const auto channel = channel_of(fields)) out_.resets.insert({*channel, round});
    } else if (kind == "closing" || kind == "poll_stop") {
      add_verdict(fields, round, kind == "closing" ? out_.closings : out_.confirmed_stops);
    } else if (kind == "ahead") {
      add_pace(fields, round);
    } else if (kind == "multiple") {
      add_multiple(fields, round);
    } else if (kind == "checkpoint") {
      add_checkpoint(fields, round);
    } else if (kind == "resume") {
      if (lines_ == 0) out_.first = std::max(out_.first, round);
      forget_from(round);
    } else if (kind == "begin") {
      if (lines_ == 0) out_.first = std::max(out_.first, round);
    } else {
      fields.complain("'" + kind + "' is no kind of decision");
    }
    ++lines_;
    return fields.complaint();
  }
  [[nodiscard]] std::size_t lines() const { return lines_; }

 private:
  std::optional<ChannelIndex> channel_of(FieldReader& fields) {
    std::string to, phase;
    ShardIndex shard = 0;
    fields.read("to", to);
    fields.read("shard", shard);
    fields.read("phase", phase);
    if (!fields.ok()) return std::nullopt;
    if (phase != "reduce" && phase != "gather") fields.complain("'" + phase + "' is no phase");
    const Phase wanted = phase == "reduce" ? Phase::kReduce : Phase::kGather;
    for (NodeIndex node = 0; node < plan_.view.nodes.size(); ++node) {
      if (plan_.view.nodes[node] != to) continue;
      const auto link = plan_.find_link(self_, node);
      const auto channel = link ? plan_.find_channel(*link, shard, wanted) : std::nullopt;
      if (channel && fields.ok()) return channel;
    }
    fields.complain(fmt::format("the plan has no channel {}->{}, shard {}, {}",
                                plan_.view.nodes[self_], to, shard, phase));
    return std::nullopt;
  }

  void add_setting(FieldReader& fields, Round round) {
    const auto channel = channel_of(fields);
    if (!channel) return;
    const Setting setting =
        read_setting(fields, plan_.shards[plan_.channels[*channel].shard].layers);
    const auto [it, is_new] = out_.settings.emplace(Place{*channel, round}, setting);
    if (!is_new && it->second != setting)
      fields.complain("this message's setting was another one before");
  }

  void add_pace(FieldReader& fields, Round round) {
    std::string name;
    unsigned steps = 1;
    double mean = 1;
    fields.read("ahead", name);
    if (fields.has("local_steps")) fields.read("local_steps", steps);
    if (fields.has("mean_multiple")) fields.read("mean_multiple", mean);
    if (!fields.ok()) return;
    const auto ahead = parse_ahead(name);
    if (!ahead) return fields.complain("'" + name + "' is no way to take gradients");
    if (plan_.shards.front().owner != self_)
      return fields.complain("only the owner of shard 0 decides how gradients are taken");
    if (steps < 1 || steps > kLocalStepsMax)
      return fields.complain(fmt::format("{} is no number of local steps", steps));
    if (!(mean >= 1 && mean <= kMultipleMax))
      return fields.complain(fmt::format("{} is no mean of multiples", mean));
    if (!out_.paces.emplace(round, Pace{0, *ahead, steps, mean}).second)
      fields.complain("this round's way to take gradients was told before");
  }

  void add_multiple(FieldReader& fields, Round round) {
    unsigned multiple = 1;
    fields.read("multiple", multiple);
    if (!fields.ok()) return;
    if (multiple < 1 || multiple > kMultipleMax)
      return fields.complain(fmt::format("{} is no multiple of the local steps", multiple));
    if (!out_.multiples.emplace(std::pair{self_, round}, multiple).second)
      fields.complain("this round's multiple was told before");
  }

  // What the node decided on this round and later ones is void: it went on from before.
  void forget_from(Round round) {
    const auto is_void = [&](const Place& place) {
      return place.second >= round && plan_.link_of(place.first).from == self_;
    };
    std::erase_if(out_.settings, [&](const auto& entry) { return is_void(entry.first); });
    std::erase_if(out_.resets, is_void);
    std::erase_if(out_.multiples, [&](const auto& entry) {
      return entry.first.first == self_ && entry.first.second >= round;
    });
    if (plan_.shards.front().owner != self_) return;
    const auto is_late = [&](const auto& entry) { return entry.first >= round; };
    std::erase_if(out_.closings, is_late);
    std::erase_if(out_.confirmed_stops, is_late);
    std::erase_if(out_.paces, is_late);
    std::erase_if(out_.checkpoints, [&](Round at) { return at >= round; });
  }

  void add_checkpoint(FieldReader& fields, Round round) {
    if (plan_.shards.front().owner != self_)
      return fields.complain("only the owner of shard 0 decides on checkpoints");
    if (!out_.checkpoints.insert(round).second)
      fields.complain("this round's checkpoint was told before");
  }

  void add_verdict(FieldReader& fields, Round round, std::map<Round, Verdict>& verdicts) {
    Verdict verdict;
    std::string reason;
    fields.read("closing_round", verdict.closing_round);
    fields.read("reason", reason);
    fields.read_or_nan("loss", verdict.loss);
    fields.read("accuracy", verdict.accuracy);
    fields.read("accuracy_round", verdict.accuracy_round);
    fields.read_or_nan("test_loss", verdict.test_loss);
    fields.read("compute_s", verdict.compute_s);
    fields.read("evaluate_s", verdict.evaluate_s);
    if (!parse_reason(reason)) fields.complain("'" + reason + "' is no reason");
    if (plan_.shards.front().owner != self_)
      fields.complain("only the owner of shard 0 decides on the end");
    if (!fields.ok()) return;
    verdict.reason = *parse_reason(reason);
    verdict.stop = &verdicts == &out_.confirmed_stops;
    verdicts.emplace(round, verdict);
  }

  const Plan& plan_;
  const NodeIndex self_;
  LoadedDecisions& out_;
  std::size_t lines_ = 0;
};

Status load_file(const std::string& path, LogReader& reader) {
  LineFollower lines(path);
  for (;;) {
    const auto line = lines.next();
    if (!line) return Error{ErrorCode::kUserInput, line.error().message};
    if (!*line) return ok_status();
    const std::string wrong = reader.add_line(**line);
    if (!wrong.empty())
      return Error{ErrorCode::kUserInput, fmt::format("{}:{}: {}", path, lines.line(), wrong)};
  }
}

Status load_log(const Plan& plan, NodeIndex node, const std::string& path, LoadedDecisions& out) {
  LogReader reader(plan, node, out);
  for (const unsigned number : part_numbers(path))
    if (Status loaded = load_file(part_path(path, number), reader); !loaded) return loaded;
  if (Status loaded = load_file(path, reader); !loaded) return loaded;
  if (reader.lines() > 0) return ok_status();
  return Error{ErrorCode::kUserInput,
               fmt::format("{} is missing or holds no decision; name the folder of a run with "
                           "these nodes",
                           path)};
}

}  // namespace

Result<DecisionLog> DecisionLog::create(const Plan& plan, std::string path, LineFile::Hold hold) {
  auto file = LineFile::create(path, hold);
  if (!file) return file.error();
  return DecisionLog(plan, std::move(path), std::move(*file));
}

Result<DecisionLog> DecisionLog::extend(const Plan& plan, std::string path, LineFile::Hold hold) {
  auto file = LineFile::extend(path, hold);
  if (!file) return file.error();
  DecisionLog log(plan, std::move(path), std::move(*file));
  if (const Status found = log.find_parts(); !found) return found.error();
  return log;
}

// Each file but the first begins with the round after the last one of the file before.
Status DecisionLog::find_parts() {
  const auto begin_of = [](const std::string& path) -> Round {
    const auto line = LineFollower(path).next();
    if (!line || !*line) return 0;
    const Json json = parse_json<Json>(**line);
    FieldReader fields(json);
    Round round = 0;
    fields.read("round", round);
    return fields.ok() ? round : 0;
  };
  for (const unsigned number : part_numbers(path_)) {
    next_number_ = number + 1;
    std::error_code code;
    const std::string path = part_path(path_, number);
    if (!parts_.empty()) parts_.back().ends = begin_of(path);
    parts_.push_back({path, std::filesystem::file_size(path, code), 0});
    if (code) return Error{ErrorCode::kIo, path + " cannot be read: " + code.message()};
  }
  if (!parts_.empty()) parts_.back().ends = begin_of(path_);
  return ok_status();
}

Status DecisionLog::begin_file(Round round, std::uint64_t bytes_max, Round kept) {
  Part full{part_path(path_, next_number_), file_.bytes(), round + 1};
  const auto moved = file_.move_to(full.path);
  if (!moved || !*moved) return moved ? ok_status() : Status(moved.error());
  parts_.push_back(std::move(full));
  ++next_number_;
  const Json begin = {{"kind", "begin"}, {"round", round + 1}};
  if (Status written = file_.append(text_of(begin)); !written) return written;
  std::uint64_t bytes = 0;
  for (const Part& part : parts_) bytes += part.bytes;
  while (!parts_.empty() && bytes > bytes_max && parts_.front().ends <= kept + 1) {
    bytes -= parts_.front().bytes;
    std::error_code ignored;  // it is tried again when the run goes on
    std::filesystem::remove(parts_.front().path, ignored);
    parts_.pop_front();
  }
  return file_.flush();
}

Status DecisionLog::write(const Decision& decision) {
  return file_.append(text_of(to_json(*plan_, decision)));
}

Result<std::unique_ptr<LoggedDecisions>> load_decisions(const Plan& plan,
                                                        const std::string& folder) {
  auto loaded = std::make_unique<LoadedDecisions>();
  const RunFolder run(folder);
  for (NodeIndex node = 0; node < plan.view.nodes.size(); ++node) {
    const Status status = load_log(plan, node, run.decisions(plan.view.nodes[node]), *loaded);
    if (!status.ok()) return status.error();
  }
  return std::unique_ptr<LoggedDecisions>(std::move(loaded));
}

}  // namespace kimesh
