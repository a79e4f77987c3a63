// Why nobody answers at an address.
#pragma once

#include <string>

#include "kimesh/util/ids.h"

namespace kimesh {

// Opens a TCP connection to tcp://HOST:PORT and closes it again. Returns why that fails, with a
// remedy, or nothing where somebody listens. Waits `limit` at most for each of the host's
// addresses, and for as long as the system's resolver of names does.
[[nodiscard]] std::string why_unreachable(const std::string& endpoint, Duration limit);

}  // namespace kimesh
