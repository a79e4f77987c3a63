// What is measured of links, held against links that the kernel shapes (tc tbf), so as root only:
// the error of the measured rate, the bytes counted, and the simulator's round time.
//   --json FILE   writes the figures
//   --only rate | simulated   one part of them
//   --round-time TIME         of the simulated and live runs
#include <cmath>
#include <cstdio>

#include "kimesh/bandwidth/estimator.h"
#include "tests/bench/arguments.h"
#include "tests/bench/figures.h"
#include "tests/bench/shaped_run.h"
#include "tests/netns/shaped_pair.h"

namespace kimesh::bench {
namespace {

using test::Bucket;
using test::ShapedMesh;
using test::ShapedPair;

constexpr int kWarmUp = 3;  // messages before anything is counted
constexpr Round kFirstRound = 10, kRounds = 60;
// The least that a bucket can hold. The simulator knows no buckets: links of both are alike only
// for messages that are far larger.
constexpr std::size_t kOnePacket = 1600;

double quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

bool fail(const std::string& sentence) {
  fmt::print(stderr, "bench: {}\n", sentence);
  return false;
}

// Counted frames against TCP's own count and the interface's, in percent of TCP's.
void put_bytes(Figures& figures, const std::string& name, double frames, double tcp,
               double interface) {
  figures.add(name + ": frames counted over TCP_INFO's", "%", {100 * (frames / tcp - 1)});
  figures.add(name + ": interface's bytes over TCP_INFO's", "%", {100 * (interface / tcp - 1)});
}

// Truth is what the bucket lets through, less the headers that the interface counted beside our
// bytes.
bool rate_error(Figures& figures, double bits_per_s, std::size_t bytes, int messages) {
  auto pair = ShapedPair::make({bits_per_s});
  if (!pair) return fail(pair.error().message);
  LinkCounters before;
  std::uint64_t interface_before = 0;
  LinkEstimator estimator;
  std::vector<double> estimates;
  for (int i = 0; i < messages; ++i) {
    // Bytes are counted from here on: while TCP looks for the rate our own queue drops some of what
    // it sends, which TCP_INFO counts as sent twice and never as retransmitted.
    if (i == kWarmUp) {
      before = (*pair)->counters();
      interface_before = (*pair)->mesh().interface_bytes(0, 1);
    }
    (*pair)->send(bytes);
    const auto sample = (*pair)->sample();
    if (!sample) return fail("no ack came");
    estimator.add(*sample);
    if (i >= kWarmUp) estimates.push_back(estimator.estimate().bytes_per_s);
  }
  const LinkCounters after = (*pair)->counters();
  const auto interface =
      static_cast<double>((*pair)->mesh().interface_bytes(0, 1) - interface_before);
  const double truth =
      bits_per_s / 8 * static_cast<double>(after.message_bytes - before.message_bytes) / interface;
  std::vector<double> errors;
  for (const double estimate : estimates) errors.push_back(100 * std::abs(estimate / truth - 1));
  const std::string name =
      fmt::format("{:g} Mbit/s, {} KB messages", bits_per_s / 1e6, bytes / 1000);
  figures.add(name + ": rate error p50", "%", {quantile(errors, 0.5)});
  figures.add(name + ": rate error p95", "%", {quantile(errors, 0.95)});
  put_bytes(figures, name, static_cast<double>(after.frame_bytes - before.frame_bytes),
            static_cast<double>(after.tcp_bytes_sent - after.tcp_bytes_retransmitted -
                                before.tcp_bytes_sent + before.tcp_bytes_retransmitted),
            interface);
  return true;
}

struct Job {
  std::string name;  // of a shipped topology
  TopologyFile topology;
  std::string config;
};

double rate_of(const TopologyFile& topology, NodeIndex from, NodeIndex to) {
  const auto& rate = topology.link(from, to).rate;
  return rate ? rate->at(0) : 0;
}

// Simulates the job on `topology_path` with the gradient's time of a live run, and holds the round
// times against each other.
bool hold_against_simulation(Figures& figures, const Job& job, const std::string& where,
                             const RunTimes& live, const std::string& topology_path) {
  const std::string run = "simulated-" + where + "-" + job.name;
  if (!run_here(fmt::format("{} simulate --config {} --topology {} --run {} --compute {:.0f}us",
                            KIMESH_BINARY, job.config, topology_path, run, live.compute_s * 1e6),
                "simulated.log"))
    return fail("the simulation failed: see simulated.log");
  const RunTimes simulated = read_run("runs/" + run, job.topology, kFirstRound);
  const std::string name = job.name + " on " + where;
  figures.add(name + ": live round", "ms", {1e3 * live.round_s});
  figures.add(name + ": slowest gradient", "ms", {1e3 * live.compute_s});
  figures.add(name + ": simulated over live round time", "%",
              {100 * (simulated.round_s / live.round_s - 1)});
  return true;
}

// The topology with the links' rates of a live run, for the simulator.
template <typename Rate>
std::string simulated_topology(const Job& job, Rate rate) {
  const auto address = [](NodeIndex i) { return fmt::format("127.0.0.1:{}", 7101 + i); };
  write_file("simulated.yaml", topology_text(job.topology, address, rate));
  return "simulated.yaml";
}

// The shipped file itself, its links emulated in both.
bool as_shipped(Figures& figures, const Job& job, const std::string& path) {
  const std::string run = "shipped-" + job.name;
  if (!run_here(fmt::format("{} up --config {} --topology {} --run {}", KIMESH_BINARY, job.config,
                            path, run),
                "shipped.log"))
    return fail("the run failed: see shipped.log");
  return hold_against_simulation(figures, job, "emulated",
                                 read_run("runs/" + run, job.topology, kFirstRound), path);
}

bool on_loopback(Figures& figures, const Job& job) {
  const auto ports = [](NodeIndex i) { return fmt::format("127.0.0.1:{}", 7861 + i); };
  const auto rate = [&](NodeIndex i, NodeIndex j) { return rate_of(job.topology, i, j); };
  write_file("loopback.yaml", topology_text(job.topology, ports, rate));
  const std::string run = "loopback-" + job.name;
  if (!run_here(fmt::format("{} up --config {} --topology loopback.yaml --run {}", KIMESH_BINARY,
                            job.config, run),
                "loopback.log"))
    return fail("the run failed: see loopback.log");
  return hold_against_simulation(figures, job, "loopback",
                                 read_run("runs/" + run, job.topology, kFirstRound),
                                 simulated_topology(job, rate));
}

bool on_tbf(Figures& figures, const Job& job) {
  const auto& nodes = job.topology.nodes;
  // Cables that carry no link bring nothing but TCP's own acks.
  auto mesh = ShapedMesh::make(nodes.size(), [&](NodeIndex from, NodeIndex to) {
    const double rate = rate_of(job.topology, from, to);
    return Bucket{rate > 0 ? rate : 10e6, kOnePacket};
  });
  if (!mesh) return fail(mesh.error().message);
  const auto address = [&](NodeIndex i) { return mesh->address(i) + ":7101"; };
  write_file("tbf.yaml", topology_text(job.topology, address, [](auto, auto) { return 0.0; }));
  if (!run_in(*mesh, job.topology, job.config, "tbf.yaml", "runs/tbf-" + job.name))
    return fail("the run failed: see runs/tbf-" + job.name);
  const RunTimes live = read_run("runs/tbf-" + job.name, job.topology, kFirstRound);
  // The bucket counts headers of every packet, the simulator's link only kimesh's own bytes.
  double frames = 0, tcp = 0, interface = 0;
  const auto rate = [&](NodeIndex i, NodeIndex j) {
    const auto found = live.bytes.find({nodes[i].name, nodes[j].name});
    if (found == live.bytes.end()) return 0.0;
    return rate_of(job.topology, i, j) * found->second.message /
           static_cast<double>(mesh->interface_bytes(i, j));
  };
  for (NodeIndex i = 0; i < nodes.size(); ++i)
    for (NodeIndex j = 0; j < nodes.size(); ++j)
      if (const auto at = live.bytes.find({nodes[i].name, nodes[j].name}); at != live.bytes.end()) {
        frames += at->second.frame;
        tcp += at->second.tcp - at->second.retransmitted;
        interface += static_cast<double>(mesh->interface_bytes(i, j));
      }
  put_bytes(figures, job.name + " on tbf", frames, tcp, interface);
  return hold_against_simulation(figures, job, "tbf", live, simulated_topology(job, rate));
}

bool rates(Figures& figures) {
  return rate_error(figures, 1e6, 1'000'000, 8) && rate_error(figures, 10e6, 1'000'000, 40) &&
         rate_error(figures, 100e6, 1'000'000, 120) && rate_error(figures, 1e6, 5'000, 400);
}

bool simulated(Figures& figures, const std::string& round_time) {
  const std::string shipped = KIMESH_SOURCE_DIR;
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / fmt::format("kimesh-bench-{}", ::getpid());
  fs::create_directories(folder);
  fs::current_path(folder);
  fmt::print("files of the runs: {}\n", folder.string());
  // The shipped job, long enough to count and without an end that depends on chance.
  write_file("digits.yaml",
             fmt::format("model: {{kind: mlp, hidden: [256, 128]}}\n"
                         "data: {{kind: digits, batch: 32, split: even}}\n"
                         "optimizer: {{kind: sgd, lr: 0.1, momentum: 0.9}}\n"
                         "compression: {{policy: kimad, compressor: topk}}\n"
                         "round_time: {}\nstop: {{rounds: {}}}\nevaluate_every: 1000\nseed: 1\n",
                         round_time, kRounds));
  for (const std::string name : {"tree7", "graph5", "ring4", "ps4"}) {
    const std::string path = shipped + "/topologies/" + name + ".yaml";
    Loaded<TopologyFile> loaded = load_topology(path);
    if (!loaded.ok()) return fail(to_string(loaded.problems.front()));
    const Job job{name, std::move(loaded.value), "digits.yaml"};
    const bool rebuilt = name == "ring4" || name == "ps4";  // what topology_text can write
    const bool good = rebuilt ? on_loopback(figures, job) && on_tbf(figures, job)
                              : as_shipped(figures, job, path);
    if (!good) return false;
  }
  fs::current_path("/");
  fs::remove_all(folder);
  return true;
}

}  // namespace
}  // namespace kimesh::bench

int main(int count, char** words) {
  using namespace kimesh::bench;
  const Arguments said(count, words, {"--only", "--json", "--round-time"});
  fmt::print("{}\n", machine());
  const std::string only = said("--only");
  const std::string json = said("--json");
  const std::string round_time = said("--round-time", "500ms");
  const std::string path = json.empty() ? "" : std::filesystem::absolute(json).string();
  Figures figures;
  const auto wanted = [&](const char* part) { return only.empty() || only == part; };
  const bool good = (!wanted("rate") || rates(figures)) &&
                    (!wanted("simulated") || simulated(figures, round_time));
  return figures.write(path) && good ? 0 : 1;
}
