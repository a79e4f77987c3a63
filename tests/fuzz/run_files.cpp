#include <algorithm>
#include <cstring>
#include <filesystem>
#include <numeric>

#include "kimesh/compress/compressor.h"
#include "kimesh/model_files/safetensors.h"
#include "kimesh/records/decision_log.h"
#include "kimesh/records/recorder.h"
#include "kimesh/records/run_folder.h"
#include "kimesh/util/check.h"
#include "tests/fuzz/file_of.h"
#include "tests/settings.h"

namespace kimesh::fuzz {
namespace {

bool accepts_tensors(Input input) {
  const auto file = read_safetensors(file_of("weights.safetensors", input));
  if (!file.ok()) return false;
  std::size_t at = 0;
  for (const TensorFile::Tensor& tensor : file->tensors) {
    KIMESH_CHECK(tensor.offset == at, "tensors follow one another");
    std::size_t elements = 1;
    for (const std::int64_t extent : tensor.shape) elements *= static_cast<std::size_t>(extent);
    KIMESH_CHECK(elements == tensor.size, "a tensor has as many elements as its shape says");
    at += tensor.size;
  }
  KIMESH_CHECK(at == file->values.size(), "every value is some tensor's");
  return true;
}

// With types that kimesh writes, types that it only reads, and types that it skips.
std::vector<Bytes> tensor_seeds() {
  const std::vector<float> values(12, 0.5f);
  const std::vector<TensorView> tensors = {{"layers.0.weight", {2, 5}, std::span(values).first(10)},
                                           {"layers.0.bias", {2}, std::span(values).last(2)}};
  const std::string path = folder() + "/seed.safetensors";
  KIMESH_CHECK(write_safetensors(path, tensors).ok(), "the seed is written");
  const auto written = read_whole(path, 1 << 20);
  std::string other = R"({"h":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},)"
                      R"("b":{"dtype":"BF16","shape":[],"data_offsets":[4,6]},)"
                      R"("i":{"dtype":"I64","shape":[1],"data_offsets":[6,14]}})";
  Bytes types(8 + other.size() + 14);
  types[0] = std::byte(other.size());
  std::ranges::copy(bytes_of(other), types.begin() + 8);
  return {bytes_of(*written), types};
}

// The header's length, to the last brace that there is.
void mend_tensors(std::span<std::byte> input) {
  std::uint64_t end = input.size();
  while (end > 8 && input[end - 1] != std::byte{'}'}) --end;
  if (end <= 8) return;
  end -= 8;
  std::memcpy(input.data(), &end, sizeof end);
}

bool accepts_record(Input input) {
  const auto record = parse_record({reinterpret_cast<const char*>(input.data()), input.size()});
  if (!record.ok()) return false;
  const std::string line = to_line(*record);
  const auto again = parse_record(line);
  KIMESH_CHECK(again.ok() && to_line(*again) == line, "what was read can be written");
  return true;
}

std::vector<Bytes> record_seeds() {
  RoundRecord round;
  round.accuracy = 0.5;
  round.accuracy_round = 3;
  round.test_loss = 2;
  round.perplexity = 7.4;
  LinkRecord link;
  link.to = "b";
  link.rate_bits_per_s = 1e6;
  round.links = {link};
  round.digests = {{0, 0x1234}};
  round.policy = R"({"keep":0.01})";
  EndRecord end;
  end.text = "b is silent";
  end.counters = {{.to = "b", .messages = 3}};
  std::vector<Bytes> seeds;
  for (const NodeRecord& record : {NodeRecord(StartRecord{0, "a", "0.1.0"}), NodeRecord(round),
                                   NodeRecord(NoticeRecord{1, "waiting"}), NodeRecord(end)})
    seeds.push_back(bytes_of(to_line(record)));
  return seeds;
}

// Two nodes, each with a shard of two layers or a part of them.
const Plan& plan() {
  static const Plan plan = [] {
    TopologyFile topology;
    topology.kind = topology_kinds().make("ring");
    topology.nodes.resize(2);
    topology.nodes[0].name = "a";
    topology.nodes[1].name = "b";
    topology.servers = {0, 1};
    Layout layout;
    layout.layers = {{"weight", {40, 5}, 0, 200}, {"bias", {7}, 200, 7}};
    auto made = make_plan(topology, layout);
    KIMESH_CHECK(made.ok(), "two nodes share two layers");
    return std::move(*made);
  }();
  return plan;
}

// A replayed setting goes to the compressor as it is.
void check_can_be_done(const Setting& setting, const Shard& shard) {
  std::vector<float> target(shard.size), estimate(shard.size, 0.0f);
  std::iota(target.begin(), target.end(), -3.0f);
  std::vector<Piece> pieces;
  for (const LayerSlice& slice : shard.layers) pieces.push_back({slice.offset, slice.size});
  CompressScratch scratch;
  const auto made = advance(target, estimate, pieces, setting, scratch);
  KIMESH_CHECK(made.ok(), "a setting that was read can be carried out");
}

bool accepts_decisions(Input input) {
  const RunFolder run(folder());
  std::filesystem::create_directories(folder() + "/nodes");
  file_of("nodes/a.decisions.jsonl", input);
  file_of("nodes/b.decisions.jsonl",
          bytes_of("{\"kind\":\"setting\",\"round\":0,\"to\":\"a\",\"shard\":0,"
                   "\"phase\":\"reduce\",\"compressor\":\"identity\"}\n"));
  const auto loaded = load_decisions(plan(), folder());
  if (!loaded.ok()) {
    KIMESH_CHECK(loaded.error().code == ErrorCode::kUserInput, "the user is told why");
    return false;
  }
  for (ChannelIndex channel = 0; channel < plan().channels.size(); ++channel)
    for (Round round = 0; round < 10; ++round)
      if (const auto setting = (*loaded)->setting(channel, round))
        check_can_be_done(*setting, plan().shards[plan().channels[channel].shard]);
  return true;
}

std::vector<Setting> settings() {
  Setting listed = topk_setting(9), global = topk_setting(9);
  listed.allocation = Allocation::kListed;
  for (const LayerSlice& layer : plan().shards[1].layers)
    listed.shares.push_back(layer.layer == 0 ? 9 : 0);
  global.allocation = Allocation::kGlobal;
  global.floor = 2;
  std::vector<Setting> all{
      Setting{},
      global,
      listed,
      topk_setting(5),
      setting_of("topk", {{"values", "int4"}, {"indices", "coded"}}, Budget::bytes(60)),
      setting_of("threshold", {{"threshold", "2"}, {"indices", "packed"}}),
      setting_of("randk", {{"scaled", "true"}}, Budget::keep(5)),
      setting_of("dgc", {}, Budget::keep(5)),
      setting_of("redsync", {}, Budget::keep(5)),
      setting_of("sign"),
      setting_of("int8"),
      setting_of("dzq", {}, Budget::bytes(90)),
      setting_of("dzq", {{"step", "0.5"}}),
  };
  for (Setting& setting : all) setting.rotation = 7;
  all[10].rounding = Rounding::kNearest;
  all[11].floor = 3;
  return all;
}

std::vector<Bytes> decision_seeds() {
  ChannelIndex own = 0;  // one of a's, for the shard that has both layers
  while (plan().link_of(own).from != 0 || plan().channels[own].shard != 1) ++own;
  std::vector<Decision> decisions;
  for (const Setting& setting : settings())
    decisions.push_back({Decision::Kind::kSetting, 3, own, setting, {}});
  decisions.push_back({Decision::Kind::kReset, 4, own, {}, {}});
  Verdict verdict;
  verdict.closing_round = 8;
  verdict.reason = StopReason::kRounds;
  decisions.push_back({Decision::Kind::kClosing, 5, 0, {}, verdict});
  decisions.push_back({Decision::Kind::kConfirmedStop, 9, 0, {}, verdict});
  std::vector<Bytes> seeds;
  const std::string path = folder() + "/seed.jsonl";
  for (const Decision& decision : decisions) {
    auto log = DecisionLog::create(plan(), path);
    KIMESH_CHECK(log.ok() && log->write(decision).ok() && log->flush().ok(), "the seed is written");
    seeds.push_back(bytes_of(*read_whole(path, 1 << 20)));
  }
  return seeds;
}

}  // namespace

std::vector<Target> run_file_targets() {
  return {{"safetensors", accepts_tensors, tensor_seeds, mend_tensors},
          {"record", accepts_record, record_seeds},
          {"decisions", accepts_decisions, decision_seeds}};
}

}  // namespace kimesh::fuzz
