#include "models.h"

#include <ATen/autocast_mode.h>
#include <c10/util/Exception.h>

#include "check_model.h"
#include "first_point.h"
#include "kimesh/train/torch_models.h"
#include "kimesh/util/check.h"

namespace kimesh {
namespace {

// Torch's own choice of what bfloat16 is good enough for, while this lives: products of matrices
// and convolutions, but no norms and no sums. Thread: the one that made it.
class Bfloat16Compute {
 public:
  explicit Bfloat16Compute(torch::DeviceType device) : device_(device) {
    at::autocast::set_autocast_dtype(device_, at::kBFloat16);
    at::autocast::set_autocast_enabled(device_, true);
  }
  ~Bfloat16Compute() {
    at::autocast::clear_cache();  // of parameters that the next round changes
    at::autocast::set_autocast_enabled(device_, false);
  }
  Bfloat16Compute(const Bfloat16Compute&) = delete;
  Bfloat16Compute& operator=(const Bfloat16Compute&) = delete;

 private:
  torch::DeviceType device_;
};

// Prints LibTorch's warnings but for one, which would come with every batch: the weights of a
// recurrence lie where the mesh has them, so that cuDNN puts them together in each call.
struct RecurrenceIsQuiet final : c10::WarningHandler {
  void process(const c10::Warning& warning) override {
    if (!warning.msg().starts_with("RNN module weights")) WarningHandler::process(warning);
  }
};

}  // namespace

// The table of models: a line each.
#define KIMESH_MODELS(MODEL) \
  MODEL(kMlp)                \
  MODEL(kCnn)                \
  MODEL(kResnet)             \
  MODEL(kVgg)                \
  MODEL(kLstm)               \
  MODEL(kGru)                \
  MODEL(kTransformer)        \
  MODEL(kTorchScript)

#define DECLARE(kind) extern const Kind<ModelKind> kind;
#define ENTRY(kind) kind,
KIMESH_MODELS(DECLARE)

void add_torch_models() {
  static const bool once = [] {
    for (const Kind<ModelKind>& kind : {KIMESH_MODELS(ENTRY)}) model_kinds().add(kind);
    return true;
  }();
  (void)once;
}

std::shared_ptr<NeuralNetwork> make_network(const ModelKind& kind, const SampleShape& shape) {
  const auto network = kind.make_network(shape);
  const auto complaint = complaint_about(*network);
  KIMESH_CHECK(!complaint, *complaint);
  return network;
}

Layout layout_of(const torch::nn::Module& network) {
  Layout layout;
  std::size_t offset = 0;
  for (const auto& item : network.named_parameters()) {
    const auto size = static_cast<std::size_t>(item.value().numel());
    layout.layers.push_back({item.key(), item.value().sizes().vec(), offset, size});
    offset += size;
  }
  return layout;
}

ModelOptions with_frozen(ModelOptions model, const torch::nn::Module& network) {
  for (const auto& item : network.named_parameters())
    if (!item.value().requires_grad() && !is_named_by(item.key(), model.fresh))
      model.frozen.push_back(item.key());
  return model;
}

torch::Tensor scores_of(NeuralNetwork& network, const torch::Tensor& inputs, ComputeKind compute) {
  RecurrenceIsQuiet handler;
  const c10::WarningUtils::WarningHandlerGuard of_this_thread(&handler);
  if (compute == ComputeKind::kFloat32) return network.forward(inputs);
  const Bfloat16Compute bfloat16(inputs.device().type());
  return network.forward(inputs).to(torch::kFloat32);
}

std::optional<std::string> complaint_about(const torch::nn::Module& network) {
  for (const auto& buffer : network.named_buffers()) {
    const std::string name = buffer.key().substr(buffer.key().rfind('.') + 1);
    if (name.starts_with("running_") || name == "num_batches_tracked")
      return "the model keeps running statistics in '" + buffer.key() +
             "', which the nodes would not share; use GroupNorm or LayerNorm in place of BatchNorm";
  }
  return std::nullopt;
}

Status check_prefixes(const ModelOptions& model, const SampleShape& shape) {
  if (model.frozen.empty() && model.fresh.empty()) return ok_status();
  const auto network = make_network(*model.kind, shape);
  return check_prefixes(with_frozen(model, *network), layout_of(*network));
}

}  // namespace kimesh
