// Trace files: lines of SECONDS,RATE, where RATE is bits per second or has a unit (2Mbit).
#pragma once

#include <optional>
#include <string>

#include "kimesh/config/complaints.h"
#include "kimesh/emulation/rate_trace.h"

namespace kimesh {

// `# ...` and empty lines are skipped, and a first line of words is taken for a header.
// Nothing: what is wrong was added to `complaints`, whose file names the trace in `line_of_path`.
[[nodiscard]] std::optional<RateTrace> load_trace(const std::string& path, int line_of_path,
                                                  Complaints& complaints);

}  // namespace kimesh
