// Meshes in which peers have gone wrong: whatever comes over a link, a run ends with a sentence or
// goes on. It never ends the program.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "kimesh/config/options_of_text.h"
#include "kimesh/policy/compression_options.h"
#include "kimesh/util/random.h"
#include "tests/sim/states.h"

namespace kimesh::test::tamper_test {
namespace {

// What no peer sends, and what one might.
class Tamperer {
 public:
  // From one event of 40 to one of 5,000, where a message soon is one that cannot be; of the first
  // `early` messages one of four. With `only_values` messages are due and well formed, so that what
  // they say has its effect: from one event of four to one of 500.
  Tamperer(const Mesh& mesh, std::uint64_t seed, unsigned early, bool only_values)
      : mesh_(mesh),
        one_of_((only_values ? 4u : 40u) << seed / 3 % 8),
        early_(early),
        only_values_(only_values),
        random_(seed, 0, 0, Purpose::kTest) {}

  void change(NodeIndex to, Event& event, std::vector<Event>& before) {
    auto* arrived = std::get_if<MessageArrived>(&event);
    auto* applied = std::get_if<MessageApplied>(&event);
    auto* acked = std::get_if<MessageAcked>(&event);
    const bool heard = std::holds_alternative<PeerHeard>(event);
    if (!arrived && !applied && !acked && !heard) return;
    const bool is_early = arrived && early_ > 0 && early_-- > 0;
    if (random_.below(is_early ? 4 : one_of_) != 0) return;
    if (only_values_) {
      if (arrived) change_values(arrived->message);
      if (acked && acked->sample) change(*acked->sample);
      return;
    }
    if (random_.below(2) == 0) return forge(to, before);
    if (random_.below(3) == 0) {  // beside it, something else
      if (arrived) before.push_back(copy(*arrived));
      if (applied) before.push_back(*applied);
      if (acked) before.push_back(*acked);
      arrived = before.empty() ? nullptr : std::get_if<MessageArrived>(&before.back());
      applied = before.empty() ? nullptr : std::get_if<MessageApplied>(&before.back());
      acked = before.empty() ? nullptr : std::get_if<MessageAcked>(&before.back());
    }
    if (arrived) change(arrived->message);
    if (applied) change(applied->applied);
    if (acked && acked->sample) change(*acked->sample);
  }

 private:
  static MessageArrived copy(const MessageArrived& other) {
    MessageArrived same;
    same.link = other.link;
    same.message.round = other.message.round;
    same.message.generation = other.message.generation;
    same.message.shard = other.message.shard;
    same.message.phase = other.message.phase;
    same.message.form = other.message.form;
    same.message.digest = other.message.digest;
    same.message.control = other.message.control;
    same.message.payload = other.message.payload.share();
    return same;
  }
  // A message that would be right at another time, or an answer to one.
  void forge(NodeIndex to, std::vector<Event>& before) {
    const Plan& plan = mesh_.plan;
    const auto c = random_.below(static_cast<std::uint32_t>(plan.channels.size()));
    const Channel& channel = plan.channels[c];
    const Round round = mesh_.simulator->core(to).round() + random_.below(3) - 1;
    if (plan.links[channel.link].from == to)
      before.push_back(MessageApplied{
          channel.link, {round, 0, channel.shard, channel.phase, ApplyOutcome(random_.below(2))}});
    if (plan.links[channel.link].to != to) return;
    MessageArrived forged{channel.link, {}};
    forged.message.round = round;
    forged.message.shard = channel.shard;
    forged.message.phase = channel.phase;
    if (random_.below(4) != 0) {
      forged.message.form = Form::kDense;
      forged.message.payload = Payload(std::vector<std::byte>(4 * plan.elements(c)));
    }
    if (channel.shard == 0 && random_.below(2) == 0) {
      ControlVector control;
      control.nodes = random_.below(6);
      control.samples = random_.below(3);
      control.checkpoint_held = random_.below(3) * round;
      Verdict verdict;
      verdict.stop = random_.below(2) == 0;
      if (random_.below(2) == 0) verdict.closing_round = round + random_.below(3) - 1;
      if (random_.below(2) == 0) verdict.checkpoint_round = round + random_.below(3) - 1;
      if (random_.below(2) == 0) verdict.checkpoint_held = round - random_.below(8);
      verdict.local_steps = 1 + random_.below(4);
      verdict.mean_multiple = 1 + random_.below(kMultipleMax);
      forged.message.control =
          channel.phase == Phase::kReduce ? control.to_control() : verdict.to_control();
    }
    before.emplace_back(std::move(forged));
  }
  std::uint32_t number(std::uint32_t value) {
    switch (random_.below(5)) {
      case 0:
        return value + 1;
      case 1:
        return value - 1;
      case 2:
        return 0;
      case 3:
        return 0xffffffff;
      default:
        return random_.next_u32();
    }
  }
  double wild(double value) {
    if (random_.below(3) == 0) return random_.below(10);
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const double values[] = {std::nan(""), kInfinity, -kInfinity, 1e300,  -1e300, 1e-300, -0.0,
                             4294967295.0, 1e15,      -1,         1.0e20, 0.5,    2,      value};
    return values[random_.below(std::size(values))];
  }
  void change(Message& message) {
    switch (random_.below(10)) {
      case 0:
        message.round = number(message.round);
        return;
      case 1:
        message.generation = number(message.generation);
        return;
      case 2:
        message.shard = static_cast<ShardIndex>(number(message.shard));
        return;
      case 3:
        message.phase = message.phase == Phase::kReduce ? Phase::kGather : Phase::kReduce;
        return;
      case 4:
        message.form = static_cast<Form>(random_.below(random_.below(2) == 0 ? 12 : 256));
        return;
      case 5:
        message.restart = !message.restart;
        message.digest = random_.next_u64();
        return;
      case 6:
        return change_payload(message);
      default:
        change_control(message);
    }
  }
  void change_control(Message& message) {
    // Of a verdict: even_bits, ahead, local_steps, mean_multiple.
    const std::uint32_t paces[] = {7, 11, 13, 14};
    for (std::uint32_t i = 1 + random_.below(3); i > 0; --i) {
      const bool is_pace = message.phase == Phase::kGather && random_.below(2) == 0;
      double& value =
          message.control[is_pace ? paces[random_.below(4)] : random_.below(kControlSlots)];
      value = wild(value);
    }
  }
  // A byte of the second half, where the numbers of most formats are.
  void change_values(Message& message) {
    if (random_.below(2) == 0) return change_control(message);
    const auto bytes = message.payload.bytes();
    std::vector<std::byte> other(bytes.begin(), bytes.end());
    if (other.empty()) return;
    const std::size_t back = random_.below(static_cast<std::uint32_t>(other.size() + 1) / 2);
    other[other.size() - 1 - back] = static_cast<std::byte>(random_.below(256));
    message.payload = Payload(std::move(other));
  }
  void change_payload(Message& message) {
    const auto bytes = message.payload.bytes();
    std::vector<std::byte> other(bytes.begin(), bytes.end());
    const auto size = static_cast<std::uint32_t>(other.size());
    if (random_.below(3) == 0 || size == 0)
      other.resize(random_.below(2 * size + 2));
    else
      for (int i = 0; i < 3; ++i)
        other[random_.below(size)] = static_cast<std::byte>(random_.below(256));
    message.payload = Payload(std::move(other));
  }
  void change(Applied& applied) {
    switch (random_.below(5)) {
      case 0:
        applied.round = number(applied.round);
        return;
      case 1:
        applied.generation = number(applied.generation);
        return;
      case 2:
        applied.shard = static_cast<ShardIndex>(number(applied.shard));
        return;
      case 3:
        applied.phase = applied.phase == Phase::kReduce ? Phase::kGather : Phase::kReduce;
        return;
      default:
        applied.outcome = static_cast<ApplyOutcome>(random_.below(4));
    }
  }
  // As an ack can make it: its bytes and its time come from the far side.
  void change(LinkSample& sample) {
    sample.tail_bytes = random_.below(2) == 0 ? 0 : 0xffffffff;
    const std::int64_t times[] = {0, 1, 1'000'000, std::int64_t{1} << 62};
    sample.tail_time = Duration(times[random_.below(4)]);
  }

  const Mesh& mesh_;
  const std::uint32_t one_of_;
  unsigned early_;
  const bool only_values_;
  Random random_;
};

constexpr const char* kPolicies[] = {
    "policy: none",
    "policy: kimad, compressor: topk",
    "policy: fixed, compressor: topk, ratio: 0.1",
    "policy: auto, compressor: topk",
    "policy: gravac, compressor: topk, window: 50ms",  // of one round or two
    "policy: kimad_plus, compressor: topk",
    "policy: kimad_plus, compressor: topk, allocator: knapsack"};
constexpr std::uint64_t kSpecs = 896;  // so many seeds are unlike
constexpr Round kEvery = 6, kResumedFrom = 2 * kEvery - 1;

bool resumes(std::uint64_t seed) {
  return seed / 448 % 2 == 1;
}

MeshSpec spec_of(std::uint64_t seed) {
  const char* kinds[] = {"ring", "parameter_server", "tree", "graph"};
  MeshSpec spec;
  spec.kind = kinds[seed % 4];
  spec.nodes = 3 + seed % 3;
  spec.dimension = 300;
  spec.seed = seed;
  spec.optimizer.lr = 0.1;
  const std::string policy = kPolicies[seed / 4 % 7];
  const auto compression = options_of_text<CompressionOptions>("{" + policy + "}");
  spec.core.policy = {compression.policy, compression.codec, std::nullopt,
                      static_cast<unsigned>(spec.nodes)};
  if (policy.find("kimad") != std::string::npos)
    spec.core.policy.round_time = std::chrono::milliseconds(60);
  spec.core.feedback = seed / 28 % 2 == 0 ? Feedback::kEf21 : Feedback::kEf14;
  spec.core.gather = seed / 56 % 2 == 0 ? Gather::kPerLink : Gather::kShared;
  if (spec.core.feedback == Feedback::kEf14 && !spec.core.policy.sends_everything()) {
    if (seed / 112 % 2 == 1) spec.core.look_ahead = spec.core.overlap = Use::kAlways;
    const bool chooses = spec.core.policy.searches() && seed / 224 % 2 == 1;
    if (chooses) spec.core.look_ahead = spec.core.overlap = Use::kChosen;
    spec.core.chooses_multiples = chooses;
    spec.core.local_steps_vary = spec.core.policy.searches();
    const unsigned steps[] = {1, 3, 2, 4, 2};
    if (!chooses && seed / 224 % 2 == 1) spec.local_steps.assign(steps, steps + spec.nodes);
  }
  if (resumes(seed)) spec.core.checkpoints.every_rounds = kEvery;
  spec.core.stop_rounds = 20;
  spec.core.evaluate_every = 5;
  spec.core.digest_every = 4;
  spec.rate_bits_per_s = 1e6;
  return spec;
}

// The states of round kResumedFrom and before of a mesh in which nobody has gone wrong.
AllStates sound_states(const MeshSpec& spec) {
  AllStates states = stores(spec.nodes);
  Mesh mesh(spec);
  store_in(mesh, states);
  mesh.run();
  EXPECT_TRUE(mesh.done()) << mesh.ends();
  for (const auto& of_node : states) {
    EXPECT_TRUE(of_node->states.contains(kResumedFrom));
    std::erase_if(of_node->states, [](const auto& state) { return state.first > kResumedFrom; });
  }
  return states;
}

// KIMESH_SEEDS=100000 is the long form. Seen to fail: an answer to a message that was not sent yet
// taken for one to it; a verdict of no local steps believed; a checkpoint that the mesh agrees on
// and a node does not hold taken for a bug; errors that a float does not hold in the knapsack;
// gravac that checks for energies under 1e30 (each ends the program).
TEST(Tamper, WhateverPeersSendTheRunEndsWithASentenceOrGoesOn) {
  const char* const wanted = std::getenv("KIMESH_SEEDS");
  const std::uint64_t seeds = wanted == nullptr ? 2 * kSpecs : std::stoull(wanted);
  std::size_t failed = 0, done = 0, went_on = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Mesh mesh(spec_of(seed));
    AllStates states;
    if (resumes(seed)) resume(mesh, states = sound_states(mesh.spec));
    Tamperer tamperer(mesh, seed, resumes(seed) && seed % 3 == 0 ? 30 : 0, seed / kSpecs % 2 == 1);
    mesh.setup.tamper = [&](NodeIndex to, Event& event, std::vector<Event>& before) {
      tamperer.change(to, event, before);
    };
    mesh.setup.seconds_max = 1000;
    mesh.run();
    for (NodeIndex i = 0; i < mesh.spec.nodes; ++i) {
      const SimulatedEnd& end = mesh.simulator->end(i);
      ASSERT_TRUE(end.finished || mesh.simulator->seconds() > 900) << mesh.ends();
      if (end.finished && end.outcome == Outcome::kFailed) {
        EXPECT_FALSE(end.text.empty());
        ++failed;
      }
      done += end.finished && end.outcome == Outcome::kDone;
      went_on += !mesh.reports[i].empty() && mesh.reports[i].front().round > kResumedFrom;
    }
  }
  EXPECT_GT(failed, seeds / 2);  // else too little was changed
  EXPECT_GT(done, seeds / 16);   // else too much
  EXPECT_GT(went_on, seeds);     // of those that resume, nodes that came to train
}

}  // namespace
}  // namespace kimesh::test::tamper_test
