// kimesh eval MODEL --config CONFIG: how good a saved model is on the whole test set, and what text
// it writes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "commands.h"
#include "job.h"
#include "kimesh/data/token_text.h"
#include "kimesh/model_files/model_files.h"
#include "kimesh/objective/plugin_model.h"
#include "kimesh/records/summary.h"
#include "kimesh/records/text_file.h"
#include "kimesh/train/generate.h"
#include "kimesh/train/weights.h"
#include "kimesh/util/aligned_buffer.h"
#include "live_view.h"
#include "outputs.h"
#include "say.h"

namespace kimesh::cli {
namespace {

// Reads a config and prints every problem. Returns nothing when there was one.
std::optional<RunConfig> config_with_a_test_set(const std::string& path) {
  Loaded<RunConfig> config = load_config(path);
  // All tensors of the model come from the file.
  config.value.model.weights.clear();
  config.value.model.frozen.clear();
  config.value.model.fresh.clear();
  if (config.ok()) config.problems = lacking_files(config.value);
  for (const Problem& problem : config.problems) complain(to_string(problem));
  if (!config.ok()) return std::nullopt;
  if (config.value.plugin() == nullptr && !config.value.trains_a_model()) {
    complain(path + ": it has no test set. Name a config with model and data.");
    return std::nullopt;
  }
  return std::move(config.value);
}

Error wrong_input(const Error& error) {
  return {ErrorCode::kUserInput, error.message};
}

// A plugin gives its whole test set to the one node of a mesh.
Result<EvaluationNumbers> numbers_of_plugin(const std::string& model, const RunConfig& config) {
  const auto mesh = make_plugin_mesh({*config.plugin(), config.places, {1.0}, config.seed});
  if (!mesh) return mesh.error();
  if (!(*mesh)->has_test_set())
    return Error{ErrorCode::kUserInput,
                 fmt::format("{} has no evaluate, and so no test set", config.plugin()->library)};
  const auto values = read_model(model, (*mesh)->layout());
  if (!values) return wrong_input(values.error());
  const auto objective = (*mesh)->part(0);
  if (!objective) return objective.error();
  AlignedBuffer parameters(values->size()), gradient(values->size());
  std::ranges::copy(*values, parameters.span().begin());
  (*objective)->bind(parameters.span(), gradient.span());
  const auto numbers = (*objective)->evaluate();
  if (!numbers) return numbers;
  if (numbers->samples == 0)
    return Error{ErrorCode::kIo,
                 fmt::format("{} scored no sample of its test set", config.plugin()->library)};
  return numbers;
}

// The data of a mesh of one node, which has all of it, with the model as the first point.
Result<TrainingData> data_with(const std::string& model, const RunConfig& config) {
  auto data = prepare_training_data(config, 1, {});
  if (!data) return data;
  std::vector<std::string> skipped;
  const auto tensors = read_tensors(model, skipped);
  if (!tensors) return wrong_input(tensors.error());
  const auto unused = start_from(config, *tensors, *data);
  if (!unused) return Error{ErrorCode::kUserInput, model + ": " + unused.error().message};
  data->parts[0].resize(1);  // scoring needs no training sample, a trainer needs one
  return data;
}

Result<EvaluationNumbers> numbers_of(const RunConfig& config, const TrainingData& data) {
  ProgressRow row;
  const auto objective = make_trainer(config, data, 0, [&](std::size_t scored, std::size_t all) {
    row.show(static_cast<double>(scored) / static_cast<double>(all));
  });
  if (!objective) return objective.error();
  AlignedBuffer parameters((*objective)->layout().size()), gradient(parameters.size());
  (*objective)->initialise(parameters.span());
  (*objective)->bind(parameters.span(), gradient.span());
  return (*objective)->evaluate();
}

std::vector<Figure> figures_of_evaluation(const RunConfig& config,
                                          const EvaluationNumbers& numbers) {
  const auto samples = static_cast<double>(numbers.samples);
  const double accuracy = static_cast<double>(numbers.correct) / samples;
  const double loss = numbers.loss_sum / samples;
  std::vector<Figure> figures = {
      {"accuracy", accuracy, "1", {accuracy}},
      {"loss", loss, "nat", {loss}},
      {"samples", samples, "1", {samples}},
  };
  if (config.model.kind->reads_tokens())
    figures.push_back({"perplexity", std::exp(loss), "1", {std::exp(loss)}});
  return figures;
}

Status say_figures(const EvalOptions& options, const std::vector<Figure>& figures) {
  for (const Figure& figure : figures)
    say(fmt::format("  {:<14}{:.6g}", figure.name, figure.value));
  if (options.json.empty()) return ok_status();
  return write_whole(options.json, std::string_view(figures_json(figures)));
}

Error refused_prompt(const std::string& why) {
  return {ErrorCode::kUserInput,
          fmt::format("--prompt: {}. Give a text of what the model was trained on", why)};
}

// Without --prompt a sample follows the end of a line, or, in a text of one line, the most frequent
// token.
Result<TextRequest> request_of(const EvalOptions& options, const TokenText& text) {
  TextRequest request{{}, options.sample, options.temperature, options.seed, {}};
  auto prompt = text.tokens_of(options.prompt.empty() ? "\n" : options.prompt);
  if (!options.prompt.empty() && !prompt) return refused_prompt(prompt.error().message);
  if (prompt) request.prompt = std::move(*prompt);
  if (!options.prompt.empty() && request.prompt.empty()) return refused_prompt("it holds no token");
  if (request.prompt.empty()) request.prompt = {0};
  return request;
}

Result<std::vector<std::uint16_t>> written(TextRequest request, const RunConfig& config,
                                           const TrainingData& data) {
  ProgressRow row;
  request.tell = [&](std::size_t drawn) {
    row.show(static_cast<double>(drawn) / static_cast<double>(request.tokens));
  };
  return generate_tokens(config, data, request);
}

Status say_text(TextRequest request, const RunConfig& config, const TrainingData& data) {
  const auto tokens = written(std::move(request), config, data);
  if (!tokens) return tokens.error();
  say("\n" + data.source->token_text()->text_of(*tokens));
  return ok_status();
}

int evaluate_plugin(const EvalOptions& options, const RunConfig& config) {
  const auto numbers = numbers_of_plugin(options.model, config);
  if (!numbers) return fail(numbers.error());
  const Status said = say_figures(options, figures_of_evaluation(config, *numbers));
  return said.ok() ? kExitDone : fail(said.error());
}

}  // namespace

int evaluate(const EvalOptions& options) {
  if (const Status place =
          check_output({"--json", options.json, {options.model, options.config}, {}, "", ".json"});
      !place)
    return fail(place.error());
  const auto config = config_with_a_test_set(options.config);
  if (!config) return kExitUser;
  if (options.sample > 0 && !config->model.kind->reads_tokens()) {
    complain(options.config + ": its model writes no text. Leave --sample out.");
    return kExitUser;
  }
  const auto cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  set_up_training(config->threads > 0 ? config->threads : cores);
  if (config->plugin() != nullptr) return evaluate_plugin(options, *config);
  const auto data = data_with(options.model, *config);
  if (!data) return fail(data.error());
  std::optional<TextRequest> request;
  if (options.sample > 0) {
    auto asked = request_of(options, *data->source->token_text());
    if (!asked) return fail(asked.error());
    request = std::move(*asked);
  }
  const auto numbers = numbers_of(*config, *data);
  if (!numbers) return fail(numbers.error());
  Status status = say_figures(options, figures_of_evaluation(*config, *numbers));
  if (status.ok() && request) status = say_text(std::move(*request), *config, *data);
  return status.ok() ? kExitDone : fail(status.error());
}

}  // namespace kimesh::cli
