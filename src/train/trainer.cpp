#include "kimesh/train/trainer.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/nn/functional/loss.h>
#include <torch/version.h>

#include <algorithm>
#include <bit>

#include "batch.h"
#include "first_point.h"
#include "kimesh/train/weights.h"
#include "kimesh/util/check.h"
#include "kimesh/util/freed_memory.h"
#include "models.h"
#include "node_data.h"
#include "torch_device.h"
#include "whole_model.h"
#include "with_torch.h"

namespace kimesh {
namespace {

constexpr std::size_t kEvaluationBatch = 64;  // samples; more only costs memory (activations)

bool all_finite(std::span<const float> values) {
  constexpr std::uint32_t kExponent = 0x7f800000;  // all ones: infinity or NaN
  std::uint32_t bad = 0;
  for (const float value : values)
    bad |=
        static_cast<std::uint32_t>((std::bit_cast<std::uint32_t>(value) & kExponent) == kExponent);
  return bad == 0;
}

torch::Device device_for(const RunConfig& config) {
  const bool wants_gpu = config.device == DeviceKind::kCuda && config.model.kind->suits_gpus();
  return wants_gpu ? torch_device() : torch::Device(torch::kCPU);
}

class Trainer : public Objective {
 public:
  Trainer(const RunConfig& config, std::shared_ptr<const std::vector<float>> start, NodeData data,
          NodeIndex node, EvaluationProgress tell)
      : config_(config),
        start_(std::move(start)),
        data_(std::move(data)),
        batches_(data_.train_order, node, config.seed),
        tell_(std::move(tell)),
        network_(make_network(*config.model.kind, data_.train.shape)),
        whole_(layout_of(*network_)),
        device_(device_for(config)) {
    config_.model = with_frozen(config.model, *network_);
    layout_ = part_of(whole_, config_.model, false);
    for (auto& parameter : network_->parameters()) {
      parameter.set_data(torch::empty({0}, device_));
      parameter.set_requires_grad(true);
    }
    if (layout_.layers.size() < whole_.layers.size()) freeze();
  }

  const Layout& layout() const override { return layout_; }

  void initialise(std::span<float> parameters) override {
    take_part(whole_, whole_first_point(config_, whole_, start_.get()), layout_, parameters);
  }

  void bind(std::span<float> parameters, std::span<float> gradient) override {
    KIMESH_CHECK(parameters.size() == layout_.size() && gradient.size() == layout_.size(),
                 "vectors of this layout");
    parameters_ = parameters;
    gradient_ = gradient;
    with_torch([&] { bind_views(); });
  }

  Result<GradientNumbers> gradient(std::uint64_t batch) override {
    KIMESH_CHECK(!gradient_.empty(), "bind comes before gradient");
    const auto samples = batches_.samples(config_.data.batch, batch);
    return with_torch([&]() -> Result<GradientNumbers> {
      const double loss = backward(samples);
      if (!std::isfinite(loss) || !gradient_is_finite()) return not_finite();
      return GradientNumbers{loss, samples.size()};
    });
  }

  bool computes_on_gpu() const override { return device_.is_cuda(); }

  Result<EvaluationNumbers> evaluate() override {
    KIMESH_CHECK(!gradient_.empty(), "bind comes before evaluate");
    EvaluationNumbers numbers;
    const std::span<const std::uint32_t> part = data_.test_order;
    for (std::size_t i = 0; i < part.size(); i += kEvaluationBatch) {
      const auto samples = part.subspan(i, std::min(kEvaluationBatch, part.size() - i));
      with_torch([&] { score(samples, numbers); });
      if (tell_) tell_(i + samples.size(), part.size());
    }
    return numbers;
  }

 private:
  // Parameters and gradients become windows on the caller's vectors. A gradient that is defined
  // before the backward pass is added to in place, never replaced (torch: AccumulateGrad, case 2).
  void bind_views() {
    auto layer = layout_.layers.begin();
    for (torch::Tensor& parameter : network_->parameters()) {
      if (!parameter.requires_grad()) continue;  // frozen
      parameter.set_data(window(parameters_.subspan(layer->offset), layer->shape));
      parameter.mutable_grad() = window(gradient_.subspan(layer->offset), layer->shape);
      ++layer;
    }
  }

  torch::Tensor window(std::span<float> values, const std::vector<std::int64_t>& shape) const {
    return torch::from_blob(values.data(), shape, torch::TensorOptions(device_));
  }
  torch::Tensor flat(std::span<float> values) const {
    return window(values, {static_cast<std::int64_t>(values.size())});
  }

  Batch batch_of(const Dataset& data, std::span<const std::uint32_t> samples) const {
    const Batch batch = make_batch(data, samples);
    return {batch.inputs.to(device_), batch.targets.to(device_)};
  }

  // Frozen parameters keep memory of their own.
  void freeze() {
    std::vector<float> values = whole_first_point(config_, whole_, start_.get());
    const auto parameters = network_->parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const LayoutLayer& layer = whole_.layers[i];
      if (!is_named_by(layer.name, config_.model.frozen)) continue;
      torch::Tensor parameter = parameters[i];
      const auto on_host = torch::from_blob(values.data() + layer.offset, layer.shape);
      parameter.set_data(on_host.to(device_, /*non_blocking=*/false, /*copy=*/true));
      parameter.set_requires_grad(false);
    }
  }

  // The mean over equal parts is the mean of the parts' means.
  double backward(std::span<const std::uint32_t> samples) {
    flat(gradient_).zero_();
    const auto parts = static_cast<std::size_t>(config_.data.accumulate);
    const std::size_t size = samples.size() / parts;
    double loss = 0;
    for (std::size_t i = 0; i < parts; ++i)
      loss += backward_part(samples.subspan(i * size, size), static_cast<double>(parts));
    return loss;
  }

  double backward_part(std::span<const std::uint32_t> samples, double parts) {
    const Batch batch = batch_of(data_.train, samples);
    const auto scores = one_row_a_target(scores_of(*network_, batch.inputs, config_.model.compute));
    auto loss = torch::nn::functional::cross_entropy(scores, batch.targets.flatten());
    if (parts > 1) loss = loss / parts;
    loss.backward();
    return loss.item<float>();
  }

  void score(std::span<const std::uint32_t> samples, EvaluationNumbers& numbers) {
    const torch::NoGradGuard no_gradient;
    const Batch batch = batch_of(data_.test, samples);
    const auto scores = one_row_a_target(scores_of(*network_, batch.inputs, config_.model.compute));
    const auto targets = batch.targets.flatten();
    const auto hits = scores.argmax(1).eq(targets).sum().item<std::int64_t>();
    const auto options = torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kSum);
    numbers.correct += static_cast<std::uint64_t>(hits);
    numbers.samples += static_cast<std::uint64_t>(targets.numel());
    numbers.loss_sum +=
        torch::nn::functional::cross_entropy(scores, targets, options).item<float>();
  }

  bool gradient_is_finite() const {
    if (!device_.is_cuda()) return all_finite(gradient_);
    return flat(gradient_).isfinite().all().item<bool>();
  }

  // A parameter that is already broken spoils every layer's gradient, so it is named first.
  Error not_finite() const {
    const auto where = [&](std::span<float> vector) {
      const torch::Tensor on_host = flat(vector).cpu();
      const std::span values(on_host.const_data_ptr<float>(), vector.size());
      return std::find_if(layout_.layers.begin(), layout_.layers.end(), [&](const auto& layer) {
        return !all_finite(values.subspan(layer.offset, layer.size));
      });
    };
    if (const auto bad = where(parameters_); bad != layout_.layers.end())
      return {ErrorCode::kNotFinite,
              "the parameters of layer '" + bad->name + "' hold NaN or infinity"};
    if (const auto bad = where(gradient_); bad != layout_.layers.end())
      return {ErrorCode::kNotFinite,
              "the gradient of layer '" + bad->name + "' holds NaN or infinity"};
    return {ErrorCode::kNotFinite,
            "the loss, after layer '" + layout_.layers.back().name + "', is NaN or infinity"};
  }

  RunConfig config_;
  std::shared_ptr<const std::vector<float>> start_;  // shared by the nodes of this process
  NodeData data_;
  Batches batches_;
  EvaluationProgress tell_;
  std::shared_ptr<NeuralNetwork> network_;  // torch's modules know no other ownership
  Layout whole_;                            // every parameter
  Layout layout_;                           // those that are trained
  torch::Device device_;                    // where gradients are computed
  std::span<float> parameters_, gradient_;  // there
};

}  // namespace

WholeModel whole_model(const RunConfig& config, const TrainingData& data) {
  return with_torch([&] {
    const auto network = make_network(*config.model.kind, data.source->shape());
    return WholeModel{layout_of(*network), with_frozen(config.model, *network)};
  });
}

NamedValues own_values(const RunConfig& config, const TrainingData& data) {
  return with_torch([&] {
    const auto network = make_network(*config.model.kind, data.source->shape());
    NamedValues values{layout_of(*network), {}};
    for (const torch::Tensor& parameter : network->parameters()) {
      const auto flat = parameter.detach().contiguous();
      values.values.insert(values.values.end(), flat.const_data_ptr<float>(),
                           flat.const_data_ptr<float>() + flat.numel());
    }
    return values;
  });
}

Layout model_layout(const RunConfig& config, const TrainingData& data) {
  const WholeModel whole = whole_model(config, data);
  return part_of(whole.layout, whole.options, false);
}

Result<std::unique_ptr<Objective>> make_trainer(const RunConfig& config, const TrainingData& data,
                                                NodeIndex node, EvaluationProgress tell) {
  auto own = read_node_data(data, node, config.seed);
  if (!own) return own.error();
  return with_torch([&]() -> std::unique_ptr<Objective> {
    return std::make_unique<Trainer>(config, data.start, std::move(*own), node, std::move(tell));
  });
}

void set_up_training(int threads) {
  KIMESH_CHECK(threads > 0, "a thread to compute with");
  keep_freed_memory();
  at::set_num_threads(threads);
  at::globalContext().setDeterministicAlgorithms(true, false);
  // Else every fresh tensor is filled with NaN first, at the price of a pass over memory.
  at::globalContext().setDeterministicFillUninitializedMemory(false);
}

Status use_gpu_for_training() {
  return with_torch([] { return load_torch_cuda(); });
}

std::string training_environment() {
  return "LibTorch " TORCH_VERSION ", " + std::to_string(at::get_num_threads()) +
         (at::get_num_threads() == 1 ? " thread, " : " threads, ") + at::get_cpu_capability() +
         (torch_device().is_cuda() ? ", CUDA" : "");
}

}  // namespace kimesh
