#include "init_machines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "kimesh/topology/address.h"

namespace kimesh::cli {
namespace {

constexpr int kFirstPort = 7101;
constexpr int kNodesMin = 2;
constexpr int kLocalNodesMax = 64;  // processes of one machine; each takes a model's memory

std::string trimmed(const std::string& text) {
  constexpr const char* kBlanks = " \t";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

// Whether the text is a number of any size or sign, and so no name or address of a machine.
bool is_number(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  return !text.empty() && text.find_first_not_of("+-.0123456789") == std::string::npos &&
         std::from_chars(text.data() + (text.starts_with('+') ? 1 : 0), end, value).ptr == end;
}

}  // namespace

std::optional<int> whole_number(const std::string& text) {
  if (text.empty() || text.size() > 9 ||
      !std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; }))
    return std::nullopt;
  return std::stoi(text);
}

std::vector<MachineAddress> machines_of(const std::string& machines) {
  std::vector<MachineAddress> all;
  if (const auto count = whole_number(trimmed(machines))) {
    for (int i = 0; i < *count; ++i)
      all.push_back({"", fmt::format("tcp://127.0.0.1:{}", kFirstPort + i)});
    return all;
  }
  for (std::size_t begin = 0; begin <= machines.size();) {
    const std::size_t end = std::min(machines.find(',', begin), machines.size());
    const std::string host = trimmed(machines.substr(begin, end - begin));
    const std::size_t colon = host.rfind(':');
    const bool has_port = colon != std::string::npos && host.find(']', colon) == std::string::npos;
    all.push_back({host, "tcp://" + host + (has_port ? "" : fmt::format(":{}", kFirstPort))});
    begin = end + 1;
  }
  return all;
}

Complaint about_machines(const std::string& machines) {
  const std::string whole = trimmed(machines);
  const auto count = whole_number(whole);
  if (is_number(whole) && (!count || *count < kNodesMin || *count > kLocalNodesMax))
    return fmt::format("a mesh on this machine has {} to {} nodes", kNodesMin, kLocalNodesMax);
  std::vector<std::string> seen;
  for (const MachineAddress& machine : machines_of(machines)) {
    const auto parsed = parse_address(machine.address);
    if (!parsed || is_number(machine.given))
      return fmt::format(
          "'{}' is no HOST or HOST:PORT. Give names or addresses with commas between "
          "them, or a number of nodes on this machine",
          machine.given);
    seen.push_back(parsed->place());
    if (std::ranges::count(seen, seen.back()) > 1)
      return fmt::format("{} is there twice. Give each node of a machine a port of its own",
                         machine.given);
  }
  if (!count && seen.size() < kNodesMin)
    return "that is one node. Give another, with a comma between them";
  return std::nullopt;
}

bool is_reached_from_elsewhere(const std::string& machines) {
  return std::ranges::any_of(machines_of(machines), [](const MachineAddress& machine) {
    const auto parsed = parse_address(machine.address);
    return parsed && !parsed->is_loopback();
  });
}

}  // namespace kimesh::cli
