// The program: its commands and options. The work of each command is in a file of its own.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <exception>

#include "commands.h"
#include "declarations.h"
#include "kimesh/mesh/mesh.h"
#include "kimesh/objective/plugin_model.h"
#include "kimesh/run/explain.h"
#include "kimesh/train/torch_models.h"
#include "mesh_commands.h"
#include "option_values.h"
#include "say.h"
#include "signals.h"

namespace kimesh::cli {
namespace {

void add_check(CLI::App& app, std::vector<std::string>& files, int& code) {
  CLI::App* command = app.add_subcommand("check", "every problem of the user's files");
  command->add_option("FILE", files, "files to check")->type_name(kFile)->required();
  command->callback([&] { code = check(files); });
}

std::string explained() {
  std::vector<std::string_view> names;
  for (const ExplainSection& section : explain_sections()) names.push_back(section.name);
  return fmt::format("{}", fmt::join(names, "|"));
}

void add_explain(CLI::App& app, ExplainOptions& options, int& code) {
  CLI::App* command = app.add_subcommand("explain", "the kinds and keys of the user's files");
  command->add_option("NAME", options.section, "what; without it, a list")->type_name(explained());
  command->add_option("KIND", options.kind, "one of its kinds");
  command->add_flag("--markdown", options.markdown, "all of it, as docs/kinds.md");
  command->callback([&] { code = explain(options); });
}

void add_plan(CLI::App& app, PlanOptions& options, int& code) {
  CLI::App* command = app.add_subcommand("plan", "draw who sends what to whom");
  command->add_option("TOPOLOGY", options.topology, "topologies/*.yaml")
      ->type_name(kFile)
      ->required();
  command->add_option("--config", options.config, "with the sizes of this config's model")
      ->type_name(kFile);
  command->add_option("--json", options.json, "write the plan to this file")->type_name(kFile);
  command->add_flag("--predict", options.predict, "round time, hours and GB, before anyone starts");
  command->add_option("--compute", options.compute, "time of a gradient, such as 10ms")
      ->type_name(kTime);
  CLI::Option* suggest =
      command
          ->add_option("--suggest", options.suggest,
                       "find the joins of its nodes with the shortest round, and write them to "
                       "this new file")
          ->type_name(kFile);
  command
      ->add_option("--measured", options.measured,
                   "a run's folder, whose links' rates count for --suggest; may be repeated")
      ->type_name(kFolder)
      ->allow_extra_args(false)
      ->needs(suggest);
  command->callback([&] { code = plan(options); });
}

void add_keygen(CLI::App& app, KeygenOptions& options, int& code) {
  CLI::App* command = app.add_subcommand("keygen", "make the keys of a mesh's nodes");
  command->add_option("TOPOLOGY", options.topology, "topologies/*.yaml")
      ->type_name(kFile)
      ->required();
  command->add_option("--out", options.folder, "folder of the keys (keys beside the topology)")
      ->type_name(kFolder);
  command->add_option("--renew", options.renewed, "a node that gets a new key; may be repeated")
      ->type_name(kNode)
      ->allow_extra_args(false);
  command->callback([&] { code = keygen(options); });
}

void add_eval(CLI::App& app, EvalOptions& options, int& code) {
  CLI::App* command = app.add_subcommand("eval", "score a saved model on the whole test set");
  command->add_option("MODEL", options.model, "a file of safetensors")
      ->type_name(kFile)
      ->required();
  command->add_option("--config", options.config, "whose model it is, and whose data")
      ->type_name(kFile)
      ->required();
  command->add_option("--json", options.json, "write the figures to this file")->type_name(kFile);
  CLI::Option* sample =
      command->add_option("--sample", options.sample, "let a model of text write so many tokens")
          ->check(CLI::Range(std::size_t{1}, kSampleTokensMax));
  command->add_option("--prompt", options.prompt, "what the text follows (the end of a line)")
      ->type_name(kText)
      ->needs(sample);
  command->add_option("--temperature", options.temperature, "low: likely tokens only (0.8)")
      ->check(CLI::Range(kTemperatureMin, kTemperatureMax))
      ->needs(sample);
  command->add_option("--seed", options.seed, "another one gives another text (1)")->needs(sample);
  command->callback([&] { code = evaluate(options); });
}

void add_join(CLI::App& app, JoinOptions& options, int& code) {
  CLI::App* command =
      app.add_subcommand("join", "make one model of run folders from several machines");
  command->add_option("RUN", options.runs, "folders of one run, such as runs/NAME")
      ->type_name(kFolder)
      ->required();
  command
      ->add_option("--output", options.output,
                   "the model's file (model.safetensors), or the folder of the checkpoints")
      ->type_name(kFile);
  command
      ->add_option("--topology", options.topology,
                   "make checkpoints instead, from which the run goes on under this topology")
      ->type_name(kFile);
  command->add_option("--from", options.before, "the topology that the run had (RUN/topology.yaml)")
      ->type_name(kFile);
  command->add_option("--config", options.config, "the run's config (RUN/config.yaml)")
      ->type_name(kFile);
  command->callback([&] { code = join(options); });
}

void add_report(CLI::App& app, ReportOptions& options, int& code) {
  CLI::App* command =
      app.add_subcommand("report", "how runs went, and why rounds took as long as they did");
  const std::map<std::string, ReportOptions::Format> formats{
      {"html", ReportOptions::Format::kHtml},
      {"md", ReportOptions::Format::kMarkdown},
      {"json", ReportOptions::Format::kJson}};
  command->add_option("RUN", options.runs, "folders of runs, such as runs/NAME")
      ->type_name(kFolder)
      ->required();
  add_choice(*command, "--format", options.format, formats, "html is a page");
  command->add_option("--output", options.output, "file (RUN/report.html; md and json: stdout)")
      ->type_name(kFile);
  command->callback([&] { code = report(options); });
}

void add_web(CLI::App& app, WebOptions& options, int& code) {
  CLI::App* command = app.add_subcommand("web", "show a run as a live page, until Ctrl-C");
  options.page.address = kPageAddress;
  command->add_option("RUN", options.run, "folder of a run, such as runs/NAME")
      ->type_name(kFolder)
      ->required();
  command
      ->add_option("--listen,--web", options.page.address, "HOST:PORT of the page (127.0.0.1:9200)")
      ->type_name(kAddress);
  command->add_option("--token,--web-token", options.page.token_file, kTokenHelp)->type_name(kFile);
  command->callback([&] { code = web(options); });
}

void add_init(CLI::App& app, InitOptions& options, int& code) {
  CLI::App* command =
      app.add_subcommand("init", "write a config and a topology, by five questions or options");
  command->add_option("--task", options.task, task_help())->type_name(task_names());
  command->add_option("--data", options.data, "the task's files, where it needs some")
      ->type_name(kFile);
  command->add_option("--machines", options.machines,
                      "a number: so many nodes on this machine; or HOST[:PORT],HOST[:PORT],...");
  command->add_option("--kind", options.kind, "how the nodes are joined")->type_name(joins());
  command->add_option("--stop", options.stop,
                      "an accuracy below 1, rounds, or a time such as 30min");
  command->add_option("--output", options.folder, "folder for the two files (.)")
      ->type_name(kFolder);
  command->add_flag("--force", options.overwrites, "replace files that are there");
  command->callback([&] { code = init(options); });
}

void add_man(CLI::App& app, int& code) {
  CLI::App* command = app.add_subcommand("man", "this program's manual page, for man(1)");
  command->callback([&] {
    put(man_page(commands_of(app), version()));
    code = kExitDone;
  });
}

void add_completion(CLI::App& app, Shell& shell, int& code) {
  CLI::App* command = app.add_subcommand("completion", "what lets a shell complete command lines");
  const std::map<std::string, Shell> shells{
      {"bash", Shell::kBash}, {"fish", Shell::kFish}, {"zsh", Shell::kZsh}};
  add_choice(*command, "SHELL", shell, shells, "whose script")->required();
  command->callback([&] {
    put(completion_script(commands_of(app), shell));
    code = kExitDone;
  });
}

// An empty value, as of a shell's variable that nobody has set, would pass for an option that was
// left out. Texts may be empty.
void refuse_empty_values(CLI::App& app) {
  const auto check = [](const std::string& value) {
    return value.empty() ? std::string("the value is empty; write one, or leave the option out")
                         : std::string();
  };
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; }))
    for (CLI::Option* option : command->get_options())
      if (option->get_items_expected_max() > 0 && option->get_type_name() != kText)
        option->check(check, "");
}

// What is wrong with a command line, and what to write.
std::string sentence_of(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> unknown = app.remaining();
  if (app.get_subcommands().empty()) {
    if (!unknown.empty() && unknown.front().starts_with('-'))
      return fmt::format("there is no option '{}'. `kimesh --help` lists what there is.",
                         unknown.front());
    std::vector<std::string> names;
    for (const CommandDeclaration& command : commands_of(app).commands)
      names.push_back(command.name);
    return fmt::format("{}. Write one of: {}.",
                       unknown.empty() ? "a command is missing"
                                       : fmt::format("there is no command '{}'", unknown.front()),
                       fmt::join(names, ", "));
  }
  // Values are refused with a remedy.
  if (dynamic_cast<const CLI::ValidationError*>(&error) != nullptr)
    return std::string(error.what()) + ".";
  return std::string(error.what()) + ". `kimesh --help` lists what there is.";
}

int run(int argc, char** argv) {
  keep_child_statuses();
  add_torch_models();
  add_plugin_model();
  const std::vector<std::string> words(argv, argv + argc);
  CLI::App app("kimesh trains one model on machines joined by slow, uneven links", "kimesh");
  app.set_version_flag("--version", "kimesh " + std::string(version()));
  app.require_subcommand(1);
  int code = kExitDone;
  MeshCommands mesh_commands(words);
  std::vector<std::string> files;
  ExplainOptions explain_options;
  KeygenOptions keygen_options;
  PlanOptions plan_options;
  EvalOptions eval_options;
  JoinOptions join_options{words, {}, "", "", "", ""};
  ReportOptions report_options;
  WebOptions web_options;
  InitOptions init_options;
  Shell shell = Shell::kBash;
  add_init(app, init_options, code);
  add_check(app, files, code);
  add_explain(app, explain_options, code);
  add_plan(app, plan_options, code);
  add_keygen(app, keygen_options, code);
  mesh_commands.add_to(app, code);
  add_eval(app, eval_options, code);
  add_join(app, join_options, code);
  add_report(app, report_options, code);
  add_web(app, web_options, code);
  add_completion(app, shell, code);
  add_man(app, code);
  refuse_empty_values(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // help, version
    complain(sentence_of(app, error));
    return kExitUser;
  }
  return code;
}

}  // namespace
}  // namespace kimesh::cli

int main(int argc, char** argv) {
  try {
    return kimesh::cli::end_output(kimesh::cli::run(argc, argv));
  } catch (const std::exception& error) {  // no memory, or a GPU that failed
    kimesh::cli::complain(error.what());
    return kimesh::cli::kExitFailed;
  }
}
