// Trains with a policy of this program's own: messages begin dense, and the share of elements that
// they keep halves every so many rounds. The mesh is simulated, in virtual time.
#include <kimesh/mesh/mesh.h>
#include <kimesh/objective/quadratic.h>
#include <kimesh/policy/policy_options.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace kimesh;

class Decay : public Policy {
 public:
  Decay(CodecPtr codec, double half_life) : codec_(std::move(codec)), half_life_(half_life) {}

  Choice choose(const MessageContext& message) const override {
    const double ratio = std::max(kFloorRatio, std::exp2(-(message.round / half_life_)));
    Setting setting;  // dense
    const std::uint32_t keep = keep_of_ratio(ratio, message.elements);
    if (codec_->bytes_max(keep, message.elements) >= dense_bytes(message.elements))
      return {setting, 0};
    setting.codec = codec_;
    setting.budget = Budget::keep(keep);
    setting.rotation = message.round;
    return {setting, 0};
  }

 private:
  CodecPtr codec_;
  double half_life_;
};

class DecayOptions : public PolicyOptions {
 public:
  void describe(Keys& keys) override {
    keys.number("half_life", half_life_, {1, 1e6}, "rounds until messages keep half as much");
  }
  void check(const Codec& codec, Keys& keys) const override {
    keys.check(codec.traits().keeps_elements, "compressor",
               "policy: decay says how many elements are kept", "Write compressor: topk");
  }
  std::unique_ptr<Policy> make(const PolicySetup& setup) const override {
    return std::make_unique<Decay>(setup.codec, half_life_);
  }

 private:
  double half_life_ = 100;
};

int main(int argc, char** argv) {
  if (argc != 3) return std::puts("usage: own_policy CONFIG TOPOLOGY"), 2;
  add_policy({"decay", "messages that shrink", make_options<DecayOptions, PolicyOptions>});
  auto files = load_mesh_files(argv[1], argv[2]);
  for (const Problem& problem : files.problems) std::puts(to_string(problem).c_str());
  if (!files.ok()) return 2;
  const RunConfig& config = files.value.config;
  auto objective =
      make_quadratic_mesh(*config.quadratic, files.value.topology.nodes.size(), {}, config.seed);
  if (!objective) return std::puts(objective.error().message.c_str()), 2;
  const auto mesh = Mesh::make(std::move(files.value), std::move(*objective));
  if (!mesh) return std::puts(mesh.error().message.c_str()), 2;
  const auto end = (*mesh)->simulate({});
  if (!end) return std::puts(end.error().message.c_str()), 1;
  std::printf("sent %.1f %% of a dense run; squared norm of the gradient: %.2g\n",
              100.0 * end->tally.bytes_sent() / end->tally.bytes_dense(),
              end->run.gradient_norm_squared.value());
  return end->run.outcome == Outcome::kDone ? 0 : 1;
}
