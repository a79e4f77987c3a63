#include <algorithm>
#include <cmath>
#include <filesystem>
#include <regex>

#include "kimesh/emulation/rate_trace.h"
#include "kimesh/run/run_config.h"
#include "kimesh/topology/plan.h"
#include "kimesh/util/check.h"
#include "tests/fuzz/file_of.h"
#include "tests/run/stand_in_models.h"

namespace kimesh::fuzz {
namespace {

constexpr const char* kTraces = KIMESH_SOURCE_DIR "/topologies/traces";

void check_sentences(const std::vector<Problem>& problems) {
  for (const Problem& problem : problems) {
    KIMESH_CHECK(!problem.message.empty() && !problem.remedy.empty(), "a problem has a remedy");
    KIMESH_CHECK(std::ranges::none_of(to_string(problem), [](char c) { return c >= 0 && c < ' '; }),
                 "a problem is one line, without controls");
  }
}

bool accepts_config(Input input) {
  const auto config = load_config(file_of("config.yaml", input));
  check_sentences(config.problems);
  if (!config.ok()) return false;
  KIMESH_CHECK(!config.value.canonical().empty(), "what is accepted can be told");
  return true;
}

// A rate is in force at every time, and time goes on.
void check_trace(const RateTrace& trace) {
  for (double seconds = 0, steps = 0; steps < 50 && std::isfinite(seconds); ++steps) {
    KIMESH_CHECK(trace.at(seconds) > 0, "a rate is above 0");
    const double next = trace.next_change_after(seconds);
    KIMESH_CHECK(next > seconds, "a change comes later");
    seconds = next;
  }
  KIMESH_CHECK(trace.mean() > 0, "a rate is above 0");
}

// The traces that shipped topologies name lie where these look for them.
bool put_traces() {
  std::filesystem::create_directories(folder() + "/traces");
  for (const auto& entry : std::filesystem::directory_iterator(kTraces)) {
    const std::string name = entry.path().filename();
    file_of("traces/" + name, shipped("topologies/traces/" + name));
  }
  return true;
}

bool accepts_topology(Input input) {
  [[maybe_unused]] static const bool has_traces = put_traces();
  const auto topology = load_topology(file_of("topology.yaml", input));
  check_sentences(topology.problems);
  if (!topology.ok()) return false;
  KIMESH_CHECK(!topology.value.canonical().empty(), "what is accepted can be told");
  const auto plan = make_plan(topology.value, Layout::vector(100));
  if (!plan.ok()) KIMESH_CHECK(plan.error().code == ErrorCode::kUserInput, "the user is told why");
  if (plan.ok()) (void)draw_plan(*plan, topology.value, true);
  return true;
}

bool accepts_trace(Input input) {
  Complaints complaints("topology.yaml");
  const auto trace = load_trace(file_of("trace.csv", input), 3, complaints);
  KIMESH_CHECK(trace.has_value() == complaints.empty(), "what is refused is complained about");
  check_sentences(complaints.take());
  if (trace) check_trace(*trace);
  return trace.has_value();
}

// Every file of a folder of the repository, in the order of their names.
std::vector<Bytes> all_of(const std::string& folder, std::string_view extension) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(KIMESH_SOURCE_DIR "/" + folder))
    if (entry.path().extension() == extension) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  std::vector<Bytes> files;
  for (const std::string& name : names) files.push_back(shipped(folder + "/" + name));
  return files;
}

// The shipped ones, with the models that are known here.
std::vector<Bytes> config_seeds() {
  static const std::regex model("(^|\n)model: [^\n]*");
  std::vector<Bytes> seeds = all_of("configs", ".yaml");
  for (Bytes& seed : seeds) {
    const std::string text(reinterpret_cast<const char*>(seed.data()), seed.size());
    const bool of_text = text.find("kind: text") != std::string::npos;
    seed = bytes_of(std::regex_replace(text, model,
                                       of_text ? "$1model: {kind: lstm}" : "$1model: {kind: mlp}"));
  }
  return seeds;
}
std::vector<Bytes> topology_seeds() {
  return all_of("topologies", ".yaml");
}
std::vector<Bytes> trace_seeds() {
  std::vector<Bytes> seeds = all_of("topologies/traces", ".csv");
  seeds.push_back(bytes_of("# a comment\nseconds,rate\n0,2Mbit\n1.5, 500kbit\r\n\n3,1e6\n"));
  return seeds;
}

}  // namespace

std::vector<Target> config_targets() {
  return {{"config", accepts_config, config_seeds},
          {"topology", accepts_topology, topology_seeds},
          {"trace", accepts_trace, trace_seeds}};
}

}  // namespace kimesh::fuzz
