// What a run's records say in sentences: why rounds take as long as they do, and what would help. A
// rule is a function in a file of its own, src/report/NAME.cpp, and a line of the table in
// src/report/findings.cpp.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kimesh/report/measures.h"
#include "kimesh/report/what_if.h"

namespace kimesh {

struct Finding {
  std::string_view rule;  // its name in the table
  double weight = 0;      // share of the run's time that it is about; the largest comes first
  std::string text;       // sentences with their evidence
  std::string remedy;     // what to try; empty: nothing is wrong
};

struct FindingInput {
  const RunHistory& history;
  const RunMeasures& measures;
  const WhatIf* what_if = nullptr;  // null: sentences do without simulations

  [[nodiscard]] const std::string& node(NodeIndex index) const {
    return history.plan.view.nodes[index];
  }
  // "a->b".
  [[nodiscard]] std::string link(LinkIndex index) const;
};

struct FindingRule {
  std::string_view name, looks_for;
  std::optional<Finding> (*look)(const FindingInput&);
};
[[nodiscard]] std::span<const FindingRule> finding_rules();

// Applies all rules. The heaviest finding comes first.
[[nodiscard]] std::vector<Finding> find_all(const FindingInput& input);
// The first of them in one sentence, or, where there is none, that nothing stands out.
[[nodiscard]] std::string verdict(const RunMeasures& measures, std::span<const Finding> findings);

}  // namespace kimesh
