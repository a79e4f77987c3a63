// The rate of an emulated link over time.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace kimesh {

class Complaints;

// An emulated rate: constant, or steps (seconds from the start of the run, bits/s). The last step's
// time ends the period, after which the trace begins again; a trace of one step is constant.
struct RateTrace {
  struct Step {
    double seconds;
    double bits_per_s;
  };
  std::vector<Step> steps;  // at least one; seconds ascend from 0
  // The rate at `seconds` >= 0, bits/s.
  [[nodiscard]] double at(double seconds) const;
  // The time at which the rate of `seconds` ends, in seconds, later than `seconds`; infinity for a
  // constant rate. A caller that counts whole nanoseconds rounds it up, since the old rate still
  // holds before.
  [[nodiscard]] double next_change_after(double seconds) const;
  // The mean rate of a whole period, bits/s.
  [[nodiscard]] double mean() const;
};

// Reads a file of lines SECONDS,RATE, where RATE is bits per second or has a unit (2Mbit). Lines
// that are empty or begin with # are skipped, and a first line of words is taken for a header.
// Returns nothing where there is a problem, which is added to `complaints`; the file of
// `complaints` names the trace in `line_of_path`.
[[nodiscard]] std::optional<RateTrace> load_trace(const std::string& path, int line_of_path,
                                                  Complaints& complaints);

}  // namespace kimesh
