// Meshes of nodes whose vectors are on a device against meshes on the host.
#include <algorithm>
#include <span>

#include "kimesh/config/options_of_text.h"
#include "kimesh/util/digest.h"
#include "kimesh/util/random.h"
#include "tests/cuda/cuda_fixture.h"
#include "tests/sanitized.h"
#include "tests/settings.h"
#include "tests/vectors/mesh.h"

namespace kimesh::cuda_test::vectors_test {
namespace {

const Setting kDense{};

class CudaVectors : public ::testing::Test {
 protected:
  void SetUp() override {
    for (auto* memory : {&memory_, &gradient_memory_}) {
      auto opened = kernels::open_cuda();
      if (!opened) GTEST_SKIP() << opened.error().message;
      *memory = std::move(*opened);
    }
  }
  VectorsOptions on_device(VectorsOptions options) const {
    options.memory = memory_;
    options.gradient_memory = gradient_memory_;
    return options;
  }

  std::shared_ptr<kernels::Memory> memory_, gradient_memory_;
};

// One message, as both ends know it.
struct Sent {
  ChannelIndex channel;
  std::vector<std::byte> bytes;
  std::uint64_t digest, far_digest;
  bool operator==(const Sent&) const = default;
};

struct Shape {
  const char* name;
  std::string kind;
  std::vector<NodeIndex> servers;
};
const std::vector<Shape> kShapes{{"ring4", "ring", {0, 1, 2, 3}},
                                 {"ps4", "parameter_server", {0, 1, 2, 3}},
                                 {"ps4-single", "parameter_server", {0}}};
constexpr std::size_t kNodes = 4;

Setting draw_setting(Random& random) {
  const std::uint32_t rotation = random.next_u32();
  switch (random.below(5)) {
    case 0:
      return kDense;
    case 1:
      return {make_codec("dzq"), Budget::bytes(20 + random.below(100)), rotation};
    case 2:
      return {make_codec("int8"), Budget::own(), rotation};
    default:
      return topk_setting(1 + random.below(60), rotation);
  }
}

// An objective that looks at its point: 0.1 y + noise, computed wherever its vectors lie.
struct NoisyDescent {
  kernels::Memory& memory;
  Random noise;
  Status fill_gradient(Vectors& node) {
    const kernels::MemorySpan point(node.bound_point()), gradient(node.gradient());
    std::vector<float> values(point.size);
    if (Status read = memory.download(point, values); !read) return read;
    for (float& value : values) value = 0.1f * value + static_cast<float>(noise.normal());
    memory.upload(values, gradient);
    return memory.finish();
  }
};

// Rounds with drawn settings and restarts. Where nodes look ahead, every other gradient is computed
// at the point that was made for overlap. `objectives`: the memory of the vectors that objectives
// are bound to. Returns all messages.
std::vector<Sent> run(Mesh& mesh, kernels::Memory& objectives, Round rounds, std::uint64_t seed,
                      bool looks_ahead) {
  std::vector<Sent> sent;
  mesh.watch = [&](ChannelIndex channel, const AdvanceDone& made, std::uint64_t far_digest) {
    const auto bytes = made.payload.bytes();
    sent.push_back({channel, {bytes.begin(), bytes.end()}, made.digest, far_digest});
  };
  Random first(seed, 99, 0, Purpose::kTest), choices(seed, 0, 0, Purpose::kNoise);
  std::vector<float> point(mesh.nodes[0].point().size());
  for (float& x : point) x = static_cast<float>(first.normal());
  for (Vectors& node : mesh.nodes) {
    std::ranges::copy(point, node.point().begin());
    node.start();
  }
  for (Round round = 0; round < rounds; ++round) {
    for (std::size_t n = 0; n < mesh.nodes.size(); ++n) {
      Vectors& node = mesh.nodes[n];
      const bool overlap = looks_ahead && round % 2 == 0;
      const GradientPoint at = !looks_ahead ? GradientPoint::kParameters
                               : overlap    ? GradientPoint::kAhead
                                            : GradientPoint::kMade;
      EXPECT_TRUE(node.prepare_point(ComputeGradient{round, at}).ok());
      for (unsigned step = 0; step < node.local_steps(); ++step) {
        NoisyDescent objective{objectives, Random(seed, static_cast<std::uint32_t>(n),
                                                  round + rounds * step, Purpose::kTest)};
        EXPECT_TRUE(objective.fill_gradient(node).ok());
        EXPECT_TRUE(node.prepare_gradient(round).ok());
      }
      if (looks_ahead) {
        EXPECT_TRUE(node.take_movement({round, true, overlap}).ok());
      }
    }
    mesh.reduce(round, draw_setting(choices), choices.below(3) == 0);
    const bool restart = choices.below(3) == 0;
    mesh.gather(round, restart ? kDense : draw_setting(choices), restart);
  }
  return sent;
}

// Seen to fail with parameters that are not synced after a step, with a contribution without its
// weight, with AdamW's steps not counted, without the velocity, and with a point that stays on the
// device, after a local step too; of objectives on the device: bound to the parameters where nodes
// look ahead, and with a gradient that is overwritten.
TEST_F(CudaVectors, SendTheHostsMessagesAndArriveAtTheSamePoint) {
  const OptimizerOptions plain;
  const auto momentum =
      options_of_text<OptimizerOptions>("{kind: sgd, lr: 0.1, momentum: 0.9, weight_decay: 0.01}");
  const auto nesterov =
      options_of_text<OptimizerOptions>("{kind: sgd, lr: 0.1, momentum: 0.9, nesterov: true}");
  const auto adamw =
      options_of_text<OptimizerOptions>("{kind: adamw, lr: 0.01, weight_decay: 0.1}");
  for (const Shape& shape : std::span(kShapes).first(test::kSanitized ? 1 : kShapes.size())) {
    const Plan plan = plan_of(shape.kind, kNodes, shape.servers, {150, 3, 77});
    for (const auto& [optimizer, seed] :
         {std::pair(plain, 1), std::pair(momentum, 2), std::pair(adamw, 3), std::pair(adamw, 4),
          std::pair(plain, 5), std::pair(nesterov, 6), std::pair(adamw, 7), std::pair(nesterov, 8),
          std::pair(adamw, 9), std::pair(momentum, 10)}) {
      // From the fourth on workers send movements, from the fifth to the ninth they look ahead,
      // from the eighth on they take three local steps, of 2.5 in the mean. Under a sanitizer four
      // suffice, which have each optimizer and each of these ways.
      const bool is_one_of_four = seed == 3 || seed == 5 || seed == 8 || seed == 10;
      if (test::kSanitized && !is_one_of_four) continue;
      const bool looks_ahead = seed >= 5 && seed <= 9;
      const LocalSteps steps = seed >= 8 ? LocalSteps{3, 2.5} : LocalSteps{};
      const VectorsOptions options{
          optimizer,        0.25,        true, seed >= 4 ? Feedback::kEf14 : Feedback::kEf21,
          Gather::kPerLink, looks_ahead, steps};
      Mesh host(plan, std::vector(kNodes, options));
      VectorsOptions all_there = on_device(options);
      all_there.objective_on_device = true;
      Mesh device(plan, std::vector(kNodes, on_device(options)));
      Mesh computing(plan, std::vector(kNodes, all_there));
      kernels::Memory& on_host = kernels::host_memory();
      const auto expected = run(host, on_host, 6, seed, looks_ahead);
      for (const auto& got : {run(device, on_host, 6, seed, looks_ahead),
                              run(computing, *gradient_memory_, 6, seed, looks_ahead)}) {
        ASSERT_EQ(got.size(), expected.size());
        for (std::size_t i = 0; i < got.size(); ++i)
          ASSERT_TRUE(got[i] == expected[i]) << shape.name << ", message " << i << " of channel "
                                             << got[i].channel << ", seed " << seed;
      }
      for (std::size_t n = 0; n < kNodes; ++n)
        for (ShardIndex s = 0; s < plan.shards.size(); ++s)
          EXPECT_EQ(bits(device.nodes[n].shard(s)), bits(host.nodes[n].shard(s)))
              << shape.name << ", node " << n << ", shard " << s << ", seed " << seed;
      for (ChannelIndex c = 0; c < plan.channels.size(); ++c)
        for (const NodeIndex n : {plan.link_of(c).from, plan.link_of(c).to})
          EXPECT_EQ(bits(device.nodes[n].estimate(c)), bits(host.nodes[n].estimate(c)))
              << shape.name << ", channel " << c << ", seed " << seed;
    }
  }
}

// Classic residuals: seen to fail with a residual that is not kept.
TEST_F(CudaVectors, KeepTheHostsResiduals) {
  const Plan plan = plan_of("parameter_server", 2, {0}, {300});
  const VectorsOptions options{{}, 0.5, true};
  Vectors host(plan, 1, options), device(plan, 1, on_device(options));
  const ChannelIndex channel = *plan.node_channels[0][1].reduce_out;
  const std::vector<BufferId> terms{{BufferId::Kind::kContribution, 0}};
  const Setting setting = topk_setting(20);
  for (Vectors* vectors : {&host, &device}) vectors->start();
  for (Round round = 0; round < 5; ++round) {
    const std::vector<float> gradient = draw(Kind::kGaussian, 300, kSeed + round);
    std::vector<AdvanceDone> made;
    for (Vectors* vectors : {&host, &device}) {
      std::ranges::copy(gradient, vectors->gradient().begin());
      ASSERT_TRUE(vectors->prepare_gradient(round).ok());
      auto result = vectors->advance({channel,
                                      round,
                                      terms,
                                      {BufferId::Kind::kEstimate, channel},
                                      setting,
                                      false,
                                      false,
                                      Feedback::kEf14});
      ASSERT_TRUE(result.ok()) << result.error().message;
      made.push_back(std::move(*result));
    }
    EXPECT_TRUE(std::ranges::equal(made[0].payload.bytes(), made[1].payload.bytes()))
        << "round " << round;
    EXPECT_EQ(bits(device.estimate(channel)), bits(host.estimate(channel))) << "round " << round;
  }
}

TEST_F(CudaVectors, NameTheLayerWhereAGradientIsNotFinite) {
  const Plan plan = plan_of("ring", 2, {0, 1}, {2, 3, 5});
  Vectors node(plan, 1, on_device({{}, 0.5, true}));
  node.start();
  node.gradient()[3] = kNan;
  ASSERT_TRUE(node.prepare_gradient(7).ok());
  const ChannelIndex channel = *plan.node_channels[0][1].reduce_out;
  const std::vector<BufferId> terms{{BufferId::Kind::kContribution, 0}};
  const Setting setting = topk_setting(1);
  for (const bool restart : {false, true}) {
    const auto made = node.advance(
        {channel, 7, terms, {BufferId::Kind::kEstimate, channel}, setting, restart, true});
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().message,
              "layer layer1, element 1 is NaN or infinite (shard 0, reduce from b to a, round 7)");
  }
  const std::span<const float> shard = node.shard(1);
  const std::vector<float> before(shard.begin(), shard.end());
  node.gradient()[6] = -kInfinity;
  ASSERT_TRUE(node.prepare_gradient(7).ok());
  const std::vector<BufferId> own{{BufferId::Kind::kContribution, 1}};
  EXPECT_EQ(node.step({1, 3, own, true}).digest, digest_floats(before));
  EXPECT_EQ(bits(node.shard(1)), bits(before));
  const ChannelIndex gather = plan.node_channels[1][1].gather_out[0];
  const std::vector<BufferId> parameters{{BufferId::Kind::kParameters, 1}};
  const auto made = node.advance(
      {gather, 3, parameters, {BufferId::Kind::kEstimate, gather}, kDense, false, false});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().message,
            "layer layer2, element 1 is NaN or infinite (the gradient of shard 1 at its owner, "
            "round 3)");
}

}  // namespace
}  // namespace kimesh::cuda_test::vectors_test
