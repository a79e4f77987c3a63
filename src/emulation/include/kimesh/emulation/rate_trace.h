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
  // Rate in force at `seconds` >= 0.
  [[nodiscard]] double at(double seconds) const;
  // Time at which the rate in force at `seconds` ends, always later; infinity for a constant.
  // A caller that counts whole nanoseconds rounds it up: rounded down, the old rate is still in
  // force.
  [[nodiscard]] double next_change_after(double seconds) const;
  // Mean rate of a whole period.
  [[nodiscard]] double mean() const;
};

// Reads a file of lines SECONDS,RATE, where RATE is bits per second or has a unit (2Mbit). Lines
// that are empty or begin with # are skipped, and a first line of words is taken for a header.
// Nothing: what is wrong was added to `complaints`, whose file names the trace in `line_of_path`.
[[nodiscard]] std::optional<RateTrace> load_trace(const std::string& path, int line_of_path,
                                                  Complaints& complaints);

}  // namespace kimesh
