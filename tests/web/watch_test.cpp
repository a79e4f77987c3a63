// The state of a run against its records.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "kimesh/records/text_file.h"
#include "kimesh/web/page.h"
#include "tests/report/simulated_run.h"

namespace kimesh::watch_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::SizeIs;

const std::vector<std::string> kNames{"a", "b", "c", "d"};

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::unique_ptr<RunWatch> watch_of(const std::string& folder) {
  auto run = load_run(folder);
  EXPECT_TRUE(run.ok()) << (run.ok() ? "" : run.error().message);
  static std::uint64_t lives = 0;
  return std::make_unique<RunWatch>(std::move(*run), ++lives);
}

json state_of(RunWatch& watch, const std::string& since = "") {
  json state;
  do {
    watch.read();
    state = json::parse(watch.state({since, NodeIndex{1}, LinkIndex{2}}));
  } while (state["reading"] == true);
  return state;
}

// What a page does with an answer (page/live.js).
void splice(json& columns, const json& next, std::size_t stays) {
  for (const auto& [key, column] : next.items()) {
    if (key == "from") continue;
    json& old = columns[key];
    json made = json::array();
    for (std::size_t i = 0; i < stays; ++i) made.push_back(old[i]);
    made.insert(made.end(), column.begin(), column.end());
    old = made;
  }
}

void merge(json& page, const json& next) {
  if (next["whole"] == true) {
    page = next;
    return;
  }
  json merged = next;
  const Round from = next["curve"]["from"];
  std::size_t stays = 0;
  for (const json& round : page["curve"]["round"])
    if (round < from) ++stays;
  merged["curve"] = page["curve"];
  splice(merged["curve"], next["curve"], stays);
  merged["evaluations"] = page["evaluations"];
  splice(merged["evaluations"], next["evaluations"], next["evaluations"]["from"]);
  const std::size_t first = page["events"]["from"], number = next["events"]["from"];
  merged["events"] = page["events"];
  splice(merged["events"], next["events"], number - first);
  merged["run"] = page["run"];
  merged["whole"] = true;
  page = merged;
}

class Watch : public testing::Test {
 protected:
  void simulate(unsigned rounds, const std::string& compression =
                                     "{policy: kimad, compressor: "
                                     "topk}\nround_time: 20ms") {
    test::RunSpec spec;
    spec.rounds = rounds;
    spec.compression = compression;
    test::simulate_run(spec, run_);
  }
  [[nodiscard]] std::string events(const std::string& node) const {
    return RunFolder(run_).events(node);
  }
  [[nodiscard]] std::vector<json> rounds_of(const std::string& node) const {
    std::vector<json> rounds;
    for (const std::string& line : lines_of(events(node))) {
      const json record = json::parse(line);
      if (record["event"] == "round" && record["poll"] == false) rounds.push_back(record);
    }
    return rounds;
  }

  test::Folder folder_;
  const std::string run_ = folder_.path() + "/run";
};

void expect_near(const json& told, double wanted, const std::string& what) {
  EXPECT_NEAR(told.get<double>(), wanted, 6e-4 * std::abs(wanted)) << what;
}

// Seen to fail: a group that had grown was not told again; a forgotten generation.
TEST_F(Watch, IncrementsEqualTheWhole) {
  simulate(1400);  // longer than the curve has points, twice
  std::vector<std::vector<std::string>> lines;
  for (const std::string& name : kNames) {
    lines.push_back(lines_of(events(name)));
    std::ofstream(events(name), std::ios::trunc).flush();
  }
  const auto watch = watch_of(run_);
  json page = state_of(*watch);
  std::size_t wholes = 0, at = 0;
  for (const std::size_t step : {1u, 3u, 200u, 7u, 310u, 1u, 1u, 300u, 2u, 500u, 1000u}) {
    for (std::size_t i = 0; i < kNames.size(); ++i) {
      std::ofstream file(events(kNames[i]), std::ios::app);
      for (std::size_t l = at; l < std::min(at + step, lines[i].size()); ++l)
        file << lines[i][l] << "\n";
    }
    at += step;
    const json next = state_of(*watch, page["cursor"]);
    if (next["whole"] == true) ++wholes;
    merge(page, next);
    ASSERT_EQ(page, state_of(*watch)) << "after " << at << " lines";
  }
  EXPECT_GE(at, lines[0].size());
  EXPECT_GE(wholes, 1u);
  EXPECT_LE(wholes, 3u);
  EXPECT_LE(page["curve"]["round"].size(), 512u);
}

TEST_F(Watch, TellsWhatTheRecordsSay) {
  simulate(60);
  const json state = state_of(*watch_of(run_));
  EXPECT_EQ(state["round"], 60);
  EXPECT_EQ(state["over"]["outcome"], "done");
  EXPECT_EQ(state["run"]["nodes"], json(kNames));
  EXPECT_EQ(state["run"]["links"], (json{{0, 1}, {1, 2}, {2, 3}, {3, 0}}));
  const std::vector<json> a = rounds_of("a");
  ASSERT_THAT(a, SizeIs(60));
  ASSERT_THAT(state["curve"]["loss"], SizeIs(60));
  for (std::size_t i = 0; i < a.size(); ++i)
    expect_near(state["curve"]["loss"][i], a[i]["loss"], "loss of round " + std::to_string(i));
  std::uint64_t sent = 0;
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const json& links = state["links"];
    const json last = rounds_of(kNames[i]).back()["links"][0];
    EXPECT_EQ(links["bytes"][i], last["bytes"]);
    EXPECT_EQ(links["budget_bytes"][i], last["budget_bytes"]);
    expect_near(links["rate_bits_per_s"][i], last["rate_bits_per_s"], "rate");
    expect_near(links["rate_error"][i], last["rate_error"], "its error");
    expect_near(links["gain"][i], last["gain"], "gain");
    for (const json& round : rounds_of(kNames[i])) sent += round["links"][0]["bytes"].get<int>();
  }
  EXPECT_EQ(state["bytes_sent"], sent);
}

// A program that brings its own loop may not tell the loss, and one that diverges has none.
// Seen to fail: a mean that one round without a loss makes unknown.
TEST_F(Watch, LossesThatAreUnknownAreNull) {
  simulate(1400);
  std::vector<std::string> lines = lines_of(events("a"));
  std::ofstream file(events("a"), std::ios::trunc);
  for (const std::string& line : lines) {
    NodeRecord record = parse_record(line).value();
    if (auto* round = std::get_if<RoundRecord>(&record))
      if (round->round % 2 == 0 || round->round > 700) round->loss = std::nan("");
    file << to_line(record) << "\n";
  }
  file.close();
  const json curve = state_of(*watch_of(run_))["curve"];
  for (std::size_t i = 0; i < curve["round"].size(); ++i)
    EXPECT_EQ(curve["loss"][i].is_number(), curve["round"][i] < 700) << curve["round"][i];
}

// All that a node does in a round, and what is left of it, is the round.
TEST_F(Watch, TimesOfARoundAddUpToIt) {
  simulate(30);
  const json node = state_of(*watch_of(run_))["node"];
  const std::vector<json> b = rounds_of("b");
  EXPECT_EQ(node["node"], 1);
  ASSERT_THAT(node["round"], SizeIs(30));
  ASSERT_THAT(b, SizeIs(30));
  for (std::size_t i = 0; i < b.size(); ++i) {
    double sum = 0;
    for (const char* part : {"compute_s", "encode_s", "apply_s", "step_s", "wire_s", "wait_s"})
      sum += node[part][i].get<double>();
    EXPECT_NEAR(sum, b[i]["round_s"], 2e-3 * b[i]["round_s"].get<double>()) << i;
    EXPECT_GT(node["wire_s"][i], 0) << i;
  }
}

// Seen to fail: rounds that were repeated stayed.
TEST_F(Watch, WhatAResumeMakesVoidIsForgotten) {
  simulate(40);
  const auto watch = watch_of(run_);
  const json before = state_of(*watch);
  std::ofstream(events("a"), std::ios::app) << to_line(StartRecord{0, "a", "1"}) << "\n"
                                            << to_line(ResumeRecord{0.5, 30}) << "\n";
  const json after = state_of(*watch, before["cursor"]);
  EXPECT_EQ(after["whole"], true);
  EXPECT_THAT(after["curve"]["round"], SizeIs(30));
  EXPECT_EQ(after["over"], nullptr);
  EXPECT_EQ(after["checkpoint"], nullptr) << "b, c and d hold none";
  EXPECT_THAT(after["events"]["text"].dump(), HasSubstr("goes on with round 30"));
}

TEST_F(Watch, ALineThatIsDamagedIsAnEventAndOthersAreRead) {
  simulate(20);
  std::vector<std::string> lines = lines_of(events("b"));
  lines[5] = "{";
  std::ofstream file(events("b"), std::ios::trunc);
  for (const std::string& line : lines) file << line << "\n";
  file.close();
  const json state = state_of(*watch_of(run_));
  EXPECT_EQ(state["nodes"]["rounds"], (json{20, 19, 20, 20}));
  EXPECT_THAT(state["events"]["text"].dump(), HasSubstr(":6: "));
}

// Where each machine has its own node's files.
TEST_F(Watch, NodesWithoutFilesAreUnknown) {
  simulate(20);
  for (const char* name : {"a", "b", "d"}) std::filesystem::remove(events(name));
  const json state = state_of(*watch_of(run_));
  EXPECT_EQ(state["nodes"]["known"], (json{false, false, true, false}));
  EXPECT_EQ(state["round"], 20);
  EXPECT_GT(state["rounds_per_s"], 0);
  EXPECT_THAT(state["curve"]["loss"], SizeIs(20));
  EXPECT_EQ(state["over"]["outcome"], "done");
}

// The page of another run may have been at this address.
TEST_F(Watch, CursorsOfAnotherWatchGetTheWhole) {
  simulate(20);
  const json before = state_of(*watch_of(run_));
  const auto watch = watch_of(run_);
  EXPECT_EQ(state_of(*watch, before["cursor"])["whole"], true);
  EXPECT_EQ(state_of(*watch, state_of(*watch)["cursor"])["whole"], false);
}

// A node that holds a newer one than the others removes it when all go on.
TEST_F(Watch, ACheckpointIsToldThatAllNodesHold) {
  simulate(1);
  const auto write = [&](const std::string& node, Round round, bool checkpoint) {
    RoundRecord record;
    record.round = round;
    record.checkpoint = checkpoint;
    std::ofstream(events(node), std::ios::app) << to_line(record) << "\n";
  };
  for (const std::string& name : kNames) std::ofstream(events(name), std::ios::trunc).flush();
  const auto watch = watch_of(run_);
  for (const std::string& name : kNames) write(name, 9, true);
  EXPECT_EQ(state_of(*watch)["checkpoint"], 9);
  for (const char* name : {"a", "b", "c"}) write(name, 19, true);
  EXPECT_EQ(state_of(*watch)["checkpoint"], 9);
  write("d", 19, true);
  EXPECT_EQ(state_of(*watch)["checkpoint"], 19);
  for (const std::string& name : kNames)
    std::ofstream(events(name), std::ios::app) << to_line(ResumeRecord{0.5, 10}) << "\n";
  EXPECT_EQ(state_of(*watch)["checkpoint"], 9);
}

// Seen to fail: links of nodes that are known elsewhere were not told.
TEST_F(Watch, DigestsOfOtherPagesFillInTheirNodes) {
  simulate(20);
  const json whole = state_of(*watch_of(run_));
  const std::string other = folder_ / "other";
  std::filesystem::copy(run_, other, std::filesystem::copy_options::recursive);
  for (const char* name : {"b", "c", "d"}) std::filesystem::remove(events(name));
  std::filesystem::remove(RunFolder(other).events("a"));
  const auto of_a = watch_of(run_), of_others = watch_of(other);
  state_of(*of_others);
  const std::string digest = of_others->digest();
  EXPECT_LT(digest.size(), 3u * (300 + 150)) << "of three nodes with a link each";
  EXPECT_EQ(state_of(*of_a)["nodes"]["known"], (json{true, false, false, false}));
  of_a->hear(0, digest);
  const json told = state_of(*of_a);
  EXPECT_EQ(told["nodes"], whole["nodes"]);
  EXPECT_EQ(told["links"], whole["links"]);
  of_a->hear(1, "");
  EXPECT_EQ(state_of(*of_a)["nodes"], whole["nodes"]);
  of_a->hear(0, "");
  EXPECT_EQ(state_of(*of_a)["nodes"]["known"], (json{true, false, false, false}));
}

// Seen to fail: links beyond the limit.
TEST_F(Watch, ADigestOfManyLinksTellsThoseWithMostBytes) {
  constexpr std::size_t kNodes = 40;
  simulate(1);
  RunHistory run = load_run(run_).value();
  run.topology = test::topology_of(kNodes, "parameter_server");
  for (std::size_t i = 0; i < kNodes; ++i) run.topology.nodes[i].name = "n" + std::to_string(i);
  run.plan = make_plan(run.topology, Layout::vector(2000)).value();
  for (std::size_t from = 0; from < kNodes; ++from) {
    RoundRecord record;
    for (std::size_t to = 0; to < kNodes; ++to) {
      if (from == to) continue;
      record.links.emplace_back().to = run.plan.view.nodes[to];
      record.links.back().bytes = 1 + 1000 * from + to;
    }
    std::ofstream(events(run.plan.view.nodes[from]), std::ios::trunc) << to_line(record) << "\n";
  }
  RunWatch watch(std::move(run), 1);
  state_of(watch);
  const std::string digest = watch.digest();
  EXPECT_LE(digest.size(), kDigestBytesMax);
  EXPECT_GT(digest.size(), kDigestBytesMax * 9 / 10);
  const json told = json::parse(digest);
  EXPECT_THAT(told["nodes"], SizeIs(kNodes));
  ASSERT_LT(told["links"].size(), kNodes * (kNodes - 1));
  for (std::size_t i = 0; i < told["links"].size(); ++i)
    EXPECT_EQ(told["links"][i][0], kNodes * (kNodes - 1) - 1 - i) << "the last ones send most";
}

TEST_F(Watch, WhatIsNoDigestChangesNothing) {
  simulate(20);
  std::filesystem::remove(events("d"));
  const auto watch = watch_of(run_);
  const json before = state_of(*watch);
  for (const char* wrong :
       {"", "{", "[]", "{\"nodes\":[[3,[]]]}", "{\"nodes\":[[3,{}]],\"links\":{}}",
        "{\"nodes\":[[4,[true,1,null,0,0,0,0,0,0]]]}",
        "{\"nodes\":[[-1,[true,1,null,0,0,0,0,0,0]]]}",
        "{\"nodes\":[[3,[true,1,\"a text that is too long\",0,0,0,0,0,0]]]}",
        "{\"nodes\":[[3,[true,1,[],0,0,0,0,0,0]]]}", "{\"nodes\":[[0,[true,1,null,0,0,0,0,0,0]]]}",
        "{\"links\":[[],[9],[3]]}", "{\"links\":[[0,1,1,false,1,1,1,1,1,1,1,1,1]]}"}) {
    watch->hear(0, wrong);
    EXPECT_EQ(state_of(*watch), before) << wrong;
  }
}

TEST_F(Watch, CursorsOfNobodyGetTheWhole) {
  simulate(20);
  const auto watch = watch_of(run_);
  const std::string cursor = state_of(*watch)["cursor"];
  const std::string life = cursor.substr(0, cursor.find('.') + 1);
  for (const char* since : {"1", "0.0.0", "x.0.0.0", "0.0.0.0.0", "9.0.0.0", "0.99999999999.0.0",
                            "0.0.99.0", "0.0.0.99", "0.99.0.0", "-1.0.0.0", "0.0.0."})
    EXPECT_EQ(state_of(*watch, life + since)["whole"], true) << since;
  EXPECT_EQ(state_of(*watch, life + "0.0.0.0")["whole"], false);
}

// No part of it comes from elsewhere, and it is small.
TEST(Page, IsOneFileWithoutOutsideParts) {
  std::string page = page_html();
  EXPECT_LT(page.size(), 300'000u);
  const std::string names = "http://www.w3.org/2000/svg";  // a name, which nobody fetches
  for (std::size_t at = 0; (at = page.find(names)) != std::string::npos;) page.erase(at, 10);
  for (const char* outside : {"http:", "https:", "src=", "@import", "url("})
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
}

TEST(Page, BeyondLoopbackNeedsAToken) {
  const auto refused = listen_for_page("0.0.0.0:0", "");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUserInput);
  EXPECT_THAT(refused.error().message, HasSubstr("--web-token"));
  EXPECT_TRUE(listen_for_page("localhost:0", "").ok());
  EXPECT_THAT(listen_for_page("nowhere", "").error().message, HasSubstr("is no address"));
  EXPECT_THAT(listen_for_page("127.0.0.1:0", "nothing/token").error().message,
              HasSubstr("cannot be read"));
}

}  // namespace
}  // namespace kimesh::watch_test
