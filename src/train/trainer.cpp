#include "kimesh/train/trainer.h"

#include <ATen/Context.h>
#include <ATen/Version.h>
#include <torch/torch.h>

#include <algorithm>
#include <bit>

#include "kimesh/util/check.h"
#include "src/train/batch.h"
#include "src/train/initialise.h"
#include "src/train/models.h"

namespace kimesh {
namespace {

constexpr std::size_t kEvaluationBatch = 64;  // samples; more only costs memory (activations)

// LibTorch throws when it runs out of memory or when we call it wrongly: neither can be mended, and
// no exception passes the door.
template <typename Work>
auto with_torch(const Work& work) {
  try {
    return work();
  } catch (const std::exception& trouble) {
    check_failed(__FILE__, __LINE__, "LibTorch works", trouble.what());
  }
}

bool all_finite(std::span<const float> values) {
  constexpr std::uint32_t kExponent = 0x7f800000;  // all ones: infinity or NaN
  std::uint32_t bad = 0;
  for (const float value : values)
    bad |=
        static_cast<std::uint32_t>((std::bit_cast<std::uint32_t>(value) & kExponent) == kExponent);
  return bad == 0;
}

class Trainer : public Objective {
 public:
  Trainer(const RunConfig& config, const TrainingData& data, NodeIndex node)
      : data_(data),
        node_(node),
        batch_(config.data.batch),
        seed_(config.seed),
        network_(make_network(config.model, data.sets.train.shape)),
        layout_(layout_of(*network_)),
        test_part_(test_part(data.sets.test, node, data.parts.size(), config.seed)) {
    for (auto& parameter : network_->parameters()) parameter.set_data(torch::empty({0}));
  }

  const Layout& layout() const override { return layout_; }

  void initialise(std::span<float> parameters) override {
    initialise_parameters(layout_, seed_, parameters);
  }

  void bind(std::span<float> parameters, std::span<float> gradient) override {
    KIMESH_CHECK(parameters.size() == layout_.size() && gradient.size() == layout_.size(),
                 "vectors of this layout");
    parameters_ = parameters;
    gradient_ = gradient;
    with_torch([&] { bind_views(); });
  }

  Result<GradientNumbers> gradient(Round round) override {
    KIMESH_CHECK(!gradient_.empty(), "bind comes before gradient");
    const auto samples = batch_samples(data_.parts[node_], batch_, round, node_, seed_);
    const double loss = with_torch([&] { return backward(samples); });
    if (!std::isfinite(loss) || !all_finite(gradient_)) return not_finite(round);
    return GradientNumbers{loss, samples.size()};
  }

  EvaluationNumbers evaluate() override {
    KIMESH_CHECK(!gradient_.empty(), "bind comes before evaluate");
    EvaluationNumbers numbers;
    const std::span<const std::uint32_t> part = test_part_;
    for (std::size_t i = 0; i < part.size(); i += kEvaluationBatch) {
      const auto samples = part.subspan(i, std::min(kEvaluationBatch, part.size() - i));
      with_torch([&] { score(samples, numbers); });
    }
    return numbers;
  }

 private:
  // Parameters and gradients become windows on the caller's vectors. A gradient that is defined
  // before the backward pass is added to in place, never replaced (torch: AccumulateGrad, case 2).
  void bind_views() {
    const auto parameters = network_->parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const LayoutLayer& layer = layout_.layers[i];
      torch::Tensor parameter = parameters[i];
      parameter.set_data(torch::from_blob(parameters_.data() + layer.offset, layer.shape));
      parameter.mutable_grad() = torch::from_blob(gradient_.data() + layer.offset, layer.shape);
    }
  }

  double backward(std::span<const std::uint32_t> samples) {
    std::fill(gradient_.begin(), gradient_.end(), 0.0f);
    const Batch batch = make_batch(data_.sets.train, samples);
    const auto loss = torch::nn::functional::cross_entropy(
        one_row_a_target(network_->forward(batch.inputs)), batch.targets.flatten());
    loss.backward();
    return loss.item<float>();
  }

  void score(std::span<const std::uint32_t> samples, EvaluationNumbers& numbers) {
    const torch::NoGradGuard no_gradient;
    const Batch batch = make_batch(data_.sets.test, samples);
    const auto scores = one_row_a_target(network_->forward(batch.inputs));
    const auto targets = batch.targets.flatten();
    const auto hits = scores.argmax(1).eq(targets).sum().item<std::int64_t>();
    const auto options = torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kSum);
    numbers.correct += static_cast<std::uint64_t>(hits);
    numbers.samples += static_cast<std::uint64_t>(targets.numel());
    numbers.loss_sum +=
        torch::nn::functional::cross_entropy(scores, targets, options).item<float>();
  }

  // A parameter that is already broken spoils every layer's gradient, so it is named first.
  Error not_finite(Round round) const {
    const auto where = [&](std::span<const float> vector) {
      return std::find_if(layout_.layers.begin(), layout_.layers.end(), [&](const auto& layer) {
        return !all_finite(vector.subspan(layer.offset, layer.size));
      });
    };
    const std::string when = " in round " + std::to_string(round);
    if (const auto bad = where(parameters_); bad != layout_.layers.end())
      return {ErrorCode::kNotFinite,
              "the parameters of layer '" + bad->name + "' hold NaN or infinity" + when};
    if (const auto bad = where(gradient_); bad != layout_.layers.end())
      return {ErrorCode::kNotFinite,
              "the gradient of layer '" + bad->name + "' holds NaN or infinity" + when};
    return {ErrorCode::kNotFinite, "the loss, after layer '" + layout_.layers.back().name +
                                       "', is NaN or infinity" + when};
  }

  const TrainingData& data_;
  NodeIndex node_;
  int batch_;
  std::uint64_t seed_;
  std::shared_ptr<NeuralNetwork> network_;  // torch's modules know no other ownership
  Layout layout_;
  std::vector<std::uint32_t> test_part_;
  std::span<float> parameters_, gradient_;
};

}  // namespace

Layout model_layout(const RunConfig& config, const TrainingData& data) {
  return with_torch([&] { return layout_of(*make_network(config.model, data.sets.train.shape)); });
}

std::unique_ptr<Objective> make_trainer(const RunConfig& config, const TrainingData& data,
                                        NodeIndex node) {
  KIMESH_CHECK(node < data.parts.size(), "a node of this data");
  return with_torch([&] { return std::make_unique<Trainer>(config, data, node); });
}

void set_training_threads(int threads) {
  KIMESH_CHECK(threads > 0, "a thread to compute with");
  at::set_num_threads(threads);
  at::globalContext().setDeterministicAlgorithms(true, false);
  // Else every fresh tensor is filled with NaN first, at the price of a pass over memory.
  at::globalContext().setDeterministicFillUninitializedMemory(false);
}

std::string training_environment() {
  return "LibTorch " TORCH_VERSION ", " + std::to_string(at::get_num_threads()) +
         (at::get_num_threads() == 1 ? " thread, " : " threads, ") + at::get_cpu_capability();
}

}  // namespace kimesh
