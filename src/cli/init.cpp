// kimesh init: a config and a topology of a newcomer's, by five questions.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <optional>
#include <system_error>
#include <utility>

#include "commands.h"
#include "init_machines.h"
#include "kimesh/config/yaml_tree.h"
#include "kimesh/records/text_file.h"
#include "kimesh/run/check_together.h"
#include "kimesh/util/units.h"
#include "machine.h"
#include "outputs.h"
#include "say.h"

namespace kimesh::cli {
namespace {

namespace fs = std::filesystem;

struct Task {
  const char* name;
  const char* help;
  const char* data;  // what its files are; empty: it needs none
  const char* stop;  // default
  int evaluate_every;
  const char* yaml;  // model, data without its path, optimizer
};

constexpr Task kTasks[] = {
    {"digits", "handwritten digits, which kimesh holds", "", "0.96", 10,
     "model: {kind: mlp, hidden: [256, 128]}\n"
     "data: {kind: digits, batch: 64}\n"
     "optimizer: {kind: sgd, lr: 0.1, momentum: 0.85, nesterov: true, weight_decay: 0.001}\n"},
    {"mnist", "MNIST with a small convolutional network",
     "the folder that holds train-images-idx3-ubyte and the other three files of MNIST, unpacked",
     "0.98", 20,
     "model: {kind: cnn, channels: [16, 32], dense: 64}\n"
     "data: {kind: idx, PATH, batch: 32}\n"
     "optimizer: {kind: sgd, lr: 0.05, momentum: 0.9, nesterov: true}\n"},
    {"cifar10", "CIFAR-10 with a small convolutional network",
     "the folder that holds data_batch_1.bin and the others of CIFAR-10's binary version, unpacked",
     "3000", 50,
     "model: {kind: cnn, channels: [32, 64], dense: 128}\n"
     "data: {kind: cifar10, PATH, batch: 32}\n"
     "optimizer: {kind: sgd, lr: 0.05, momentum: 0.9, nesterov: true, weight_decay: 0.0005, clip: "
     "5}\n"},
    {"images", "images of your own with a residual network",
     "the folder that has a folder of images for each class", "3000", 50,
     "model: {kind: resnet, depth: 20, width: 16}\n"
     "data: {kind: image_folder, PATH, size: [64, 64], batch: 32}\n"
     "optimizer: {kind: sgd, lr: 0.05, momentum: 0.9, nesterov: true, weight_decay: 0.0005, clip: "
     "5}\n"},
    {"text", "a text of your own with a small GPT", "the text, in UTF-8", "3000", 100,
     "model: {kind: transformer, layers: 4, heads: 4, embedding: 128}\n"
     "data: {kind: text, PATH, tokens: character, length: 64, batch: 16}\n"
     "optimizer: {kind: adamw, lr: 0.001, weight_decay: 0.1, clip: 1}\n"}};

// Kinds of topologies that need no more than the nodes.
struct Join {
  const char* name;
  const char* help;
  const char* yaml;
};
constexpr Join kJoins[] = {
    {"ring", "each node sends to the next one: fewest links", ""},
    {"parameter_server", "every node talks to every other: fewest hops", "servers: all\n"},
    {"tree", "two nodes hang on each", "fan_out: 2\n"}};

// The limit of rounds beside an accuracy, which a run may never reach.
constexpr int kRoundsBesideAccuracy = 10'000;

template <typename Row, std::size_t count>
const Row* find(const Row (&rows)[count], const std::string& name) {
  const auto found = std::ranges::find_if(rows, [&](const Row& row) { return name == row.name; });
  return found == std::end(rows) ? nullptr : found;
}

template <typename Row, std::size_t count>
std::string names(const Row (&rows)[count], const char* between) {
  std::vector<std::string> all;
  for (const Row& row : rows) all.emplace_back(row.name);
  return fmt::format("{}", fmt::join(all, between));
}

template <typename Row, std::size_t count>
std::string lines(const Row (&rows)[count]) {
  std::string text;
  for (const Row& row : rows) text += fmt::format("  {:<18}{}\n", row.name, row.help);
  return text;
}

template <typename Row, std::size_t count>
Complaint one_of(const Row (&rows)[count], const std::string& answer) {
  if (find(rows, answer) != nullptr) return std::nullopt;
  return fmt::format("there is no '{}'. Give one of {}", answer, names(rows, ", "));
}

// The names of nodes are a, b, ... z, aa, ab, ...
std::string node_name(std::size_t number) {
  const std::string last(1, static_cast<char>('a' + number % 26));
  return number < 26 ? last : node_name(number / 26 - 1) + last;
}

// ---- the end

// The value of `stop`; nothing: it is none of the three.
std::optional<std::string> stop_of(const std::string& answer) {
  if (const auto rounds = whole_number(answer)) {
    if (*rounds < 1) return std::nullopt;
    return fmt::format("{{rounds: {}}}", *rounds);
  }
  double accuracy = 0;
  const char* end = answer.data() + answer.size();
  if (const auto read = std::from_chars(answer.data(), end, accuracy);
      read.ec == std::errc{} && read.ptr == end) {
    if (!(accuracy > 0 && accuracy < 1)) return std::nullopt;
    return fmt::format("{{accuracy: {}, rounds: {}}}", accuracy, kRoundsBesideAccuracy);
  }
  const auto time = parse_duration(answer);
  if (!time || *time <= Duration{0}) return std::nullopt;
  return fmt::format("{{time: {}}}", answer);
}

Complaint about_stop(const std::string& answer) {
  if (stop_of(answer)) return std::nullopt;
  return fmt::format(
      "'{}' is no end. Give an accuracy such as 0.96, a number of rounds such as "
      "1000, or a time such as 30min",
      answer);
}

// ---- questions

struct Question {
  const char* option;
  std::string text;
  std::string usual;
  std::function<Complaint(const std::string&)> complaint;
};

bool somebody_answers() {
  return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
}

// Asks for an answer where none is given and somebody can answer. Returns false after it has
// printed what is wrong.
bool settle(std::string& answer, const Question& question) {
  const bool asks = answer.empty() && somebody_answers();
  while (asks) {
    put(fmt::format("{}{}: ", question.text,
                    question.usual.empty() ? "" : fmt::format(" [{}]", question.usual)));
    if (!std::getline(std::cin, answer)) {
      complain("the answers have ended. Nothing was written.");
      return false;
    }
    if (answer.empty()) answer = question.usual;
    const Complaint wrong = question.complaint(answer);
    if (!wrong) return true;
    say(*wrong + ".");
  }
  if (answer.empty()) answer = question.usual;
  if (const Complaint wrong = question.complaint(answer)) {
    complain(fmt::format("{}: {}.", question.option, *wrong));
    return false;
  }
  return true;
}

// The path, with the user's home in place of ~, which no shell has put there where the path was
// quoted or typed as an answer.
std::string without_tilde(const std::string& path) {
  const char* home = std::getenv("HOME");
  const bool is_at_home = path == "~" || path.starts_with("~/");
  return is_at_home && home != nullptr ? home + path.substr(1) : path;
}

bool settle_all(InitOptions& options) {
  const auto about_data = [](const std::string& path) -> Complaint {
    if (!path.empty()) return std::nullopt;
    return "it is missing. Give a path";
  };
  const Question task{"--task", "What is trained?\n" + lines(kTasks) + "task", "digits",
                      [](const std::string& name) { return one_of(kTasks, name); }};
  if (!settle(options.task, task)) return false;
  const Task& chosen = *find(kTasks, options.task);
  if (*chosen.data != '\0') {
    const Question data{"--data", fmt::format("Where is {}?\npath", chosen.data), "", about_data};
    if (!settle(options.data, data)) return false;
    options.data = without_tilde(options.data);
  } else if (!options.data.empty()) {
    complain(fmt::format("--data: {} needs no files. Leave it out.", chosen.name));
    return false;
  }
  const Question machines{
      "--machines",
      "Which machines? A number of nodes on this one, or HOST[:PORT],HOST[:PORT],...\nmachines",
      "4", about_machines};
  const Question kind{"--kind", "How are they joined?\n" + lines(kJoins) + "kind", "ring",
                      [](const std::string& name) { return one_of(kJoins, name); }};
  const Question stop{"--stop",
                      "When is it done? At an accuracy (0.96), after rounds (1000) or a time "
                      "(30min)\nstop",
                      chosen.stop, about_stop};
  return settle(options.machines, machines) && settle(options.kind, kind) &&
         settle(options.stop, stop);
}

// ---- the files

// In double quotes, as YAML reads it; relative to the file that holds it.
std::string yaml_path(const std::string& path, const fs::path& folder) {
  std::string text = path;
  std::error_code unknown;
  if (fs::path(path).is_relative()) {
    const fs::path near = fs::proximate(fs::absolute(path, unknown), fs::absolute(folder), unknown);
    if (!unknown) text = near.string();
  }
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string config_text(const InitOptions& options) {
  const Task& task = *find(kTasks, options.task);
  std::string yaml = task.yaml;
  if (const std::size_t at = yaml.find("PATH"); at != std::string::npos)
    yaml.replace(at, 4, "path: " + yaml_path(options.data, options.folder));
  return fmt::format(
      "# What is trained. `kimesh explain` tells all keys, docs/files.md what they are for.\n"
      "{}"
      "compression: {{policy: auto}}  # each link finds out what it can carry\n"
      "stop: {}\n"
      "evaluate_every: {}  # rounds\n"
      "seed: 1\n",
      yaml, *stop_of(options.stop), task.evaluate_every);
}

std::string topology_text(const InitOptions& options) {
  const Join& join = *find(kJoins, options.kind);
  std::string text = fmt::format(
      "# Who talks to whom. `kimesh explain topology` tells all keys.\nkind: {}  # {}\n{}nodes:\n",
      join.name, join.help, join.yaml);
  const std::vector<MachineAddress> machines = machines_of(options.machines);
  for (std::size_t i = 0; i < machines.size(); ++i)
    text += fmt::format("  {}: {{address: \"{}\"}}\n", node_name(i), machines[i].address);
  return text;
}

// What a file of this text at `path` says, and its problems.
template <typename Value>
Loaded<Value> loaded_from(const std::string& path, const std::string& text,
                          Loaded<Value> (*load)(const YamlValue*, Complaints)) {
  Complaints complaints(path);
  const auto root = parse_yaml(text, complaints);
  return load(root ? &*root : nullptr, std::move(complaints));
}

void say_what_follows(const InitOptions& options, const std::string& config,
                      const std::string& topology, const RunConfig& value) {
  say(fmt::format("{} and {} are written.", config, topology));
  for (const Problem& missing : missing_files(value)) say("Not there yet: " + to_string(missing));
  say("Next:");
  const std::string to_join = shell_word(topology);
  const std::string files = fmt::format("--config {} --topology {}", shell_word(config), to_join);
  if (!is_reached_from_elsewhere(options.machines)) {
    say(fmt::format("  kimesh up {} --web", files));
    return;
  }
  say(fmt::format(
      "  kimesh keygen {}  # then both files, public.yaml and one secret to each machine",
      to_join));
  say(fmt::format("  kimesh doctor {} --name a  # on each machine, with its node's name", to_join));
  say(fmt::format("  kimesh node {} --name a  # on each machine", files));
}

}  // namespace

std::string task_names() {
  return names(kTasks, "|");
}
std::string task_help() {
  return "what is trained";
}
std::string joins() {
  return names(kJoins, "|");
}

int init(InitOptions options) {
  options.folder = without_tilde(options.folder);
  if (const Status place = check_output_folder("--output", options.folder); !place)
    return fail(place.error());
  const fs::path folder = options.folder;
  const std::string config = (folder / "config.yaml").lexically_normal().string();
  const std::string topology = (folder / "topology.yaml").lexically_normal().string();
  std::error_code unknown;
  for (const std::string& file : {config, topology}) {
    if (options.overwrites || !fs::exists(file, unknown)) continue;
    complain(file + " is there already. Name another folder with --output, or write --force.");
    return kExitUser;
  }
  if (!settle_all(options)) return kExitUser;
  // Checked before they are there: files that are replaced may be good ones.
  const std::string config_yaml = config_text(options), topology_yaml = topology_text(options);
  const auto read = loaded_from<RunConfig>(config, config_yaml, load_config);
  const auto joined = loaded_from<TopologyFile>(topology, topology_yaml, load_topology);
  std::vector<Problem> problems = read.problems;
  problems.insert(problems.end(), joined.problems.begin(), joined.problems.end());
  if (problems.empty()) problems = check_together(read.value, config, joined.value);
  for (const Problem& problem : problems) complain(to_string(problem));
  if (!problems.empty()) {
    complain("with these answers the files would be wrong. Nothing was written.");
    return kExitUser;
  }
  fs::create_directories(folder, unknown);  // a failure is that of the first file
  for (const auto& [file, text] : {std::pair(config, config_yaml), {topology, topology_yaml}})
    if (const Status written = write_whole(file, std::string_view(text)); !written)
      return fail(written.error());
  say_what_follows(options, config, topology, read.value);
  return kExitDone;
}

}  // namespace kimesh::cli
