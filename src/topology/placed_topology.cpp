#include "kimesh/topology/placed_topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "kimesh/config/key_text.h"
#include "kimesh/config/yaml_tree.h"
#include "kimesh/topology/topology_file.h"

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

YamlValue text_value(const std::string& text) {
  YamlValue value;
  value.kind = YamlValue::Kind::kText;
  value.text = text;
  return value;
}

void set(YamlValue& map, const std::string& key, const std::string& text) {
  const auto at = std::ranges::find(map.members, key, &YamlMember::key);
  if (at == map.members.end())
    map.members.push_back({key, map.line, text_value(text)});
  else
    at->value = text_value(text);
}

// Replaces the path of every trace by what `replace` makes of it.
void replace_traces(YamlValue& links,
                    const std::function<std::string(const std::string& path)>& replace) {
  for (YamlMember& member : links.members) {
    if (member.value.kind != YamlValue::Kind::kText)
      replace_traces(member.value, replace);
    else if (member.key == "trace")
      member.value.text = replace(member.value.text);
  }
}

// Renames all traces to files beside the new file.
void gather_traces(const std::string& file, YamlValue& links,
                   std::vector<PlacedTopology::Trace>& traces) {
  replace_traces(links, [&](const std::string& written) {
    const std::string path = path_beside(file, written);
    const auto known = std::ranges::find(traces, path, &PlacedTopology::Trace::path);
    if (known != traces.end()) return known->name;
    traces.push_back({path, fmt::format("trace-{}.csv", traces.size() + 1)});
    return traces.back().name;
  });
}

// Removes the addresses of links, which are dialled at their nodes' new addresses.
void drop_addresses(YamlValue& links) {
  for (YamlMember& link : links.members)
    std::erase_if(link.value.members,
                  [](const YamlMember& member) { return member.key == "address"; });
}

Error changed(const std::string& path) {
  return {ErrorCode::kIo, path + " has changed while it was read. Try once more."};
}

// The file's values without its keys' folder, and with traces beside them.
Result<YamlValue> read_movable(const std::string& path, PlacedTopology& placed) {
  Complaints complaints(path);
  auto top = read_yaml(path, complaints);
  if (!top) return changed(path);
  for (YamlMember& section : top->members)
    if (section.key == "links") gather_traces(path, section.value, placed.traces);
  std::erase_if(top->members, [](const YamlMember& member) { return member.key == "keys"; });
  return std::move(*top);
}

void join_nodes(YamlValue& nodes, const NewJoins& joins) {
  std::vector<YamlMember> in_order;
  for (std::size_t i = 0; i < joins.nodes.size(); ++i) {
    const auto node = std::ranges::find(nodes.members, joins.nodes[i], &YamlMember::key);
    std::erase_if(node->value.members, [](const YamlMember& m) { return m.key == "shard_weight"; });
    const bool serves = joins.servers.empty() ||
                        std::ranges::find(joins.servers, joins.nodes[i]) != joins.servers.end();
    if (!joins.shard_weights.empty() && serves)
      set(node->value, "shard_weight", fmt::format("{:.4g}", joins.shard_weights[i]));
    in_order.push_back(*node);
  }
  nodes.members = std::move(in_order);
}

void join_links(YamlValue& links, const NewJoins& joins) {
  std::erase_if(links.members, [&](const YamlMember& link) {
    const std::size_t arrow = link.key.find("->");
    if (arrow == std::string::npos) return false;  // default
    std::string from = link.key.substr(0, arrow), to = link.key.substr(arrow + 2);
    std::erase(from, ' ');
    std::erase(to, ' ');
    return !joins.carries(from, to);
  });
}

// Keeps the sections that every kind has and that do not say how nodes are joined.
void drop_joins(YamlValue& top) {
  const std::vector<KeyRow> rows = key_rows(describe_topology);
  std::erase_if(top.members, [&](const YamlMember& section) {
    if (section.key == "kind" || section.key == "servers") return true;
    return std::ranges::none_of(
        rows, [&](const KeyRow& row) { return row.name == section.key && row.kind.empty(); });
  });
}

}  // namespace

Result<std::string> join_anew(const std::string& path, const std::string& new_path,
                              const NewJoins& joins) {
  Complaints complaints(path);
  auto top = read_yaml(path, complaints);
  if (!top) return changed(path);
  drop_joins(*top);
  const auto folder = std::filesystem::absolute(new_path).parent_path();
  const auto from_new_file = [&](const std::string& written) {
    return std::filesystem::proximate(path_beside(path, written), folder).string();
  };
  const bool names_keys = std::ranges::any_of(
      top->members, [](const YamlMember& section) { return section.key == "keys"; });
  const std::string usual_keys = from_new_file("keys");  // they lie beside the old file
  if (joins.is_encrypted && !names_keys && usual_keys != "keys") set(*top, "keys", usual_keys);
  for (YamlMember& section : top->members) {
    if (section.key == "keys" && names_keys) section.value.text = from_new_file(section.value.text);
    if (section.key == "nodes" && section.value.members.size() != joins.nodes.size())
      return changed(path);
    if (section.key == "nodes") join_nodes(section.value, joins);
    if (section.key != "links") continue;
    replace_traces(section.value, from_new_file);
    join_links(section.value, joins);
  }
  std::erase_if(top->members, [](const YamlMember& section) {
    return section.key == "links" && section.value.members.empty();
  });
  std::vector<YamlMember> first{{"kind", 0, text_value(joins.kind)}};
  YamlValue servers{YamlValue::Kind::kList, 0, {}, {}, {}},
      parents{YamlValue::Kind::kMap, 0, {}, {}, {}};
  for (const std::string& server : joins.servers) servers.items.push_back(text_value(server));
  for (const auto& [node, parent] : joins.parents)
    parents.members.push_back({node, 0, text_value(parent)});
  if (!joins.servers.empty()) first.push_back({"servers", 0, std::move(servers)});
  if (!joins.parents.empty()) first.push_back({"parents", 0, std::move(parents)});
  top->members.insert(top->members.begin(), first.begin(), first.end());
  return write(*top);
}

Result<PlacedTopology> move_topology(const std::string& path) {
  PlacedTopology placed;
  const auto top = read_movable(path, placed);
  if (!top) return top.error();
  placed.text = write(*top);
  return placed;
}

Result<PlacedTopology> place_topology(const std::string& path, std::span<const NodePlace> places) {
  PlacedTopology placed;
  auto top = read_movable(path, placed);
  if (!top) return top.error();
  for (YamlMember& section : top->members) {
    if (section.key == "links") drop_addresses(section.value);
    if (section.key != "nodes") continue;
    if (section.value.members.size() != places.size()) return changed(path);
    for (std::size_t i = 0; i < places.size(); ++i) {
      set(section.value.members[i].value, "address", places[i].address);
      set(section.value.members[i].value, "dial", places[i].dial);
    }
  }
  const auto none = [](const YamlMember& m) {
    return m.key == "security" && m.value.text == "none";
  };
  const bool is_open = std::ranges::any_of(top->members, none);
  set(*top, "security", is_open ? "none" : "curve");
  placed.text = write(*top);
  return placed;
}

}  // namespace kimesh
