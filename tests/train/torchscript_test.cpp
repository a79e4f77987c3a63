// Networks that torch.jit.save wrote, made here as a program of PyTorch makes them.
#include <torch/csrc/jit/api/module.h>
#include <torch/types.h>

#include <filesystem>
#include <fstream>

#include "kimesh/run/run_config.h"
#include "kimesh/train/training_mesh.h"
#include "kimesh/train/weights.h"
#include "tests/train/fixture.h"

namespace kimesh::torchscript_test {
namespace {

constexpr std::int64_t kPixels = 64, kClasses = 10;

// A folder for the test's files.
struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("kimesh-torchscript-" + std::to_string(::getpid()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  [[nodiscard]] std::string file(const std::string& name) const { return (path / name).string(); }
};

// Values like those of a network that was drawn: both signs, none alike.
torch::Tensor values(torch::IntArrayRef shape, double step = 1.7) {
  const auto count = static_cast<double>(c10::multiply_integers(shape));
  return (0.1 * torch::sin(step * torch::arange(count))).to(torch::kFloat32).reshape(shape);
}

// One dense layer, `head`, in a module of its own.
torch::jit::Module dense_script(const torch::Tensor& weight, const torch::Tensor& bias) {
  torch::jit::Module net("Net"), head("Head");
  head.register_parameter("weight", weight, false);
  head.register_parameter("bias", bias, false);
  head.define("def forward(self, x):\n    return torch.linear(x, self.weight, self.bias)\n");
  net.register_module("head", head);
  net.define("def forward(self, x):\n    return self.head.forward(x.flatten(1))\n");
  return net;
}

RunConfig script_config(const std::string& file, const std::string& more = "") {
  RunConfig config;
  config.model = model_options("kind: torchscript, file: " + file + more);
  return config;
}

std::string refusal(const std::string& file) {
  const auto data = prepare_training_data(script_config(file), 1, {});
  return data.ok() ? "" : data.error().message;
}

// Seen to fail with values that are drawn in place of the file's.
TEST(TorchScript, TrainsWithTheBitsOfTheSameNetworkOfItsOwn) {
  const Folder folder;
  const RunConfig own = mlp_config("[]");
  const TrainingData own_data = make_data(own, 1);
  BoundTrainer dense(own, own_data, 0);
  ASSERT_EQ(dense.parameters.size(), static_cast<std::size_t>(kClasses * (kPixels + 1)));
  for (float& value : dense.parameters.span()) value /= 2;  // not what is drawn
  const auto weight = torch::from_blob(dense.parameters.span().data(), {kClasses, kPixels}).clone();
  const auto bias =
      torch::from_blob(dense.parameters.span().data() + kClasses * kPixels, {kClasses}).clone();
  dense_script(weight, bias).save(folder.file("net.pt"));

  const RunConfig config = script_config(folder.file("net.pt"));
  const auto mesh = make_training_mesh(config, 1, {});
  ASSERT_TRUE(mesh.ok()) << mesh.error().message;
  EXPECT_EQ((*mesh)->layout().layers[0].name, "head.weight");
  EXPECT_EQ((*mesh)->layout().layers[1].name, "head.bias");
  const auto part = (*mesh)->part(0);
  ASSERT_TRUE(part.ok()) << part.error().message;
  AlignedBuffer parameters(dense.parameters.size()), gradient(parameters.size());
  (*part)->initialise(parameters.span());
  EXPECT_TRUE(std::ranges::equal(parameters.span(), dense.parameters.span()));
  (*part)->bind(parameters.span(), gradient.span());
  for (Round round = 0; round < 5; ++round) {
    const auto numbers = (*part)->gradient(round);
    ASSERT_TRUE(numbers.ok());
    EXPECT_EQ(numbers->loss, dense.loss(round));
    EXPECT_TRUE(std::ranges::equal(gradient.span(), dense.gradient.span())) << round;
    for (std::size_t j = 0; j < parameters.size(); ++j) {
      parameters.span()[j] -= 0.1F * gradient.span()[j];
      dense.parameters.span()[j] -= 0.1F * dense.gradient.span()[j];
    }
  }
  EXPECT_EQ((*part)->evaluate()->correct, dense.objective->evaluate()->correct);
}

// Seen to fail where both names got values of their own.
TEST(TorchScript, KnowsAParameterThatTwoLayersShareOnce) {
  const Folder folder;
  torch::jit::Module net("Net"), first("First"), second("Second");
  const auto shared = values({kClasses, kClasses}, 2.3);
  net.register_parameter("down", values({kClasses, kPixels}), false);
  first.register_parameter("weight", shared, false);
  second.register_parameter("weight", shared, false);
  for (torch::jit::Module* module : {&first, &second})
    module->define("def forward(self, x):\n    return torch.linear(x, self.weight)\n");
  net.register_module("first", first);
  net.register_module("second", second);
  net.define(
      "def forward(self, x):\n"
      "    y = torch.linear(x.flatten(1), self.down)\n"
      "    return self.second.forward(torch.relu(self.first.forward(y)))\n");
  net.save(folder.file("net.pt"));
  const RunConfig config = script_config(folder.file("net.pt"));
  TrainingData data = make_data(config, 1);
  ASSERT_TRUE(start_from(config, own_values(config, data), data).ok());
  BoundTrainer trainer(config, data, 0);
  EXPECT_EQ(trainer.parameters.size(),
            static_cast<std::size_t>(kClasses * kPixels + kClasses * kClasses));
  const double before = trainer.loss(0);
  for (Round step = 0; step < 300; ++step) {
    trainer.loss(0);
    for (std::size_t j = 0; j < trainer.parameters.size(); ++j)
      trainer.parameters.span()[j] -= 0.1F * trainer.gradient.span()[j];
  }
  EXPECT_LT(trainer.loss(0), 0.9 * before);
}

TEST(TorchScript, DrawsAnewWhatIsFresh) {
  const Folder folder;
  dense_script(torch::ones({kClasses, kPixels}), torch::ones({kClasses})).save(folder.file("n.pt"));
  const RunConfig config = script_config(folder.file("n.pt"), ", fresh: [head.bias]");
  const auto mesh = make_training_mesh(config, 1, {});
  ASSERT_TRUE(mesh.ok()) << mesh.error().message;
  const auto part = (*mesh)->part(0);
  AlignedBuffer parameters((*mesh)->layout().size());
  (*part)->initialise(parameters.span());
  EXPECT_EQ(parameters.span().front(), 1);
  EXPECT_NE(parameters.span().back(), 1);
}

// A dense layer whose inputs pass the lines of `code` first, with what these need in the module.
torch::jit::Module script_of(torch::jit::Module net, const std::string& code) {
  net.register_attribute("training", c10::BoolType::get(), true);
  net.register_parameter("w", values({kClasses, kPixels}), false);
  net.define("def forward(self, x):\n    y = x.flatten(1)\n" + code +
             "    return torch.linear(y, self.w)\n");
  return net;
}

// The complaint about such a script, without its file's name; "": there is none.
std::string refusal_of(const torch::jit::Module& net, const Folder& folder) {
  net.save(folder.file("net.pt"));
  const std::string said = refusal(folder.file("net.pt"));
  return said.empty() ? "" : said.substr((folder.file("net.pt") + ": ").size());
}

// Seen to fail: such scripts trained, with other gradients in every run.
TEST(TorchScript, ThatDrawsByChanceInEvalIsRefused) {
  const Folder folder;
  const std::string sentence =
      "it draws random numbers in eval(), so that no two runs would be alike. Save it without "
      "them: call model.eval() before torch.jit.trace, and give dropout its module's state, as "
      "F.dropout(x, p, self.training) does.";
  for (const std::string chance :
       {"torch.dropout(y, 0.5, True)", "torch.dropout(y, 0.0001, True)", "y + torch.rand_like(y)"})
    EXPECT_EQ(refusal_of(script_of(torch::jit::Module("Net"), "    y = " + chance + "\n"), folder),
              sentence)
        << chance;
  for (const std::string none :
       {"torch.dropout(y, 0.5, self.training)", "torch.dropout(y, 0.0, True)"})
    EXPECT_EQ(refusal_of(script_of(torch::jit::Module("Net"), "    y = " + none + "\n"), folder),
              "")
        << none;
}

// Seen to fail: every buffer refused, and none.
TEST(TorchScript, MayHoldBuffersThatTrainingLeavesAlone) {
  const Folder folder;
  torch::jit::Module masked("Net");
  masked.register_buffer("mask", torch::ones({kPixels}));
  masked.register_buffer("order", torch::arange(3));
  EXPECT_EQ(refusal_of(script_of(masked, "    y = y * self.mask\n"), folder), "");
  for (const std::string change : {"self.seen.add_(1)", "self.seen = self.seen + 1"})
    for (const std::string condition : {"self.training", "not self.training"}) {
      torch::jit::Module counts("Net");
      counts.register_buffer("seen", torch::zeros({1}));
      EXPECT_EQ(refusal_of(script_of(counts, "    if " + condition + ":\n        " + change + "\n"),
                           folder),
                "it changes its buffer 'seen' when it is called, and the nodes would not share "
                "that. Save it with buffers that stay as they are: GroupNorm or LayerNorm in place "
                "of BatchNorm.")
          << condition << ": " << change;
    }
}

// A script with a scale before its dense layer, as saved with these flags requires_grad.
torch::jit::Module scaled_script(bool scale_learns, bool weight_learns) {
  torch::jit::Module net("Net");
  net.register_parameter("scale", torch::full({kPixels}, 0.5F).set_requires_grad(scale_learns),
                         false);
  net.register_parameter("w", values({kClasses, kPixels}).set_requires_grad(weight_learns), false);
  net.define("def forward(self, x):\n    return torch.linear(x.flatten(1) * self.scale, self.w)\n");
  return net;
}

std::vector<std::string> names_of(const Layout& layout) {
  std::vector<std::string> names;
  for (const LayoutLayer& layer : layout.layers) names.push_back(layer.name);
  return names;
}

// Seen to fail: all parameters trained, whatever the script says of them.
TEST(TorchScript, TrainsNoParameterThatItsScriptFreezes) {
  const Folder folder;
  scaled_script(false, true).save(folder.file("net.pt"));
  const auto mesh = make_training_mesh(script_config(folder.file("net.pt")), 1, {});
  ASSERT_TRUE(mesh.ok()) << mesh.error().message;
  EXPECT_EQ(names_of((*mesh)->layout()), std::vector<std::string>{"w"});
  EXPECT_EQ(names_of((*mesh)->frozen().layout), std::vector<std::string>{"scale"});
  EXPECT_EQ((*mesh)->frozen().values, std::vector<float>(kPixels, 0.5F));
  const auto part = (*mesh)->part(0);
  ASSERT_TRUE(part.ok()) << part.error().message;
  ASSERT_EQ(names_of((*part)->layout()), std::vector<std::string>{"w"});

  // The same as where the config freezes it.
  scaled_script(true, true).save(folder.file("free.pt"));
  const auto by_config =
      make_training_mesh(script_config(folder.file("free.pt"), ", frozen: [scale]"), 1, {});
  ASSERT_TRUE(by_config.ok()) << by_config.error().message;
  const auto other = (*by_config)->part(0);
  AlignedBuffer parameters(kClasses * kPixels), gradient(parameters.size());
  AlignedBuffer other_parameters(parameters.size()), other_gradient(parameters.size());
  (*part)->initialise(parameters.span());
  (*part)->bind(parameters.span(), gradient.span());
  (*other)->initialise(other_parameters.span());
  (*other)->bind(other_parameters.span(), other_gradient.span());
  EXPECT_EQ((*part)->gradient(0)->loss, (*other)->gradient(0)->loss);
  EXPECT_TRUE(std::ranges::equal(gradient.span(), other_gradient.span()));
}

// Seen to fail: nothing left to train of a script that was saved for inference, and a layer that is
// drawn anew frozen.
TEST(TorchScript, TrainsWhatAScriptForInferenceHoldsAndWhatIsFresh) {
  const Folder folder;
  const std::vector<std::string> all{"scale", "w"};
  scaled_script(false, false).save(folder.file("net.pt"));
  const auto inference = make_training_mesh(script_config(folder.file("net.pt")), 1, {});
  ASSERT_TRUE(inference.ok()) << inference.error().message;
  EXPECT_EQ(names_of((*inference)->layout()), all);
  scaled_script(true, false).save(folder.file("net.pt"));
  const RunConfig config = script_config(folder.file("net.pt"), ", fresh: [w]");
  const auto fresh = make_training_mesh(config, 1, {});
  ASSERT_TRUE(fresh.ok()) << fresh.error().message;
  EXPECT_EQ(names_of((*fresh)->layout()), all);
  const auto part = (*fresh)->part(0);
  ASSERT_TRUE(part.ok()) << part.error().message;
  AlignedBuffer parameters((*fresh)->layout().size()), gradient(parameters.size());
  (*part)->initialise(parameters.span());
  (*part)->bind(parameters.span(), gradient.span());
  ASSERT_TRUE((*part)->gradient(0).ok());
  const auto of_w = gradient.span().subspan(kPixels);
  EXPECT_TRUE(std::ranges::any_of(of_w, [](float value) { return value != 0; }));
  EXPECT_EQ(refusal(folder.file("net.pt")), "");
  const auto none =
      prepare_training_data(script_config(folder.file("net.pt"), ", frozen: [scale]"), 1, {});
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message.find("nothing is left to train"), std::string::npos);
}

// Each is one sentence that names the file. Seen to fail without the trial call, and without the
// look at buffers.
TEST(TorchScript, ThatCannotBeTrainedIsRefusedWithASentence) {
  const Folder folder;
  const auto weight = values({kClasses, kPixels}), bias = values({kClasses});
  std::ofstream(folder.file("text.pt")) << "no archive";
  EXPECT_NE(refusal(folder.file("text.pt")).find("text.pt: it cannot be used: "), std::string::npos)
      << refusal(folder.file("text.pt"));
  dense_script(values({3, kPixels}), values({3})).save(folder.file("classes.pt"));
  EXPECT_EQ(refusal(folder.file("classes.pt")),
            folder.file("classes.pt") +
                ": it makes scores of shape [2, 3] from two samples. The data ask for [2, 10].");
  dense_script(values({kClasses, 7}), bias).save(folder.file("inputs.pt"));
  EXPECT_NE(refusal(folder.file("inputs.pt")).find("it cannot be used: "), std::string::npos);
  dense_script(weight.to(torch::kFloat64), bias).save(folder.file("double.pt"));
  EXPECT_NE(refusal(folder.file("double.pt")).find("'head.weight' is no float32"),
            std::string::npos);
  torch::jit::Module statistics = dense_script(weight, bias);
  statistics.register_buffer("running_mean", torch::zeros({3}));
  statistics.save(folder.file("statistics.pt"));
  EXPECT_NE(refusal(folder.file("statistics.pt")).find("running statistics in 'running_mean'"),
            std::string::npos);
  torch::jit::Module empty("Net");
  empty.define("def forward(self, x):\n    return x.flatten(1)\n");
  empty.save(folder.file("empty.pt"));
  EXPECT_NE(refusal(folder.file("empty.pt")).find("it has no parameters"), std::string::npos);

  const std::vector<Problem> missing = missing_files(script_config(folder.file("none.pt")));
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_NE(to_string(missing[0]).find("there is no file " + folder.file("none.pt")),
            std::string::npos)
      << to_string(missing[0]);
}

}  // namespace
}  // namespace kimesh::torchscript_test
