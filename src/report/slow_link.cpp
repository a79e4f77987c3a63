// A link that makes rounds long, or all of them alike.
#include <fmt/format.h>

#include "rules.h"

namespace kimesh {
namespace {

constexpr double kStandsOut = 1.3;     // a link that is so many times as busy as the others
constexpr double kWorthSaying = 0.05;  // a change by less is none

// What links of twice the rate would bring.
std::string faster(const FindingInput& input, const Change& change, const std::string& whose) {
  if (input.what_if == nullptr || !input.what_if->trouble().empty()) return "";
  const auto outcomes = input.what_if->relative(change);
  if (!outcomes) return "";
  if (outcomes->round < 1 - kWorthSaying)
    return fmt::format(" With twice {} a round would take {} of the time.", whose,
                       percent_text(outcomes->round));
  const double bytes = outcomes->bytes[busiest_link(input.measures).link];
  if (bytes > 1 + kWorthSaying)
    return fmt::format(" With twice {} it would carry {:.1f} times the bytes in as long a round.",
                       whose, bytes);
  return fmt::format(" Twice {} alone would change little.", whose);
}

// What two local steps would bring, where messages can carry them and the mesh does not choose.
std::string local_steps(const FindingInput& input) {
  const CompressionOptions& compression = input.history.config.compression;
  const bool can = compression.sends_movements() && !compression.chooses_local_steps();
  if (!can || input.what_if == nullptr || !input.what_if->trouble().empty()) return "";
  const auto outcomes = input.what_if->relative({.more_steps = 2});
  if (!outcomes || outcomes->round > 2 * (1 - kWorthSaying)) return "";
  return fmt::format(" With twice the local_steps a step would take {} of the time.",
                     percent_text(outcomes->round / 2));
}

std::string remedy(const FindingInput& input) {
  const CompressionOptions& compression = input.history.config.compression;
  if (compression.policy->round_time_use() == RoundTimeUse::kChooses)
    return "Give the nodes behind slow links smaller shards (shard_weight), or another place in "
           "the topology (kimesh plan --suggest)";
  return "Messages that fit their links: compression: {policy: auto}";
}

}  // namespace

std::optional<Finding> find_slow_link(const FindingInput& input) {
  const RunMeasures& measures = input.measures;
  if (measures.links.empty() || measures.compute_share() >= kComputeBound) return std::nullopt;
  const Busiest busiest = busiest_link(measures);
  if (busiest.busy < kBusyMin) return std::nullopt;
  const bool alone = busiest.others && busiest.busy > kStandsOut * *busiest.others;
  const LinkMeasures& link = measures.links[busiest.link];
  const std::string rate =
      link.rate_bits_per_s ? format_rate(*link.rate_bits_per_s) : std::string("an unknown rate");
  Finding finding;
  finding.weight = busiest.busy * (1 - measures.compute_share());
  const std::string rounds =
      fmt::format(" A round takes {}, the longest gradient {}.",
                  seconds_text(measures.mean_round_s), seconds_text(measures.longest_gradient_s));
  if (alone)
    finding.text = fmt::format(
        "Link {} makes rounds long: it sends {} of the time, the others {} (median), at {}.",
        input.link(busiest.link), percent_text(busiest.busy), percent_text(*busiest.others), rate);
  else
    finding.text = fmt::format("The links make rounds long: they send about {} of the time.",
                               percent_text(busiest.busy));
  finding.text += rounds;
  finding.text += alone ? faster(input, {.faster_link = busiest.link}, "its rate")
                        : faster(input, {.all_links_faster = true}, "their rates");
  finding.text += local_steps(input);
  finding.remedy = remedy(input);
  return finding;
}

}  // namespace kimesh
