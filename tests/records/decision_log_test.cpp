#include "kimesh/records/decision_log.h"

#include <gmock/gmock.h>

#include "kimesh/records/run_folder.h"
#include "tests/records/folder.h"
#include "tests/settings.h"

namespace kimesh::decision_log_test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

Decision setting(ChannelIndex channel, Round round, Setting value) {
  return {Decision::Kind::kSetting, round, channel, value, {}};
}

// Logs of a whole mesh, each decision in the file of the node that made it.
class Logs {
 public:
  explicit Logs(const Plan& plan) : plan_(plan), run_(folder_.path()) {
    std::filesystem::create_directories(folder_ / "nodes");
    for (const std::string& name : plan.view.nodes) {
      auto log = DecisionLog::create(plan, run_.decisions(name));
      EXPECT_TRUE(log.ok());
      logs_.push_back(std::move(*log));
    }
  }
  void write(NodeIndex node, const Decision& decision) {
    EXPECT_TRUE(logs_[node].write(decision).ok());
  }
  // The log of the channel's sender.
  void write(const Decision& decision) { write(plan_.link_of(decision.channel).from, decision); }
  Result<std::unique_ptr<LoggedDecisions>> load() {
    for (DecisionLog& log : logs_) EXPECT_TRUE(log.flush().ok());
    return load_decisions(plan_, folder_.path());
  }
  std::string path(const std::string& node) { return run_.decisions(node); }

 private:
  const Plan& plan_;
  test::Folder folder_;
  RunFolder run_;
  std::vector<DecisionLog> logs_;
};

// Seen to fail: with the phase left out of the lookup, gather settings replaced reduce settings.
TEST(DecisionLog, GivesBackEverySettingOfEveryChannel) {
  const Plan plan = test::small_plan(3);
  Logs logs(plan);
  const auto value = [&](ChannelIndex c, Round r) {
    const auto keep = 1 + (c + r) % static_cast<std::uint32_t>(plan.elements(c));
    const bool dense = (c + r) % 3 == 0;
    Setting s = dense ? Setting{} : topk_setting(keep);
    s.rotation = r;
    if (!dense && r == 1) {
      s.allocation = Allocation::kGlobal;
      s.floor = keep / 2;
    }
    if (!dense && r == 2) {
      s.allocation = Allocation::kListed;
      std::uint32_t left = keep;
      for (const LayerSlice& layer : plan.shards[plan.channels[c].shard].layers) {
        s.shares.push_back(std::min(left, static_cast<std::uint32_t>(layer.size)));
        left -= s.shares.back();
      }
    }
    if (r == 3) {
      s = setting_of("dzq", {}, Budget::bytes(4000 + c));
      s.floor = 1;
      s.rounding = Rounding::kNearest;
    }
    if (r == 4) {
      const std::string size = std::to_string(0.1 / static_cast<double>(c + 1));
      s = c % 2 == 0
              ? setting_of("threshold",
                           {{"threshold", size}, {"values", "bfloat16"}, {"indices", "packed"}})
              : setting_of("dzq", {{"step", size}});
    }
    return s;
  };
  for (Round r = 0; r < 5; ++r)
    for (ChannelIndex c = 0; c < plan.channels.size(); ++c) logs.write(setting(c, r, value(c, r)));
  const auto loaded = logs.load();
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  for (Round r = 0; r < 5; ++r)
    for (ChannelIndex c = 0; c < plan.channels.size(); ++c)
      EXPECT_EQ((*loaded)->setting(c, r), value(c, r)) << "channel " << c << " round " << r;
  EXPECT_EQ((*loaded)->setting(0, 5), std::nullopt);
}

TEST(DecisionLog, GivesBackResetsAndTheWordsOfTheEnd) {
  const Plan plan = test::small_plan();
  Logs logs(plan);
  for (ChannelIndex c = 0; c < plan.channels.size(); ++c) logs.write(setting(c, 0, Setting{}));
  logs.write({Decision::Kind::kReset, 4, 1, {}, {}});
  Verdict verdict;
  verdict.loss = 0.1 + 0.2;
  verdict.accuracy = 0.97;
  verdict.accuracy_round = 9;
  verdict.test_loss = 1.0 / 3;
  verdict.compute_s = 0.01;
  verdict.evaluate_s = 0.02;
  verdict.closing_round = 10;
  verdict.reason = StopReason::kAccuracy;
  logs.write(0, {Decision::Kind::kClosing, 9, 0, {}, verdict});
  verdict.stop = true;
  logs.write(0, {Decision::Kind::kConfirmedStop, 11, 0, {}, verdict});
  Verdict ahead;
  ahead.ahead = Ahead::kOverlaps;
  ahead.local_steps = 4;
  ahead.mean_multiple = 1 + 1.0 / 3;
  logs.write(0, {Decision::Kind::kPace, 7, 0, {}, ahead});
  logs.write(1, {Decision::Kind::kMultiple, 8, 0, {}, {}, 3});
  const auto loaded = logs.load();
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_TRUE((*loaded)->reset(1, 4));
  EXPECT_FALSE((*loaded)->reset(1, 3));
  EXPECT_FALSE((*loaded)->reset(0, 4));
  EXPECT_EQ((*loaded)->confirmed_stop(11), verdict);
  verdict.stop = false;
  EXPECT_EQ((*loaded)->closing(9), verdict);
  EXPECT_EQ((*loaded)->closing(10), std::nullopt);
  EXPECT_EQ((*loaded)->confirmed_stop(9), std::nullopt);
  EXPECT_EQ((*loaded)->pace(7), (Pace{0, Ahead::kOverlaps, 4, ahead.mean_multiple}));
  EXPECT_EQ((*loaded)->multiple(1, 8), 3u);
  EXPECT_EQ((*loaded)->multiple(0, 8), std::nullopt);
  EXPECT_EQ((*loaded)->pace(8), std::nullopt);
}

// A model that has diverged is evaluated, too.
// Seen to fail: a null that was refused.
TEST(DecisionLog, GivesBackLossesThatAreNotFiniteAsNaN) {
  const Plan plan = test::small_plan();
  Logs logs(plan);
  for (ChannelIndex c = 0; c < plan.channels.size(); ++c) logs.write(setting(c, 0, Setting{}));
  Verdict verdict;
  verdict.loss = std::nan("");
  verdict.test_loss = std::numeric_limits<double>::infinity();
  verdict.closing_round = 10;
  logs.write(0, {Decision::Kind::kClosing, 9, 0, {}, verdict});
  const auto loaded = logs.load();
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const auto closing = (*loaded)->closing(9);
  ASSERT_TRUE(closing);
  EXPECT_TRUE(std::isnan(closing->loss) && std::isnan(closing->test_loss));
  EXPECT_EQ(closing->closing_round, 10u);
}

std::string complaint_about(const std::string& line) {
  const Plan plan = test::small_plan();
  Logs logs(plan);
  for (ChannelIndex c = 0; c < plan.channels.size(); ++c) logs.write(setting(c, 0, Setting{}));
  EXPECT_TRUE(logs.load().ok());
  test::put(logs.path("b"), test::get(logs.path("b")) + line + "\n");
  const auto loaded = logs.load();
  if (loaded.ok()) return "none";
  EXPECT_EQ(loaded.error().code, ErrorCode::kUserInput);
  EXPECT_THAT(loaded.error().message, HasSubstr("/nodes/b.decisions.jsonl:"));
  return loaded.error().message;
}

TEST(DecisionLog, NamesFileAndLineOfWhatItCannotUse) {
  const auto with = [](const std::string& from, const std::string& to) {
    std::string line = R"({"kind":"setting","round":1,"to":"a","shard":0,"phase":"reduce",)"
                       R"("compressor":"topk","keep":2,"rotation":1})";
    return line.replace(line.find(from), from.size(), to);
  };
  EXPECT_EQ(complaint_about(with("2", "2")), "none");
  EXPECT_THAT(complaint_about("{"), EndsWith(".jsonl:3: it is no JSON object"));
  EXPECT_THAT(complaint_about(with("\"setting\"", "\"guess\"")),
              EndsWith("'guess' is no kind of decision"));
  EXPECT_THAT(complaint_about(with("\"to\":\"a\"", "\"to\":\"b\"")),
              EndsWith("the plan has no channel b->b, shard 0, reduce"));
  EXPECT_THAT(complaint_about(with("\"shard\":0", "\"shard\":1")),
              EndsWith("the plan has no channel b->a, shard 1, reduce"));
  EXPECT_THAT(complaint_about(with("reduce", "upward")), EndsWith("'upward' is no phase"));
  EXPECT_THAT(complaint_about(with("topk", "magic")), EndsWith("'magic' is no compressor"));
  EXPECT_THAT(complaint_about(with("\"keep\":2", "\"keep\":999")),
              EndsWith("'keep' is 999 of 12 elements"));
  EXPECT_THAT(complaint_about(with("\"keep\":2", "\"keep\":2,\"values\":\"float8\"")),
              EndsWith("'float8' is no 'values'"));
  EXPECT_THAT(complaint_about(with("\"keep\":2", "\"budget_bytes\":1")),
              EndsWith("'budget_bytes' holds no message"));
  EXPECT_THAT(complaint_about(with("\"topk\",\"keep\":2", "\"dzq\"")),
              EndsWith("dzq has neither a budget nor a size of its own"));
  EXPECT_THAT(complaint_about(with("\"topk\",\"keep\":2", "\"dzq\",\"step\":-1")),
              EndsWith("'step' is out of its range"));
  EXPECT_THAT(complaint_about(with("\"round\":1", "\"round\":0")),
              EndsWith("this message's setting was another one before"));
  EXPECT_THAT(complaint_about(with("\"round\":1", "\"round\":4294967296")),
              EndsWith("round is too large"));
  const std::string multiple = R"({"kind":"multiple","round":1,"multiple":3})";
  EXPECT_EQ(complaint_about(multiple), "none");
  EXPECT_THAT(complaint_about(multiple + "\n" + multiple),
              EndsWith("this round's multiple was told before"));
  for (const char* wrong : {"0", "5"})
    EXPECT_THAT(
        complaint_about(R"({"kind":"multiple","round":1,"multiple":)" + std::string(wrong) + "}"),
        EndsWith(std::string(wrong) + " is no multiple of the local steps"));
  EXPECT_THAT(complaint_about(R"({"kind":"closing","round":1,"closing_round":2,"reason":"rounds",)"
                              R"("loss":0,"accuracy":-1,"accuracy_round":0,"test_loss":0,)"
                              R"("compute_s":0,"evaluate_s":0})"),
              EndsWith("only the owner of shard 0 decides on the end"));
}

TEST(DecisionLog, NamesALogThatIsMissing) {
  const Plan plan = test::small_plan();
  Logs logs(plan);
  for (ChannelIndex c = 0; c < plan.channels.size(); ++c) logs.write(setting(c, 0, Setting{}));
  EXPECT_TRUE(logs.load().ok());
  std::filesystem::remove(logs.path("b"));
  const auto loaded = load_decisions(plan, std::filesystem::path(logs.path("b")).parent_path());
  ASSERT_FALSE(loaded.ok());
  EXPECT_THAT(loaded.error().message, HasSubstr("is missing or holds no decision"));
}

TEST(DecisionLog, SaysThatTheDiskIsFull) {
  const Plan plan = test::small_plan();
  auto log = DecisionLog::create(plan, "/dev/full");
  ASSERT_TRUE(log.ok());
  ASSERT_TRUE(log->write(setting(0, 0, Setting{})).ok());
  EXPECT_FALSE(log->flush().ok());
  EXPECT_FALSE(log->write(setting(0, 1, Setting{})).ok());
}

// A run that went on from round 5: what was decided on it before, and on later ones, is void, of
// this node alone. Seen to fail: without it the second setting of a round was refused.
TEST(DecisionLog, ForgetsWhatWasDecidedBeforeTheRunWentOn) {
  const Plan plan = test::small_plan(2);
  Logs logs(plan);
  const ChannelIndex of_a = *plan.node_channels[1][0].reduce_out;
  const ChannelIndex of_b = *plan.node_channels[0][1].reduce_out;
  for (const Round round : {4u, 5u, 6u}) {
    logs.write(setting(of_a, round, topk_setting(2)));
    logs.write(setting(of_b, round, topk_setting(2)));
    logs.write(0, {Decision::Kind::kCheckpoint, round, 0, {}, {}});
  }
  logs.write(0, {Decision::Kind::kResume, 5, 0, {}, {}});
  logs.write(setting(of_a, 5, topk_setting(3)));
  const auto decisions = logs.load();
  ASSERT_TRUE(decisions.ok()) << decisions.error().message;
  EXPECT_EQ((*decisions)->setting(of_a, 4), topk_setting(2));
  EXPECT_EQ((*decisions)->setting(of_a, 5), topk_setting(3));
  EXPECT_EQ((*decisions)->setting(of_a, 6), std::nullopt);
  EXPECT_EQ((*decisions)->setting(of_b, 6), topk_setting(2));
  EXPECT_TRUE((*decisions)->checkpoint(4));
  EXPECT_FALSE((*decisions)->checkpoint(5));
}

// Seen to fail where files were removed that a replay from the oldest checkpoint needs, where none
// was, and where a log that goes on forgot those of before.
void expect_kept(std::uint64_t most, std::uint64_t bytes_max) {
  SCOPED_TRACE(most);
  const Plan plan = test::small_plan(2);
  const test::Folder folder;
  std::filesystem::create_directories(folder / "nodes");
  const RunFolder run(folder.path());
  constexpr Round kEvery = 10, kRounds = 100;
  const auto mine = [&](NodeIndex node) {
    for (ChannelIndex c = 0; c < plan.channels.size(); ++c)
      if (plan.link_of(c).from == node) return c;
    return ChannelIndex{0};
  };
  for (NodeIndex node = 0; node < 2; ++node) {
    auto log = DecisionLog::create(plan, run.decisions(plan.view.nodes[node]));
    ASSERT_TRUE(log.ok());
    for (Round round = 0; round < kRounds; ++round) {
      Decision decision;
      decision.channel = mine(node);
      decision.round = round;
      decision.setting = topk_setting(1 + round % 2);
      ASSERT_TRUE(log->write(decision).ok());
      if ((round + 1) % kEvery != 0) continue;
      // Two checkpoints are kept, of which this round's is one.
      const Round oldest = round >= kEvery ? round - kEvery : 0;
      if (log->is_full(most)) {
        ASSERT_TRUE(log->begin_file(round, most, oldest).ok());
      }
      ASSERT_TRUE(log->flush().ok());
      auto again = DecisionLog::extend(plan, run.decisions(plan.view.nodes[node]));
      ASSERT_TRUE(again.ok());
      *log = std::move(*again);
    }
  }
  std::uint64_t bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder / "nodes"))
    bytes += file.file_size();
  EXPECT_LT(bytes, 2 * bytes_max);
  const auto loaded = load_decisions(plan, folder.path());
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const Round first = (*loaded)->first_round();
  EXPECT_GT(first, 0u);
  EXPECT_EQ(first % kEvery, 0u);
  EXPECT_LE(first, kRounds - kEvery);
  for (Round round = 0; round < kRounds; ++round)
    EXPECT_EQ((*loaded)->setting(mine(0), round).has_value(), round >= first) << round;
}

TEST(DecisionLog, KeepsInFilesWhatFollowsTheOldestCheckpoint) {
  expect_kept(4000, 5000);
  expect_kept(400, 2500);  // the decisions since then are more than it may take
}

TEST(DecisionLog, OfARunThatWentOnElsewhereBeginsThere) {
  const Plan plan = test::small_plan(2);
  Logs logs(plan);
  for (NodeIndex node = 0; node < 2; ++node) {
    Decision resume;
    resume.kind = Decision::Kind::kResume;
    resume.round = 60;
    logs.write(node, resume);
  }
  EXPECT_EQ((*logs.load())->first_round(), 60u);
}

}  // namespace
}  // namespace kimesh::decision_log_test
