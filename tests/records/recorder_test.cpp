#include "kimesh/records/recorder.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/records/folder.h"

namespace kimesh::recorder_test {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

RoundRecord a_round() {
  RoundRecord round;
  round.time_s = 12.5;
  round.round = 7;
  round.loss = 0.1 + 0.2;  // a value that must come back bit by bit
  round.own_loss = 1e-300;
  round.accuracy = 0.975;
  round.accuracy_round = 5;
  round.test_loss = 2.5;
  round.compute_s = 0.01;
  round.wait_s = 0.25;
  round.round_s = 0.26;
  round.evaluate_max_s = 0.5;
  round.residual_energy = 0.125;
  round.residual_share = 0.5;
  round.links.push_back(
      {"b", 5e5, 0.02, 4.9e5, true, 0.001, 1000, 990, 120, 2400, 0.4, 0.2, 0.75, 0.5});
  round.links.push_back({"c", {}, {}, {}, false, 0, 0, 0, 0, 0, 0, 0, {}, {}});
  round.layers = {0.125, {}, 1.0};
  round.digests = {{0, 0x0123456789abcdef}, {3, 1}};
  return round;
}

template <typename Record>
void expect_round_trip(const Record& record) {
  const auto back = parse_record(to_line(record));
  ASSERT_TRUE(back.ok()) << back.error().message;
  ASSERT_TRUE(std::holds_alternative<Record>(*back));
  EXPECT_EQ(std::get<Record>(*back), record) << to_line(record);
}

TEST(NodeRecord, ComesBackAsItWasWritten) {
  RoundRecord closing;
  closing.closing = true;
  expect_round_trip(closing);
  expect_round_trip(StartRecord{0, "a", "0.1.0"});
  expect_round_trip(a_round());
  expect_round_trip(RoundRecord{});
  RoundRecord text = a_round();
  add_perplexity(text);
  expect_round_trip(text);
  expect_round_trip(EndRecord{9, Outcome::kDone, StopReason::kLoss, "", 12, 8.5, {}});
  expect_round_trip(NoticeRecord{1.5, "waiting for b (\"tcp://x\"):\n 5 s"});
  expect_round_trip(EndRecord{9, Outcome::kStopped, StopReason::kWish, "Ctrl-C", 12, 8.5, {}});
  expect_round_trip(
      EndRecord{9, Outcome::kDone, StopReason::kAccuracy, "", 12, 8.5, {{"b", 1, 2, 3, 4, 5, 6}}});
}

// The fields are settled for good: this line changes by additions only.
TEST(NodeRecord, WritesARoundWithTheseFields) {
  EXPECT_EQ(
      to_line(a_round()),
      R"({"event":"round","time_s":12.5,"round":7,"poll":false,"loss":0.30000000000000004,)"
      R"("own_loss":1e-300,"accuracy":0.975,"accuracy_round":5,"test_loss":2.5,"compute_s":0.01,)"
      R"("evaluate_s":0.0,"encode_s":0.0,"apply_s":0.0,"step_s":0.0,"wait_s":0.25,"round_s":0.26,)"
      R"("evaluate_max_s":0.5,"residual_energy":0.125,"residual_share":0.5,)"
      R"("links":[{"to":"b","rate_bits_per_s":500000.0,"rate_error":0.02,)"
      R"("rate_is_lower_bound":true,)"
      R"("true_rate_bits_per_s":490000.0,"fixed_cost_s":0.001,"budget_bytes":1000,"bytes":990,)"
      R"("kept":120,"elements":2400,"gain":0.4,"reduce_contraction":0.75,"gather_contraction":0.5,)"
      R"("wire_s":0.2},{"to":"c","rate_bits_per_s":null,)"
      R"("rate_error":null,"fixed_cost_s":0.0,"budget_bytes":0,"bytes":0,"kept":0,"elements":0,)"
      R"("gain":0.0,"wire_s":0.0}],"layers":[0.125,null,1.0],)"
      R"("digests":[{"shard":0,"digest":"0123456789abcdef"},)"
      R"({"shard":3,"digest":"0000000000000001"}]})");
}

// Seen to fail: texts in place of null; a null that was refused.
TEST(NodeRecord, WritesWhatIsNotFiniteAsNull) {
  for (const double value : {kInfinity, -kInfinity, std::nan("")}) {
    RoundRecord round = a_round();
    round.loss = round.own_loss = value;
    round.test_loss = value;
    add_perplexity(round);
    round.perplexity = kInfinity;
    const std::string line = to_line(round);
    EXPECT_THAT(line, HasSubstr(R"("loss":null,"own_loss":null,)"));
    EXPECT_THAT(line, HasSubstr(R"("test_loss":null,"perplexity":null,)"));
    const auto back = parse_record(line);
    ASSERT_TRUE(back.ok()) << back.error().message;
    const auto& read = std::get<RoundRecord>(*back);
    EXPECT_TRUE(std::isnan(read.loss) && std::isnan(read.own_loss));
    EXPECT_FALSE(read.test_loss || read.perplexity);
    EXPECT_EQ(read.accuracy, round.accuracy);
  }
}

// They wrote texts.
TEST(NodeRecord, ReadsLossesOfEarlierVersions) {
  std::string line = to_line(a_round());
  for (const std::string field : {"loss", "own_loss", "test_loss"}) {
    const std::size_t begin = line.find("\"" + field + "\":") + field.size() + 3;
    line.replace(begin, line.find(',', begin) - begin, "\"-inf\"");
  }
  const auto back = parse_record(line);
  ASSERT_TRUE(back.ok()) << back.error().message;
  const auto& read = std::get<RoundRecord>(*back);
  EXPECT_TRUE(std::isnan(read.loss) && std::isnan(read.own_loss));
  EXPECT_FALSE(read.test_loss);
}

TEST(NodeRecord, WritesWordsThatAreNoUtf8) {
  const auto back = parse_record(to_line(NoticeRecord{0, "bad \xff byte"}));
  ASSERT_TRUE(back.ok());
  EXPECT_THAT(std::get<NoticeRecord>(*back).text, HasSubstr("bad "));
}

TEST(NodeRecord, SaysWhatIsWrongWithALine) {
  const auto complaint = [](const std::string& line) {
    const auto record = parse_record(line);
    return record.ok() ? "none" : record.error().message;
  };
  EXPECT_EQ(complaint("{\"event\":"), "it is no JSON object");
  EXPECT_EQ(complaint("[]"), "it is no JSON object");
  EXPECT_EQ(complaint("{}"), "'event' is missing or of another kind");
  EXPECT_EQ(complaint(R"({"event":"dance"})"), "'dance' is no event");
  EXPECT_EQ(complaint(R"({"event":"notice","time_s":"x","text":""})"), "'time_s' is no number");
  EXPECT_EQ(complaint(R"({"event":"notice","time_s":1,"text":4})"),
            "'text' is missing or of another kind");
  EXPECT_EQ(complaint(R"({"event":"notice","time_s":null,"text":""})"), "'time_s' is missing");
  EXPECT_EQ(complaint(R"({"event":"end","time_s":1,"outcome":"well","reason":"none","text":"",)"
                      R"("rounds":1,"seconds":1})"),
            "'well' is no outcome");
  std::string line = to_line(a_round());
  line.replace(line.find("\"kept\":120"), 10, "\"kept\":-20");
  EXPECT_EQ(complaint(line), "links: 'kept' is missing or of another kind");
}

TEST(NodeRecord, TakesFieldsOfALaterVersion) {
  EXPECT_TRUE(parse_record(R"({"event":"notice","time_s":1,"text":"","mood":[1]})").ok());
}

RoundReport a_report() {
  RoundReport report;
  report.round = 3;
  report.begun = TimePoint(milliseconds(1'000));
  report.ended = TimePoint(milliseconds(1'500));
  report.compute = milliseconds(100);
  report.evaluate = milliseconds(50);
  report.verdict.loss = 2;
  report.verdict.evaluate_s = 0.06;
  report.links.resize(1);
  return report;
}

TEST(RoundRecord, TellsTimesSinceTheOrigin) {
  const Plan plan = test::small_plan();
  const RoundRecord record =
      make_round_record(plan, test::topology_of(2), 0, TimePoint(milliseconds(500)), a_report());
  EXPECT_DOUBLE_EQ(record.time_s, 1.0);
  EXPECT_DOUBLE_EQ(record.round_s, 0.5);
  EXPECT_DOUBLE_EQ(record.wait_s, 0.35);
  EXPECT_DOUBLE_EQ(record.evaluate_max_s, 0.06);
  EXPECT_EQ(record.links.at(0).to, "b");
}

TEST(RoundRecord, HasNoAccuracyAndNoRateBeforeTheyAreKnown) {
  const Plan plan = test::small_plan();
  RoundReport report = a_report();
  RoundRecord record = make_round_record(plan, test::topology_of(2), 0, TimePoint{}, report);
  EXPECT_FALSE(record.accuracy || record.accuracy_round || record.test_loss);
  add_perplexity(record);
  EXPECT_FALSE(record.perplexity);
  EXPECT_FALSE(record.links[0].rate_bits_per_s || record.links[0].rate_error);
  report.verdict.accuracy = 0.5;
  report.verdict.accuracy_round = 0;
  report.verdict.test_loss = 2;
  report.links[0].bytes_per_s = 1'000;
  record = make_round_record(plan, test::topology_of(2), 0, TimePoint{}, report);
  EXPECT_EQ(record.accuracy, 0.5);
  EXPECT_EQ(record.test_loss, 2);
  EXPECT_FALSE(record.perplexity) << "not every model scores tokens";
  add_perplexity(record);
  EXPECT_DOUBLE_EQ(*record.perplexity, std::exp(2.0));
  EXPECT_EQ(record.links[0].rate_bits_per_s, 8'000);
}

// Seen to fail: with the uplink left out, the second expectation gave 4 Mbit/s.
TEST(RoundRecord, TellsTheEmulatedRateOfItsMomentAtMostTheUplink) {
  const Plan plan = test::small_plan();
  TopologyFile topology = test::topology_of(2);
  const auto rate = [&] {
    return make_round_record(plan, topology, 0, TimePoint(milliseconds(500)), a_report())
        .links[0]
        .true_rate_bits_per_s;
  };
  EXPECT_EQ(rate(), std::nullopt);
  topology.default_link.rate = RateTrace{{{0, 1e6}, {1.0, 4e6}, {2.0, 1e6}}};
  EXPECT_EQ(rate(), 4e6);
  topology.nodes[0].uplink_bits_per_s = 3e6;
  EXPECT_EQ(rate(), 3e6);
  topology.default_link.rate.reset();
  EXPECT_EQ(rate(), 3e6);
}

// Seen to fail: the whole of an uplink told of each of its links; downlinks left out.
TEST(RoundRecord, TellsALinksPartOfTheInterfacesThatItShares) {
  TopologyFile topology = test::topology_of(4, "parameter_server");
  auto plan = make_plan(topology, test::small_layout());
  ASSERT_TRUE(plan.ok());
  topology.default_link.rate = RateTrace{{{0, 10e6}}};
  const auto rate = [&] {
    return make_round_record(*plan, topology, 0, TimePoint{}, a_report())
        .links[0]
        .true_rate_bits_per_s;
  };
  EXPECT_EQ(rate(), 10e6);
  topology.nodes[0].uplink_bits_per_s = 6e6;
  EXPECT_EQ(rate(), 2e6) << "of three links";
  topology.nodes[1].downlink_bits_per_s = 3e6;
  EXPECT_EQ(rate(), 1e6);
  topology.nodes[0].uplink_bits_per_s.reset();
  EXPECT_EQ(rate(), 1e6);
}

TEST(NodeRecorder, LeavesEveryLineOfALiveNodeAtOnce) {
  const test::Folder folder;
  auto recorder = NodeRecorder::create(folder / "a.jsonl", NodeRecorder::Flush::kEveryLine);
  ASSERT_TRUE(recorder.ok());
  ASSERT_TRUE(recorder->write(NoticeRecord{1, "here"}).ok());
  EXPECT_EQ(test::get(folder / "a.jsonl"),
            "{\"event\":\"notice\",\"time_s\":1.0,\"text\":\"here\"}\n");
}

TEST(NodeRecorder, SaysThatTheDiskIsFull) {
  auto recorder = NodeRecorder::create("/dev/full", NodeRecorder::Flush::kEveryLine);
  ASSERT_TRUE(recorder.ok());
  const Status written = recorder->write(a_round());
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().message, "/dev/full cannot be written: No space left on device");
  EXPECT_FALSE(recorder->close().ok());
}

}  // namespace
}  // namespace kimesh::recorder_test
