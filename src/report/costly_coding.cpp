// Compression that takes longer than the bytes that it saves would.
#include <fmt/format.h>

#include <algorithm>

#include "rules.h"

namespace kimesh {
namespace {

constexpr double kCodingShareMin = 0.05;  // of a round; coding that takes less is no trouble

}  // namespace

std::optional<Finding> find_costly_coding(const FindingInput& input) {
  const RunMeasures& measures = input.measures;
  if (measures.links.empty()) return std::nullopt;
  double coding_s = 0, saved_s = 0;
  for (const NodeMeasures& node : measures.nodes)
    coding_s = std::max(coding_s, node.encode_s + node.apply_s);
  for (const LinkMeasures& link : measures.links) {
    if (link.rounds == 0) continue;
    if (!link.saved_s) return std::nullopt;
    saved_s = std::max(saved_s, *link.saved_s);
  }
  const double share = coding_s / measures.mean_round_s;
  const bool compresses = std::ranges::any_of(measures.links, [](const LinkMeasures& link) {
    return link.rounds > 0 && link.bytes < link.dense_bytes / 2;
  });
  if (!compresses || share < kCodingShareMin || coding_s < saved_s) return std::nullopt;
  Finding finding;
  finding.weight = share;
  finding.text = fmt::format(
      "Compression costs more than it saves: coding and applying take {} a round, {} of it; the "
      "bytes that the links do not carry would take {} on the slowest.",
      seconds_text(coding_s), percent_text(share), seconds_text(saved_s));
  finding.remedy = "compression: {policy: none}, or a cheaper codec (compressor: topk)";
  return finding;
}

}  // namespace kimesh
