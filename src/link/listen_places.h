// Where a node listens whose address is a name, since ZeroMQ binds numbers only; and which names
// are dialled by IPv6.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace kimesh {

// The IPv4 addresses that a name stands for, as numbers, or, where it has none, its IPv6 addresses
// in brackets; empty: none.
using Resolver = std::function<std::vector<std::string>(const std::string& name)>;
// As the system knows them (getaddrinfo). Waits for it.
[[nodiscard]] std::vector<std::string> resolve_name(const std::string& name);

// Endpoints to try in turn in place of `endpoint`, tcp://HOST:PORT. A host in numbers, and *, stay.
// A name becomes its addresses. Where a system gives its own name a loopback address, as Debian
// does (127.0.1.1), others could not reach the node there: it listens on all addresses.
[[nodiscard]] std::vector<std::string> listen_places(const std::string& endpoint,
                                                     const Resolver& resolve = resolve_name);

// What the host of `endpoint`, tcp://HOST:PORT, is: a name with an IPv4 address, a name with none
// but those of IPv6, a name that is not known, or no name.
enum class HostKind { kIpv4Name, kIpv6Name, kUnknownName, kNumber };
[[nodiscard]] HostKind kind_of_host(const std::string& endpoint,
                                    const Resolver& resolve = resolve_name);

}  // namespace kimesh
