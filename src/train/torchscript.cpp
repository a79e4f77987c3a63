// kind: torchscript. A network that torch.jit.save wrote, with the values in it.
#include <ATen/CPUGeneratorImpl.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>

#include <map>
#include <mutex>
#include <set>

#include "check_model.h"
#include "kimesh/config/keys.h"
#include "models.h"

namespace kimesh {
namespace {

// The script's parameters under their names, which dots divide into modules. Those that were saved
// without requires_grad are frozen, unless all were: code for inference saves them so.
struct ScriptNetwork : NeuralNetwork {
  explicit ScriptNetwork(torch::jit::Module the_script) : script(std::move(the_script)) {
    script.eval();               // no dropout, where the script asks for its state
    std::set<const void*> seen;  // a parameter that two layers share is one
    bool any_learns = false;
    for (const auto& parameter : script.parameters()) any_learns |= parameter.requires_grad();
    for (const auto& parameter : script.named_parameters())
      if (seen.insert(parameter.value.unsafeGetTensorImpl()).second) {
        const bool learns = parameter.value.requires_grad() || !any_learns;
        parameter.value.detach_();
        add(parameter.name, [&](torch::nn::Module& module, const std::string& name) {
          module.register_parameter(name, parameter.value, learns);
        });
      }
    for (const auto& buffer : script.named_buffers())
      add(buffer.name, [&](torch::nn::Module& module, const std::string& name) {
        module.register_buffer(name, buffer.value);
      });
  }

  torch::Tensor forward(const torch::Tensor& inputs) override {
    return script.forward({inputs}).toTensor();
  }

  torch::jit::Module script;

 private:
  template <typename Register>
  void add(const std::string& path, const Register& register_in) {
    torch::nn::Module* module = this;
    std::size_t begin = 0;
    for (std::size_t dot = path.find('.'); dot != std::string::npos; dot = path.find('.', begin)) {
      const std::string before = path.substr(0, dot);
      auto& inner = modules_[before];
      if (inner == nullptr)
        inner = module->register_module(path.substr(begin, dot - begin),
                                        std::make_shared<torch::nn::Module>());
      module = inner.get();
      begin = dot + 1;
    }
    register_in(*module, path.substr(begin));
  }

  std::map<std::string, std::shared_ptr<torch::nn::Module>> modules_;
};

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// Two samples, of which a script shows whether it can be called with such ones at all, and what a
// call changes: their mean is not 0, and the numbers of images and rows all differ.
torch::Tensor trial_samples(const SampleShape& shape) {
  constexpr std::int64_t kSamples = 2;
  if (shape.kind == SampleShape::Kind::kTokens)
    return torch::arange(kSamples * shape.length)
        .remainder(shape.vocabulary)
        .reshape({kSamples, shape.length});
  const std::int64_t numbers = kSamples * shape.channels * shape.height * shape.width;
  return torch::linspace(-0.5, 1, numbers)
      .reshape({kSamples, shape.channels, shape.height, shape.width});
}

std::map<std::string, torch::Tensor> copies_of_buffers(const torch::jit::Module& script) {
  std::map<std::string, torch::Tensor> copies;
  for (const auto& buffer : script.named_buffers()) copies[buffer.name] = buffer.value.clone();
  return copies;
}

// The name of a buffer that calls change, in training mode or not; empty: there is none. Changes
// the network.
std::string changed_buffer(ScriptNetwork& network, const torch::Tensor& samples) {
  const auto before = copies_of_buffers(network.script);
  if (before.empty()) return {};
  for (const bool training : {false, true}) {
    network.script.train(training);
    (void)network.forward(samples);
  }
  for (const auto& [name, after] : copies_of_buffers(network.script)) {
    const torch::Tensor& value = before.at(name);
    if (value.scalar_type() != after.scalar_type() || !torch::equal(value, after)) return name;
  }
  return {};
}

// Where LibTorch's own generator stands, from which a script draws: another state after a call says
// that the call drew, however little of it shows in the scores.
torch::Tensor generator_state() {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard<std::mutex> lock(generator.mutex());
  return generator.get_state();
}

std::vector<std::int64_t> wanted_shape(const SampleShape& shape) {
  if (shape.kind == SampleShape::Kind::kTokens) return {2, shape.length, shape.classes};
  return {2, shape.classes};
}

class TorchScript final : public ModelKind {
 public:
  void describe(Keys& keys) override {
    keys.require("file", "file: with what torch.jit.save wrote, such as model.pt");
    keys.path("file", file_, "the network with its values, as torch.jit.save writes it");
    keys.flag("tokens", tokens_, "it reads tokens, and scores each one that may follow");
  }
  bool reads_tokens() const override { return tokens_; }
  // What a script makes besides its parameters lies where it was traced.
  bool suits_gpus() const override { return false; }
  std::string file() const override { return file_; }
  bool has_values() const override { return true; }

  Status suits(const SampleShape& shape) const override {
    try {
      ScriptNetwork network(load());
      if (network.parameters().empty())
        return refused("it has no parameters", "there is nothing to train");
      for (const auto& parameter : network.named_parameters())
        if (parameter.value().scalar_type() != torch::kFloat32)
          return refused("'" + parameter.key() + "' is no float32", "Save it with model.float()");
      if (const auto complaint = complaint_about(network))
        return Error{ErrorCode::kUserInput, file_ + ": " + *complaint + "."};
      const torch::NoGradGuard no_gradient;
      const auto samples = trial_samples(shape);
      const auto state = generator_state();
      const auto scores = network.forward(samples);
      if (scores.scalar_type() != torch::kFloat32 || scores.sizes() != wanted_shape(shape))
        return refused(
            "it makes scores of shape " + shape_text(scores.sizes().vec()) + " from two samples",
            "The data ask for " + shape_text(wanted_shape(shape)));
      if (!torch::equal(state, generator_state()))
        return refused("it draws random numbers in eval(), so that no two runs would be alike",
                       "Save it without them: call model.eval() before torch.jit.trace, and give "
                       "dropout its module's state, as F.dropout(x, p, self.training) does");
      if (const auto name = changed_buffer(network, samples); !name.empty())
        return refused("it changes its buffer '" + name +
                           "' when it is called, and the nodes would not share that",
                       "Save it with buffers that stay as they are: GroupNorm or LayerNorm in "
                       "place of BatchNorm");
    } catch (const std::exception& trouble) {
      return refused("it cannot be used: " + first_line(trouble.what()),
                     "Save a network for samples of this data with torch.jit.save");
    }
    return ok_status();
  }

  std::shared_ptr<NeuralNetwork> make_network(const SampleShape&) const override {
    return std::make_shared<ScriptNetwork>(load());
  }

 private:
  // Without what a script learns about itself while it runs: the same call has the same bits,
  // however many came before it.
  [[nodiscard]] torch::jit::Module load() const {
    torch::jit::setGraphExecutorOptimize(false);
    return torch::jit::load(file_);
  }
  [[nodiscard]] Error refused(const std::string& what, const std::string& remedy) const {
    return {ErrorCode::kUserInput, file_ + ": " + what + ". " + remedy + "."};
  }

  std::string file_;
  bool tokens_ = false;
};

}  // namespace

extern const Kind<ModelKind> kTorchScript;
const Kind<ModelKind> kTorchScript = {
    "torchscript", "a network that torch.jit.save wrote (PyTorch has deprecated TorchScript)",
    make_options<TorchScript, ModelKind>};

}  // namespace kimesh
