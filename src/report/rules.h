// The rules of the table in findings.cpp, a file each, and words that they share.
#pragma once

#include <string>

#include "kimesh/report/findings.h"
#include "kimesh/util/units.h"

namespace kimesh {

[[nodiscard]] std::optional<Finding> find_slow_link(const FindingInput& input);
[[nodiscard]] std::optional<Finding> find_idle_rounds(const FindingInput& input);
[[nodiscard]] std::optional<Finding> find_compute_bound(const FindingInput& input);
[[nodiscard]] std::optional<Finding> find_straggler(const FindingInput& input);
[[nodiscard]] std::optional<Finding> find_missed_round_time(const FindingInput& input);
[[nodiscard]] std::optional<Finding> find_costly_coding(const FindingInput& input);
[[nodiscard]] std::optional<Finding> find_wrong_rate(const FindingInput& input);
[[nodiscard]] std::optional<Finding> find_growing_residual(const FindingInput& input);
[[nodiscard]] std::optional<Finding> find_starved_layer(const FindingInput& input);
[[nodiscard]] std::optional<Finding> find_other_joins(const FindingInput& input);
[[nodiscard]] std::optional<Finding> find_unsteady_sizes(const FindingInput& input);

// From this share of gradients in a round on a run is bound by computing, and links matter little.
inline constexpr double kComputeBound = 0.8;
// A link that is busy for less of the time does not make rounds long by its rate.
inline constexpr double kBusyMin = 0.4;

// "12.3 ms", "31 %".
[[nodiscard]] inline std::string seconds_text(double seconds) {
  return format_duration(from_seconds(seconds));
}
[[nodiscard]] std::string percent_text(double share);
// The link that is busy for the largest share of the rounds, and the median of the others that were
// measured.
struct Busiest {
  LinkIndex link = 0;
  double busy = 0;
  std::optional<double> others;
};
[[nodiscard]] Busiest busiest_link(const RunMeasures& measures);

}  // namespace kimesh
