#include "kimesh/topology/placed_topology.h"

#include <algorithm>

#include "kimesh/config/yaml_tree.h"

namespace kimesh {
namespace {

bool is_plain(const std::string& text) {
  const auto is_alphanumeric = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  if (text.empty() || !is_alphanumeric(text.front())) return false;
  if (text == "null" || text == "Null" || text == "NULL") return false;
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return is_alphanumeric(c) || c == '_' || c == '.' || c == '-' || c == '>' || c == '/';
  });
}

// Writes a scalar, which kimesh reads as text whatever its quotes.
std::string scalar(const std::string& text) {
  if (is_plain(text)) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '\n')
      quoted += "\\n";
    else
      quoted += c;
  }
  return quoted + "\"";
}

// Writes a value on one line.
std::string flow(const YamlValue& value) {
  std::string text;
  switch (value.kind) {
    case YamlValue::Kind::kNothing:
      return "~";
    case YamlValue::Kind::kText:
      return scalar(value.text);
    case YamlValue::Kind::kList:
      for (const YamlValue& item : value.items) text += (text.empty() ? "" : ", ") + flow(item);
      return "[" + text + "]";
    case YamlValue::Kind::kMap:
      for (const YamlMember& member : value.members)
        text += (text.empty() ? "" : ", ") + scalar(member.key) + ": " + flow(member.value);
      return "{" + text + "}";
  }
  return text;
}

// Writes each section of the file on a line, and each member of a section that is a map.
std::string write(const YamlValue& top) {
  std::string text;
  for (const YamlMember& section : top.members) {
    text += scalar(section.key) + ":";
    if (section.value.kind != YamlValue::Kind::kMap || section.value.members.empty()) {
      text += " " + flow(section.value) + "\n";
      continue;
    }
    text += "\n";
    for (const YamlMember& member : section.value.members)
      text += "  " + scalar(member.key) + ": " + flow(member.value) + "\n";
  }
  return text;
}

void set(YamlValue& map, const std::string& key, const std::string& text) {
  YamlValue value;
  value.kind = YamlValue::Kind::kText;
  value.text = text;
  const auto is_there = [&](const YamlMember& member) { return member.key == key; };
  const auto at = std::find_if(map.members.begin(), map.members.end(), is_there);
  if (at == map.members.end())
    map.members.push_back({key, map.line, std::move(value)});
  else
    at->value = std::move(value);
}

// Renames all traces to files beside the new file.
void gather_traces(const std::string& file, YamlValue& links,
                   std::vector<PlacedTopology::Trace>& traces) {
  for (YamlMember& member : links.members) {
    if (member.value.kind != YamlValue::Kind::kText) {
      gather_traces(file, member.value, traces);
    } else if (member.key == "trace") {
      const std::string path = path_beside(file, member.value.text);
      auto known = std::find_if(traces.begin(), traces.end(),
                                [&](const auto& trace) { return trace.path == path; });
      if (known == traces.end()) {
        traces.push_back({path, "trace-" + std::to_string(traces.size() + 1) + ".csv"});
        known = traces.end() - 1;
      }
      member.value.text = known->name;
    }
  }
}

// Links are dialled where their nodes are now.
void drop_addresses(YamlValue& links) {
  for (YamlMember& link : links.members)
    std::erase_if(link.value.members,
                  [](const YamlMember& member) { return member.key == "address"; });
}

}  // namespace

Result<PlacedTopology> place_topology(const std::string& path, std::span<const NodePlace> places) {
  const Error changed{ErrorCode::kIo, path + " has changed while it was read. Try once more."};
  Complaints complaints(path);
  auto top = read_yaml(path, complaints);
  if (!top) return changed;
  PlacedTopology placed;
  for (YamlMember& section : top->members) {
    if (section.key == "links") {
      gather_traces(path, section.value, placed.traces);
      drop_addresses(section.value);
    }
    if (section.key != "nodes") continue;
    if (section.value.members.size() != places.size()) return changed;
    for (std::size_t i = 0; i < places.size(); ++i) {
      set(section.value.members[i].value, "address", places[i].address);
      set(section.value.members[i].value, "dial", places[i].dial);
    }
  }
  const auto none = [](const YamlMember& m) {
    return m.key == "security" && m.value.text == "none";
  };
  const bool is_open = std::ranges::any_of(top->members, none);
  std::erase_if(top->members, [](const YamlMember& member) { return member.key == "keys"; });
  set(*top, "security", is_open ? "none" : "curve");
  placed.text = write(*top);
  return placed;
}

}  // namespace kimesh
