// Saved models are worth what their run said, and are where another run can start.
#include <limits>

#include "tests/e2e/model_file.h"

namespace kimesh::test::eval_test {
namespace {

const std::string kRest =
    "optimizer: {kind: sgd, lr: 0.1, momentum: 0.9}\ncompression: {policy: none}\n"
    "evaluate_every: 5\nthreads: 1\nseed: 3\n";
const std::string kDigits = "data: {kind: digits, batch: 16}\n";

void simulate(const Scratch& scratch, const std::string& config, const std::string& run) {
  const Ended ended = run_program(
      scratch, {"simulate", "--config", config, "--topology", "topologies/ps4.yaml", "--run", run});
  ASSERT_EQ(ended.code, 0) << ended.out << ended.err;
}

// The value of a figure that `kimesh eval` wrote; NaN: there is none of this name.
double figure(const Scratch& scratch, const std::string& name) {
  const auto json = nlohmann::json::parse(read_text(scratch.path() + "/figures.json"), nullptr,
                                          /*allow_exceptions=*/false);
  for (const auto& figure : json.value("figures", nlohmann::json::array()))
    if (figure["name"] == name) return figure["value"];
  return std::numeric_limits<double>::quiet_NaN();
}

Ended score(const Scratch& scratch, const std::string& model, const std::string& config) {
  return run_program(scratch, {"eval", model, "--config", config, "--json", "figures.json"});
}

// The parameters of mlps with hidden: [32] on digits.
Layout layout_of_mlp() {
  Layout layout;
  std::size_t offset = 0;
  const auto add = [&](const char* name, std::vector<std::int64_t> shape, std::size_t size) {
    layout.layers.push_back({name, std::move(shape), offset, size});
    offset += size;
  };
  add("layers.1.weight", {32, 64}, 32 * 64);
  add("layers.1.bias", {32}, 32);
  add("layers.3.weight", {10, 32}, 10 * 32);
  add("layers.3.bias", {10}, 10);
  return layout;
}

std::vector<float> saved(const Scratch& scratch, const std::string& run) {
  auto model = read_saved_model(scratch.run_file(run, "model.safetensors"), layout_of_mlp());
  EXPECT_FALSE(model.empty()) << "the saved model is not whole";
  model.resize(layout_of_mlp().size());
  return model;
}

// A run that ends by its accuracy says that of the very model it saves.
// Seen to fail: the drawn first point scored in place of the file.
TEST(Eval, GivesTheAccuracyThatTheRunEndedWith) {
  const Scratch scratch;
  scratch.write("config.yaml", "model: {kind: mlp, hidden: [32]}\n" + kDigits + kRest +
                                   "stop: {accuracy: 0.9, rounds: 500}\n");
  simulate(scratch, "config.yaml", "r");
  const Ended ended = score(scratch, "runs/r/model.safetensors", "config.yaml");
  ASSERT_EQ(ended.code, 0) << ended.out << ended.err;
  EXPECT_DOUBLE_EQ(figure(scratch, "accuracy"), scratch.summary("r")["accuracy"].get<double>());
  EXPECT_GE(figure(scratch, "accuracy"), 0.9);
  EXPECT_GT(figure(scratch, "loss"), 0);
  EXPECT_GE(figure(scratch, "samples"), 300);
  EXPECT_TRUE(std::isnan(figure(scratch, "perplexity")));
}

TEST(Eval, OfWhatIsNoModelOfTheConfigIsRefused) {
  const Scratch scratch;
  scratch.write("config.yaml",
                "model: {kind: mlp, hidden: [32]}\n" + kDigits + kRest + "stop: {rounds: 2}\n");
  scratch.write("other.yaml",
                "model: {kind: mlp, hidden: [16]}\n" + kDigits + kRest + "stop: {rounds: 2}\n");
  simulate(scratch, "config.yaml", "r");
  const Ended other = score(scratch, "runs/r/model.safetensors", "other.yaml");
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("runs/r/model.safetensors: the weights have shape [32, 64] in place of "
                           "layer 'layers.1.weight' of shape [16, 64]"),
            std::string::npos)
      << other.err;
  EXPECT_EQ(score(scratch, "nothing.safetensors", "config.yaml").code, 2);
  EXPECT_EQ(score(scratch, "config.yaml", "config.yaml").code, 2);
  EXPECT_EQ(score(scratch, "runs/r/model.safetensors", "configs/quadratic.yaml").code, 2);
}

// Fine-tuning. Seen to fail: the weights not read, which starts at 10 %.
TEST(Weights, OfOneRunAreWhereAnotherStartsAndWhatIsFrozenStays) {
  const Scratch scratch;
  scratch.write("first.yaml", "model: {kind: mlp, hidden: [32]}\n" + kDigits + kRest +
                                  "stop: {accuracy: 0.9, rounds: 500}\n");
  simulate(scratch, "first.yaml", "first");
  scratch.write("second.yaml",
                "model: {kind: mlp, hidden: [32], weights: runs/first/model.safetensors,\n"
                "        frozen: [layers.1]}\n" +
                    kDigits + kRest + "stop: {rounds: 5}\n");
  simulate(scratch, "second.yaml", "second");
  const auto before = saved(scratch, "first"), after = saved(scratch, "second");
  const auto frozen = static_cast<std::ptrdiff_t>(32 * 64 + 32);
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + frozen, after.begin()));
  EXPECT_FALSE(std::equal(before.begin() + frozen, before.end(), after.begin() + frozen));
  EXPECT_GE(scratch.summary("second")["accuracy"].get<double>(), 0.8);
  const Ended ended = score(scratch, "runs/second/model.safetensors", "second.yaml");
  ASSERT_EQ(ended.code, 0) << ended.err;
  EXPECT_GE(figure(scratch, "accuracy"), 0.8);
}

// Every word of the text follows from the one before it. The run ends by its loss, which is that of
// the very model it saves.
TEST(Eval, OfATextTellsThePerplexity) {
  const Scratch scratch;
  std::string text;
  for (int i = 0; i < 600; ++i) text += "the quick brown fox jumps over a lazy dog\n";
  scratch.write("text.txt", text);
  for (const std::string model : {"{kind: transformer, layers: 1, heads: 2, embedding: 16}",
                                  "{kind: lstm, layers: 1, hidden: 32, embedding: 16}"}) {
    scratch.write("config.yaml",
                  "model: " + model +
                      "\ndata: {kind: text, path: text.txt, tokens: word, length: 12, batch: 8}\n"
                      "optimizer: {kind: adamw, lr: 0.01}\ncompression: {policy: none}\n"
                      "stop: {rounds: 500, loss: 0.6}\nevaluate_every: 10\nthreads: 1\nseed: 3\n");
    const std::string run = model.substr(7, 4);
    simulate(scratch, "config.yaml", run);
    const Ended ended = score(scratch, "runs/" + run + "/model.safetensors", "config.yaml");
    ASSERT_EQ(ended.code, 0) << ended.out << ended.err;
    const nlohmann::json summary = scratch.summary(run);
    EXPECT_EQ(summary["reason"], "loss") << model;
    EXPECT_LE(summary["test_loss"], 0.6);
    EXPECT_NEAR(figure(scratch, "loss"), summary["test_loss"].get<double>(), 1e-5);
    EXPECT_NEAR(figure(scratch, "perplexity"), summary["perplexity"].get<double>(), 1e-5);
    EXPECT_LT(figure(scratch, "perplexity"), 2) << model;
    EXPECT_GT(figure(scratch, "accuracy"), 0.8) << model;
  }
}

// What eval prints below the figures.
std::string written_text(const Scratch& scratch, const std::vector<std::string>& options) {
  std::vector<std::string> words{"eval", "runs/r/model.safetensors", "--config", "config.yaml"};
  words.insert(words.end(), options.begin(), options.end());
  const Ended ended = run_program(scratch, words);
  EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
  const std::size_t end = ended.out.find("\n\n");
  return end == std::string::npos ? ended.out : ended.out.substr(end + 2);
}

// A model that has learnt a text by heart writes it. Seen to fail where each token followed the
// prompt alone, and with the first tokens of the context in place of the last ones.
TEST(Eval, LetsAModelOfTextWrite) {
  const Scratch scratch;
  const std::string line = "the quick brown fox jumps over a lazy dog\n";
  std::string text;
  for (int i = 0; i < 600; ++i) text += line;
  scratch.write("text.txt", text);
  const auto config = [&](const std::string& tokens) {
    scratch.write(
        "config.yaml",
        "model: {kind: transformer, layers: 1, heads: 2, embedding: 32}\ndata: {kind: text, "
        "path: text.txt, tokens: " +
            tokens +
            ", length: 13, batch: 8}\noptimizer: {kind: adamw, lr: 0.01}\n"
            "compression: {policy: none}\nstop: {rounds: 500, loss: 0.05}\n"
            "evaluate_every: 10\nthreads: 1\nseed: 3\n");
  };
  config("word");
  simulate(scratch, "config.yaml", "r");
  EXPECT_EQ(written_text(scratch, {"--sample", "20", "--temperature", "0.1"}), line + line + "\n");
  EXPECT_EQ(written_text(scratch, {"--sample", "5", "--temperature", "0.1", "--prompt", "jumps"}),
            "over a lazy dog\n\n");
  // Nearly any token, by chance and the seed.
  const auto wild = [&](const char* seed) {
    return written_text(scratch, {"--sample", "50", "--temperature", "100", "--seed", seed});
  };
  EXPECT_EQ(wild("1"), wild("1"));
  EXPECT_NE(wild("1"), wild("2"));

  const auto refused = [&](const std::vector<std::string>& options) {
    std::vector<std::string> words{"eval", "runs/r/model.safetensors", "--config", "config.yaml"};
    words.insert(words.end(), options.begin(), options.end());
    const Ended ended = run_program(scratch, words);
    EXPECT_EQ(ended.code, 2) << ended.out;
    return ended.err;
  };
  EXPECT_EQ(
      refused({"--sample", "3", "--prompt", "a zebra"}),
      "kimesh: --prompt: 'zebra' does not occur in text.txt. Give a text of what the model was "
      "trained on\n");
  EXPECT_NE(refused({"--prompt", "dog"}).find("--sample"), std::string::npos);
  scratch.write("config.yaml",
                "model: {kind: mlp, hidden: [32]}\n" + kDigits + kRest + "stop: {rounds: 2}\n");
  EXPECT_EQ(refused({"--sample", "3"}),
            "kimesh: config.yaml: its model writes no text. Leave --sample out.\n");
}

}  // namespace
}  // namespace kimesh::test::eval_test
