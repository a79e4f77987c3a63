// A bound on the log of a process that appends to it for weeks and knows of no bound.
#pragma once

#include <cstdint>
#include <string>

#include "kimesh/util/result.h"

namespace kimesh {

struct LogBound {
  std::uint64_t bytes_max = 4 << 20;   // over which it is cut
  std::uint64_t bytes_kept = 1 << 20;  // of its end, in a file beside it
};

// Cuts the log at `path`, where it has grown over the bound, and says so in its first line. The
// last bytes of what was there are in PATH.1 then, in place of those of the time before. Lines that
// are written meanwhile may be lost. Requires that whoever writes it appends (O_APPEND). A log that
// is not there is no error. Errors: Io.
[[nodiscard]] Status bound_log(const std::string& path, const LogBound& bound = {});

}  // namespace kimesh
