// How long rounds take against what was planned, behind links with token buckets that drain between
// messages: estimator and budget in their closed loop, in virtual time.
//
//   bench_rounds [--seeds N] [--json FILE]
#include "tests/bench/figures.h"
#include "tests/quadratic_mesh/round_times.h"

namespace kimesh::bench {
namespace {

using test::RoundTimes;
using test::SlowLinks;

constexpr double kMbit = 1e6;

void measure(SlowLinks links, unsigned seeds, Figures& figures) {
  std::vector<double> half, most, busy, after_fall, after_rise;
  for (links.seed = 1; links.seed <= seeds; ++links.seed) {
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
  const std::string name = fmt::format("{}, {} Mbit/s, bucket {} B", links.kind,
                                       links.bits_per_s / kMbit, links.bucket_bytes);
  figures.add(name + ", took / plan, p50", "1", half);
  figures.add(name + ", took / plan, p95", "1", most);
  figures.add(name + ", wire busy", "1", busy);
  figures.add(name + ", until right at rate / 4", "rounds", after_fall);
  figures.add(name + ", until right at rate x 4", "rounds", after_rise);
}

}  // namespace

int main(int count, char** words) {
  const auto seeds = static_cast<unsigned>(std::stoul(argument(count, words, "--seeds", "5")));
  fmt::print("{}; medians of {} seeds, in virtual time\n", machine(), seeds);
  Figures figures;
  for (const char* kind : {"ring", "parameter_server"})
    for (const double mbit : {1.0, 10.0, 100.0})
      for (const std::size_t bucket : {0u, 1'600u, 16'000u, 32'000u}) {
        SlowLinks links;
        links.kind = kind;
        links.bits_per_s = mbit * kMbit;
        links.bucket_bytes = bucket;
        measure(links, seeds, figures);
      }
  return figures.write(argument(count, words, "--json", "")) ? 0 : 1;
}

}  // namespace kimesh::bench

int main(int count, char** words) {
  return kimesh::bench::main(count, words);
}
