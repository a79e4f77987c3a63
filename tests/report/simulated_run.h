// A run of a small mesh in virtual time, with the files that `kimesh simulate` leaves.
#pragma once

#include <string>
#include <vector>

#include "kimesh/mesh/mesh.h"
#include "kimesh/report/report.h"
#include "tests/quadratic_mesh/layers.h"
#include "tests/records/folder.h"

namespace kimesh::test {

struct RunSpec {
  std::string compression = "{policy: fixed, compressor: topk, ratio: 0.05}";
  std::string more{};  // further lines of the config
  std::string links = "default: {rate: 4Mbit}";
  std::string trace{};  // rates.csv beside the topology; empty: there is none
  unsigned rounds = 60;
  SimulatedCosts costs{};
  std::vector<QuadraticLayer> layers{};  // of the quadratic; empty: one vector
  std::string of_nodes{};                // further keys of every node, such as ", uplink: 2Mbit"
  std::string kind = "ring";  // of the topology of four nodes, with further lines of its own
};

// Leaves the run in `folder`.
void simulate_run(const RunSpec& spec, const std::string& folder);
// Requires that the run is reported.
[[nodiscard]] RunReport report_of(const RunSpec& spec, const std::string& folder,
                                  WhatIfUse use = WhatIfUse::kNever);
[[nodiscard]] bool has(const RunReport& report, std::string_view rule);
// The text of the rule's finding; empty: there is none.
[[nodiscard]] std::string text_of(const RunReport& report, std::string_view rule);

}  // namespace kimesh::test
