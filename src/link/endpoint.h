// Endpoints of ZeroMQ, tcp://HOST:PORT: the host that a node dials, and where one listens whose
// address is a name, since ZeroMQ binds addresses only.
#pragma once

#include <string>
#include <vector>

#include "kimesh/link/resolve.h"

namespace kimesh {

// The host of `endpoint` where it is a name; empty: it is an address, or *, or stands behind the
// address to dial from, as ZeroMQ writes it (tcp://FROM:PORT;HOST:PORT).
[[nodiscard]] std::string name_in(const std::string& endpoint);
// `endpoint` with another host, of which an IPv6 address stands in brackets.
[[nodiscard]] std::string with_host(const std::string& endpoint, const std::string& host);

// Endpoints to try in turn in place of `endpoint`. A host that is an address, or *, stays. A name
// becomes its addresses. Where a system gives its own name a loopback address, as Debian
// does (127.0.1.1), others could not reach the node there: it listens on all addresses.
[[nodiscard]] std::vector<std::string> listen_places(const std::string& endpoint,
                                                     const Resolver& resolve = resolve_name);

}  // namespace kimesh
