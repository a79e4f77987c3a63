// kimesh man: the manual page. Commands and options are those of the declarations.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "commands.h"
#include "declarations.h"

namespace kimesh::cli {
namespace {

// roff reads backslashes, hyphens that are to stay minus signs, and lines that begin with a dot or
// an apostrophe.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool begins_line = out.empty() || out.back() == '\n';
    if (begins_line && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

std::string names_of(const OptionDeclaration& option) {
  return fmt::format("{}", fmt::join(option.names, ", "));
}

std::string synopsis(const ProgramDeclaration& program, const CommandDeclaration& command) {
  std::string line = fmt::format("\\fB{} {}\\fR [\\fIOPTION\\fR...]", program.name, command.name);
  for (const OptionDeclaration& option : command.options)
    if (option.is_positional) {
      const std::string name =
          fmt::format("\\fI{}\\fR{}", roff(option.names.front()), option.repeats ? "..." : "");
      line += " " + (option.is_required ? name : "[" + name + "]");
    }
  return line;
}

std::string entry(const OptionDeclaration& option) {
  std::string head =
      fmt::format("\\f{}{}\\fR", option.is_positional ? 'I' : 'B', roff(names_of(option)));
  if (!option.is_positional && !option.value.empty())
    head += fmt::format(" \\fI{}\\fR", roff(option.value));
  const bool must = option.is_required && !option.is_positional;
  return fmt::format(".TP\n{}\n{}{}\n", head, roff(option.help), must ? " (required)" : "");
}

// --help is described once, for the program as a whole.
bool is_help(const OptionDeclaration& option) {
  return option.names.back() == "--help";
}

struct Row {
  std::string head, text;
};
std::string section(const std::string& title, const std::vector<Row>& rows) {
  std::string text = ".SH " + title + "\n";
  for (const Row& row : rows)
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(row.head), roff(row.text));
  return text;
}

std::vector<Row> exit_codes() {
  return {{std::to_string(kExitDone), "All went well, also where Ctrl-C ended it."},
          {std::to_string(kExitFailed), "It failed."},
          {std::to_string(kExitUser), "The input is wrong; nothing was started."},
          {std::to_string(kExitPermanent),
           "A node failed, and would fail again if it were only started again."},
          {std::to_string(kExitOtherStopped),
           "With --resume-if-any: another node was stopped, and this one is to be started again."}};
}

std::vector<Row> files() {
  return {{"runs/NAME/model.safetensors", "The model that a run ended with."},
          {"runs/NAME/summary.json", "How it ended, and its figures."},
          {"runs/NAME/checkpoints", "What --resume goes on from."},
          {"keys", "Beside a topology: the secrets of its nodes and the list public.yaml."}};
}

std::vector<Row> examples() {
  return {{"kimesh init", "Two files, by five questions."},
          {"kimesh check config.yaml topology.yaml", "Every problem, with line and remedy."},
          {"kimesh up --config config.yaml --topology topology.yaml --web",
           "All nodes on this machine, with a live page."},
          {"kimesh node --config config.yaml --topology topology.yaml --name a",
           "One of the nodes, on its own machine."},
          {"kimesh report runs/NAME", "How the run went, and what made it slow."},
          {"source <(kimesh completion bash)", "Lets this shell complete command lines."}};
}

// Paragraphs of roff.
std::string description() {
  constexpr std::array kParagraphs{
      "The nodes train one model on machines that slow, uneven and changing links join. There is "
      "no "
      "coordinator: every node computes gradients on its own data and owns a part of the "
      "parameters. Every link measures its own rate and gets the bytes that it can carry in time; "
      "what compression leaves out comes in later rounds.",
      "Two files say what a run is. A config (--config) names the model, the data, the optimizer, "
      "the compression and when to stop; all nodes have the same. A topology (--topology) names "
      "the nodes, their addresses and who sends to whom. kimesh init makes both, kimesh check "
      "finds what is wrong with them, and kimesh up starts all nodes on this machine.",
      "A run leaves its records, checkpoints and model in a folder of runs."};
  std::string text = ".SH DESCRIPTION\n";
  for (const std::string_view paragraph : kParagraphs)
    text += fmt::format(".PP\n{}\n", roff(paragraph));
  return text;
}

}  // namespace

std::string man_page(const ProgramDeclaration& program, std::string_view version) {
  // "kimesh trains ..."
  const std::string purpose = program.help.substr(program.help.find(' ') + 1);
  std::string page =
      fmt::format(".TH KIMESH 1 \"\" \"{} {}\" \"User Commands\"\n", program.name, roff(version));
  page += fmt::format(".SH NAME\n{} \\- {}\n", program.name, roff(purpose));
  page +=
      fmt::format(".SH SYNOPSIS\n\\fB{}\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR...]\n", program.name);
  page += description();
  page += ".SH OPTIONS\n";
  for (const OptionDeclaration& option : program.options) page += entry(option);
  page += ".SH COMMANDS\n";
  for (const CommandDeclaration& command : program.commands) {
    page += fmt::format(".SS {}\n{}.\n.PP\n{}\n", command.name, roff(command.help),
                        synopsis(program, command));
    for (const OptionDeclaration& option : command.options)
      if (!is_help(option)) page += entry(option);
  }
  page += section("EXIT STATUS", exit_codes());
  page += section("FILES", files());
  page += section("EXAMPLES", examples());
  page += ".SH SEE ALSO\n\\fBkimesh explain\\fR tells the keys of configs and topologies.\n";
  return page;
}

}  // namespace kimesh::cli
