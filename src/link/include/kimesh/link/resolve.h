// What the name of a machine stands for.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace kimesh {

// The IPv4 addresses that a name stands for, in digits, each once, or, where it has none, its IPv6
// addresses in brackets; empty: none. Thread: any.
using Resolver = std::function<std::vector<std::string>(const std::string& name)>;

// Asks the system (getaddrinfo) and waits for its answer: ten seconds and more where no name server
// answers.
[[nodiscard]] std::vector<std::string> resolve_name(const std::string& name);

}  // namespace kimesh
