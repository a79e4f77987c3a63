#include "tests/report/simulated_run.h"

#include "kimesh/objective/quadratic.h"

namespace kimesh::test {

void simulate_run(const RunSpec& spec, const std::string& path) {
  std::filesystem::create_directories(path);
  const RunFolder folder(path);
  std::ofstream topology(folder.topology());
  topology << "kind: " << spec.kind << "\nnodes:\n";
  for (const char name : {'a', 'b', 'c', 'd'})
    topology << "  " << name << ": {address: \"tcp://127.0.0.1:" << 7110 + (name - 'a') << "\""
             << spec.of_nodes << "}\n";
  topology << "links:\n  " << spec.links << "\n";
  topology.close();
  if (!spec.trace.empty()) std::ofstream(path + "/rates.csv") << spec.trace;
  const bool is_own = !spec.layers.empty();
  std::ofstream(folder.config()) << (is_own ? "objective: own\n"
                                            : "quadratic: {dimension: 2000, condition: 10}\n")
                                 << "optimizer: {kind: sgd, lr: 0.2}\n"
                                 << "compression: " << spec.compression << "\n"
                                 << "stop: {rounds: " << spec.rounds << "}\n"
                                 << spec.more;
  auto files = load_mesh_files(folder.config(), folder.topology());
  for (const Problem& problem : files.problems) ADD_FAILURE() << to_string(problem);
  Result<std::unique_ptr<MeshObjective>> objective = layered_mesh(spec.layers, 4);
  if (!is_own) objective = make_quadratic_mesh(*files.value.config.quadratic, 4, {}, 1);
  ASSERT_TRUE(objective.ok());
  auto mesh = Mesh::make(std::move(files.value), std::move(*objective));
  ASSERT_TRUE(mesh.ok()) << mesh.error().message;
  RunInfo info;
  info.layout = (*mesh)->plan().layout;
  ASSERT_TRUE(folder.write_info(info).ok());
  MeshSimulationOptions options;
  options.run.folder = &folder;
  options.costs = spec.costs;
  const auto end = (*mesh)->simulate(options);
  ASSERT_TRUE(end.ok()) << end.error().message;
  ASSERT_EQ(end->run.outcome, Outcome::kDone) << end->run.text;
}

RunReport report_of(const RunSpec& spec, const std::string& folder, WhatIfUse use) {
  simulate_run(spec, folder);
  auto report = make_report(folder, use);
  EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
  return std::move(*report);
}

std::string text_of(const RunReport& report, std::string_view rule) {
  for (const Finding& finding : report.findings)
    if (finding.rule == rule) return finding.text;
  return "";
}

bool has(const RunReport& report, std::string_view rule) {
  return !text_of(report, rule).empty();
}

}  // namespace kimesh::test
