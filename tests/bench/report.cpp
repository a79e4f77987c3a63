// How long `kimesh report` takes for a long run, and how large its page is: a run of a ring of 8
// nodes in virtual time, with 50 layers, whose records are read from its folder as a user's are.
// And the verdict at the end of a run, of as many records as it reads at the most.
//
//   bench_report [--rounds N] [--runs N] [--json FILE]
#include "kimesh/report/report.h"

#include <chrono>
#include <filesystem>

#include "kimesh/mesh/mesh.h"
#include "tests/bench/arguments.h"
#include "tests/bench/figures.h"
#include "tests/quadratic_mesh/layers.h"

namespace kimesh::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNodes = 8, kLayers = 50, kLayerElements = 40;
constexpr double kMegabyte = 1e6;

template <typename T>
T or_exit(Result<T> result) {
  if (result) return std::move(*result);
  fmt::print(stderr, "{}\n", result.error().message);
  std::exit(2);
}

// Leaves a run in `path`. Gives the bytes of its records.
double simulate(const std::string& path, Round rounds) {
  fs::create_directories(path);
  const RunFolder folder(path);
  fs::copy_file(KIMESH_SOURCE_DIR "/topologies/ring8.yaml", folder.topology());
  std::ofstream(folder.config()) << "objective: own\noptimizer: {kind: sgd, lr: 0.01}\n"
                                 << "compression: {policy: kimad, compressor: topk}\n"
                                 << "round_time: 60ms\nstop: {rounds: " << rounds << "}\n";
  auto files = load_mesh_files(folder.config(), folder.topology());
  KIMESH_CHECK(files.ok(), "the files are right");
  std::vector<test::QuadraticLayer> layers(kLayers, {kLayerElements, 1});
  for (std::size_t i = 0; i < kLayers; ++i) layers[i].curvature = 1.0 / static_cast<double>(1 + i);
  const auto mesh = or_exit(Mesh::make(std::move(files.value), test::layered_mesh(layers, kNodes)));
  RunInfo info;
  info.layout = mesh->plan().layout;
  KIMESH_CHECK(folder.write_info(info).ok(), "the disk takes it");
  MeshSimulationOptions options;
  options.run.folder = &folder;
  const MeshEnd end = or_exit(mesh->simulate(options));
  KIMESH_CHECK(end.run.outcome == Outcome::kDone, end.run.text);
  double bytes = 0;
  for (const std::string& node : mesh->plan().view.nodes)
    bytes += static_cast<double>(fs::file_size(folder.events(node)));
  return bytes;
}

template <typename Work>
double seconds_of(Work work) {
  const auto begun = std::chrono::steady_clock::now();
  work();
  return to_seconds(std::chrono::steady_clock::now() - begun);
}

int run(int count, char** words) {
  const Arguments said(count, words, {"--rounds", "--runs", "--json"});
  const auto rounds = static_cast<Round>(std::stoul(said("--rounds", "10000")));
  const unsigned long runs = std::stoul(said("--runs", "3"));
  const std::string place =
      (fs::temp_directory_path() / fmt::format("kimesh_bench_report_{}", ::getpid())).string();
  Figures figures;
  const std::string of = fmt::format("{} rounds, {} nodes", rounds, kNodes);
  const double bytes = simulate(place + "/long", rounds);
  figures.add("records, " + of, "MB", {bytes / kMegabyte});
  const double most = static_cast<double>(kQuickBytesMax);
  const auto fewer = static_cast<Round>(0.99 * rounds * std::min(1.0, most / bytes));
  const double quick_bytes = simulate(place + "/quick", fewer);
  std::vector<double> times, sizes, quick;
  for (unsigned long i = 0; i < runs; ++i) {
    std::string page;
    times.push_back(seconds_of([&] {
      const RunReport report = or_exit(make_report(place + "/long", WhatIfUse::kAllowed));
      page = report_html({&report, 1});
    }));
    sizes.push_back(static_cast<double>(page.size()) / kMegabyte);
    quick.push_back(seconds_of([&] {
      fmt::print("  {}\n", or_exit(quick_verdict(or_exit(load_run(place + "/quick")))));
    }));
  }
  figures.add("report, " + of + " (at most 5)", "s", times);
  figures.add("its page (at most 5)", "MB", sizes);
  figures.add(fmt::format("verdict of {:.0f} MB of records (at most 2)", quick_bytes / kMegabyte),
              "s", quick);
  fs::remove_all(place);
  return figures.write(said("--json")) ? 0 : 1;
}

}  // namespace
}  // namespace kimesh::bench

int main(int argc, char** argv) {
  return kimesh::bench::run(argc, argv);
}
