#include "kimesh/run/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "kimesh/compress/codecs.h"
#include "kimesh/config/key_text.h"
#include "kimesh/run/hosts_file.h"
#include "kimesh/run/run_config.h"
#include "kimesh/topology/topology_file.h"

namespace kimesh {
namespace {

// The keys of a section of a config, with their defaults.
template <typename Options>
void describe_section(Keys& keys) {
  Options options;
  options.describe(keys);
}

// A new subject gets a line here.
constexpr std::array kSections{
    ExplainSection{"topology", "topologies/*.yaml: the nodes and how they are joined",
                   describe_topology},
    ExplainSection{"config", "configs/*.yaml: what is trained, how, and when it ends",
                   describe_section<RunConfig>, true},
    ExplainSection{"model", "section `model` of a config: which network is trained",
                   describe_section<ModelOptions>},
    ExplainSection{"data", "section `data` of a config: what is learnt from, and who holds what",
                   describe_section<DataOptions>},
    ExplainSection{"quadratic", "section `quadratic` of a config: a test problem of known answer",
                   describe_section<QuadraticOptions>},
    ExplainSection{"optimizer", "section `optimizer` of a config: how gradients become steps",
                   describe_section<OptimizerOptions>},
    ExplainSection{"compression",
                   "section `compression` of a config: what a link sends, and in how many bytes",
                   describe_section<CompressionOptions>},
    ExplainSection{"stop", "section `stop` of a config: the run ends with what happens first",
                   describe_section<StopOptions>},
    ExplainSection{"checkpoint", "section `checkpoint` of a config: what survives a loss of power",
                   describe_section<CheckpointKeys>},
    ExplainSection{"records", "section `records` of a config: how large a node's records may be",
                   describe_section<RecordKeys>},
    ExplainSection{"hosts", "hosts.yaml: the machines on which `kimesh up --ssh` starts the nodes",
                   describe_section<HostsFile>},
};

bool is_below(const std::string& key) {
  return key.find('.') != std::string::npos;
}

std::vector<KeyRow> all_rows(const ExplainSection& section) {
  std::vector<KeyRow> rows = key_rows(section.describe);
  if (section.has_sections)
    std::erase_if(rows, [](const KeyRow& row) { return is_below(row.name); });
  return rows;
}

std::vector<KindRow> all_kinds(const ExplainSection& section) {
  std::vector<KindRow> kinds = kind_rows(section.describe);
  if (section.has_sections)
    std::erase_if(kinds, [](const KindRow& kind) { return is_below(kind.key); });
  return kinds;
}

// The kinds that have a row: "tree, graph".
bool belongs_to(const KeyRow& row, std::string_view kind) {
  const std::string kinds = fmt::format(", {}, ", row.kind);
  return kinds.find(fmt::format(", {}, ", kind)) != std::string::npos;
}

std::vector<KeyRow> rows_of(const ExplainSection& section, std::string_view kind) {
  std::vector<KeyRow> rows = all_rows(section);
  std::erase_if(rows, [&](const KeyRow& row) {
    return kind.empty() ? !row.kind.empty() : !belongs_to(row, kind);
  });
  for (KeyRow& row : rows) row.kind.clear();  // all rows are of the same
  return rows;
}

std::string explain_all() {
  std::string text =
      "kimesh explain NAME tells the kinds and keys of one of these, kimesh explain NAME KIND the "
      "keys of one kind:\n\n";
  for (const ExplainSection& section : kSections)
    text += fmt::format("  {:<12} {}\n", section.name, section.help);
  return text;
}

std::string explain_section(const ExplainSection& section) {
  std::string text = fmt::format("{}: {}\n", section.name, section.help);
  std::string key;
  for (const KindRow& kind : all_kinds(section)) {
    if (kind.key != key) text += fmt::format("\n{}:\n", kind.key);
    key = kind.key;
    text += fmt::format("  {:<17} {}\n", kind.name, kind.help);
  }
  return text + fmt::format("\n{}", plain_table(rows_of(section, "")));
}

Result<std::string> explain_kind(const ExplainSection& section, std::string_view name) {
  const std::vector<KindRow> kinds = all_kinds(section);
  const auto kind = std::ranges::find(kinds, name, &KindRow::name);
  if (kind == kinds.end()) {
    std::vector<std::string> names;
    for (const KindRow& row : kinds) names.push_back(row.name);
    const std::string remedy = names.empty() ? fmt::format("kimesh explain {}", section.name)
                                             : fmt::format("one of: {}", fmt::join(names, ", "));
    return Error{ErrorCode::kUserInput,
                 fmt::format("{} has no kind '{}'. Write {}.", section.name, name, remedy)};
  }
  const std::vector<KeyRow> rows = rows_of(section, name);
  return fmt::format("{}, {}: {}: {}\n\n{}\nkimesh explain {} tells the keys of every kind.\n",
                     section.name, kind->key, kind->name, kind->help,
                     rows.empty() ? "It has no keys of its own.\n" : plain_table(rows),
                     section.name);
}

// The names of the codecs of kimesh that write this form.
std::string writers_of(Form form) {
  std::vector<std::string_view> writers;
  for (const std::string_view name : codecs().names()) {
    const auto codec = codecs().make(name);
    const auto forms = codec->forms();
    if (std::ranges::find(forms, form, &WireForm::form) != forms.end()) writers.push_back(name);
  }
  return fmt::format("{}", fmt::join(writers, ", "));
}

std::string forms_markdown() {
  std::string text =
      "\n## forms\n\nThe forms of payloads that codecs write, by their number on the wire "
      "([protocol.md](protocol.md#messages)).\n\n"
      "| form | name | payload | codecs |\n|---|---|---|---|\n";
  for (std::uint8_t number = 0; number < kUserFormsBegin; ++number)
    if (const WireForm* form = find_form(static_cast<Form>(number)))
      text += fmt::format("| {} | {} | {} | {} |\n", number, form->name, form->help,
                          writers_of(form->form));
  return text;
}

}  // namespace

std::span<const ExplainSection> explain_sections() {
  return kSections;
}

Result<std::string> explain(std::string_view section, std::string_view kind) {
  if (section.empty()) return explain_all();
  const auto found = std::ranges::find(kSections, section, &ExplainSection::name);
  if (found == kSections.end()) {
    std::vector<std::string_view> names;
    for (const ExplainSection& known : kSections) names.push_back(known.name);
    return Error{ErrorCode::kUserInput,
                 fmt::format("there is nothing to explain about '{}'. Write one of: {}.", section,
                             fmt::join(names, ", "))};
  }
  return kind.empty() ? explain_section(*found) : explain_kind(*found, kind);
}

std::string explain_markdown() {
  std::string text =
      "# Kinds and keys\n\n"
      "All that the user's files may say, as the program declares it. This page is written by "
      "`kimesh explain\n--markdown`; a test compares.\n";
  for (const ExplainSection& section : kSections) {
    text += fmt::format("\n## {}\n\n{}.\n", section.name, section.help);
    std::string key;
    for (const KindRow& kind : all_kinds(section)) {
      if (kind.key != key) text += fmt::format("\n| `{}:` | what it is |\n|---|---|\n", kind.key);
      key = kind.key;
      text += fmt::format("| `{}` | {} |\n", kind.name, kind.help);
    }
    text += fmt::format("\n{}", markdown_table(all_rows(section)));
  }
  return text + forms_markdown();
}

}  // namespace kimesh
