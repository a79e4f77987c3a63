// The answer of `kimesh init` about the machines: a number of nodes on this one, or addresses.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace kimesh::cli {

// What is wrong with an answer, and what to answer instead; nothing: the answer is good.
using Complaint = std::optional<std::string>;

// A number of digits alone, below a billion.
[[nodiscard]] std::optional<int> whole_number(const std::string& text);

struct MachineAddress {
  std::string given, address;
};
// One for each node, in the order of the answer.
[[nodiscard]] std::vector<MachineAddress> machines_of(const std::string& machines);

[[nodiscard]] Complaint about_machines(const std::string& machines);

[[nodiscard]] bool is_reached_from_elsewhere(const std::string& machines);

}  // namespace kimesh::cli
