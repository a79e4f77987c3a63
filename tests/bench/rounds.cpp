// How long rounds take against what was planned, behind links with token buckets that drain between
// messages, over long links, and where links share an interface: estimator and budget in their
// closed loop, in virtual time.
//
//   bench_rounds [--seeds N] [--only TEXT] [--json FILE]
//
// --only: the cases in whose names that text is.
#include "tests/bench/arguments.h"
#include "tests/bench/figures.h"
#include "tests/quadratic_mesh/round_times.h"

namespace kimesh::bench {
namespace {

using test::RoundTimes;
using test::SlowLinks;

constexpr double kMbit = 1e6;

std::string name_of(const SlowLinks& links) {
  return fmt::format("{}{}, {} Mbit/s, RTT {} ms, bucket {} B", links.kind,
                     !links.shared          ? ""
                     : links.unfairness > 0 ? " shared unfairly"
                                            : " shared",
                     links.bits_per_s / kMbit, 2e3 * to_seconds(links.delay), links.bucket_bytes);
}

struct Wanted {
  unsigned seeds;
  std::string only;  // part of the names; empty: all
};

void measure(SlowLinks links, const Wanted& wanted, Figures& figures) {
  const std::string name = name_of(links);
  if (name.find(wanted.only) == std::string::npos) return;
  std::vector<double> half, most, busy, after_fall, after_rise;
  for (links.seed = 1; links.seed <= wanted.seeds; ++links.seed) {
    links.rate_factor = 1;
    const RoundTimes times = test::round_times(links);
    half.push_back(times.quantile(0.5));
    most.push_back(times.quantile(0.95));
    busy.push_back(times.busy);
    links.rate_factor = 0.25;
    after_fall.push_back(
        static_cast<double>(test::round_times(links).rounds_until_within(0, 1.25)));
    links.rate_factor = 4;
    after_rise.push_back(
        static_cast<double>(test::round_times(links).rounds_until_within(0, 1.25)));
  }
  figures.add(name + ", took / plan, p50", "1", half);
  figures.add(name + ", took / plan, p95", "1", most);
  figures.add(name + ", wire busy", "1", busy);
  figures.add(name + ", until right at rate / 4", "rounds", after_fall);
  figures.add(name + ", until right at rate x 4", "rounds", after_rise);
}

SlowLinks slow_links(const char* kind, double mbit, std::size_t bucket) {
  SlowLinks links;
  links.kind = kind;
  links.bits_per_s = mbit * kMbit;
  links.bucket_bytes = bucket;
  return links;
}

// A tree of seven nodes, a graph of five: longer rounds, since more messages follow one another.
SlowLinks branching(const char* kind, double mbit, std::size_t bucket) {
  SlowLinks links = slow_links(kind, mbit, bucket);
  links.nodes = links.kind == "tree" ? 7 : 5;
  links.round_time = std::chrono::milliseconds(200);
  links.gradient = std::chrono::milliseconds(40);
  return links;
}

SlowLinks far(SlowLinks links) {
  links.delay = std::chrono::milliseconds(10);
  links.round_time = std::chrono::milliseconds(400);
  links.gradient = std::chrono::milliseconds(80);
  return links;
}

SlowLinks shared(SlowLinks links) {
  links.shared = true;
  return links;
}

// Flows that get unlike parts of what they share.
SlowLinks unfair(SlowLinks links) {
  links.unfairness = 0.7;
  return shared(links);
}

}  // namespace

int main(int count, char** words) {
  const Arguments said(count, words, {"--seeds", "--only", "--json"});
  const Wanted wanted{static_cast<unsigned>(std::stoul(said("--seeds", "5"))), said("--only")};
  fmt::print("{}; medians of {} seeds, in virtual time\n", machine(), wanted.seeds);
  Figures figures;
  for (const char* kind : {"ring", "parameter_server"})
    for (const double mbit : {1.0, 10.0, 100.0})
      for (const std::size_t bucket : {0u, 1'600u, 16'000u, 32'000u}) {
        const SlowLinks links = slow_links(kind, mbit, bucket);
        measure(links, wanted, figures);
        if (links.kind == "parameter_server") {
          measure(shared(links), wanted, figures);
          measure(unfair(links), wanted, figures);
        }
        if (mbit < 100) measure(far(links), wanted, figures);
      }
  for (const char* kind : {"tree", "graph"})
    for (const double mbit : {1.0, 10.0})
      for (const std::size_t bucket : {1'600u, 16'000u}) {
        measure(branching(kind, mbit, bucket), wanted, figures);
        measure(shared(branching(kind, mbit, bucket)), wanted, figures);
        measure(unfair(branching(kind, mbit, bucket)), wanted, figures);
      }
  return figures.write(said("--json")) ? 0 : 1;
}

}  // namespace kimesh::bench

int main(int count, char** words) {
  return kimesh::bench::main(count, words);
}
