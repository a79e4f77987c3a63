// A report of one run or of several: how it went, and why rounds took as long as they did.
//
//   auto report = make_report("runs/digits-ring4-1");
//   write_whole("report.html", report_html({&*report, 1}));
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kimesh/report/findings.h"
#include "kimesh/report/history.h"
#include "kimesh/report/measures.h"

namespace kimesh {

struct RunReport {
  RunHistory history;
  RunMeasures measures;
  std::vector<Finding> findings;
  std::string verdict;       // one sentence
  std::string no_what_if{};  // why no simulation is behind the findings; empty: one is
};

enum class WhatIfUse {
  kNever,    // quick: nothing is simulated
  kAllowed,  // a second or two for the findings that compare with another mesh
};

// Errors: as load_history, and UserInput where no round was recorded by all nodes.
[[nodiscard]] Result<RunReport> make_report(const std::string& folder, WhatIfUse use);

// The records that quick_verdict() reads at the most: under a second of work.
inline constexpr std::uintmax_t kQuickBytesMax = 32 << 20;
// The verdict of the report without simulations or, where the run's records have more than
// `bytes_max`, the command that tells it: none of them is read then. `run` is as load_run() leaves
// it. Errors: as make_report.
[[nodiscard]] Result<std::string> quick_verdict(RunHistory run,
                                                std::uintmax_t bytes_max = kQuickBytesMax);
// "`kimesh report FOLDER` tells".
[[nodiscard]] std::string command_that_tells(const std::string& folder);

// The names of the nodes whose records the folder does not hold, with commas; empty: none.
[[nodiscard]] std::string nodes_without_file(const RunReport& report);

// {"runs": [{name, outcome, reason, text, policy, compressor, topology, nodes: [name], parameters,
//            rounds, seconds, loss, accuracy, verdict, round_s: {p50, p95},
//            measured_rounds: [first, end), compute_share,
//            findings: [{rule, weight, text, remedy}], no_what_if,
//            node_measures: [{gradient_p50_s, gradient_p95_s,
//                             compute_s, encode_s, apply_s, step_s, wire_s, wait_s}],  these add up
//                             to the round; null for a node whose records the folder does not hold
//            nodes_without_file,  its names, with commas
//            links: [{from, to, rate_bits_per_s, true_rate_bits_per_s, rate_off, fixed_cost_s,
//                     busy, bytes, budget_bytes, dense_bytes, kept, reduce_contraction,
//                     gather_contraction, saved_s}],
//            curves: {...}, layers: {...}, events: [{time_s, node, text}]}]}
// `curves` has lists of at most kPointsMax numbers, each the mean of as many rounds: round,
// seconds, loss, and what the page draws by node (the parts of a round's time) and by link;
// `evaluations` are {round, seconds, accuracy, test_loss}. A number that is unknown is null.
[[nodiscard]] std::string report_json(std::span<const RunReport> reports);
// The same as text for people.
[[nodiscard]] std::string report_markdown(std::span<const RunReport> reports);
// The same as one page that needs nothing else: no network, no other file.
[[nodiscard]] std::string report_html(std::span<const RunReport> reports);

inline constexpr std::size_t kPointsMax = 300;  // of a curve: as many as a page has columns for
inline constexpr std::size_t kLinkNumbersMax = 100'000;  // of all links' curves: a page of 2 MB

}  // namespace kimesh
