#include "tests/report/simulated_run.h"

#include "kimesh/objective/quadratic.h"

namespace kimesh::test {

void simulate_run(const RunSpec& spec, const std::string& path) {
  std::filesystem::create_directories(path);
  const RunFolder folder(path);
  std::ofstream(folder.topology()) << "kind: " << spec.kind << R"(
nodes:
  a: {address: "tcp://127.0.0.1:7110"}
  b: {address: "tcp://127.0.0.1:7111"}
  c: {address: "tcp://127.0.0.1:7112"}
  d: {address: "tcp://127.0.0.1:7113"}
links:
  )" << spec.links << "\n";
  std::ofstream(folder.config()) << "quadratic: {dimension: 2000, condition: 10}\n"
                                 << "optimizer: {kind: sgd, lr: 0.2}\n"
                                 << "compression: " << spec.compression << "\n"
                                 << "stop: {rounds: " << spec.rounds << "}\n"
                                 << spec.more;
  auto files = load_mesh_files(folder.config(), folder.topology());
  for (const Problem& problem : files.problems) ADD_FAILURE() << to_string(problem);
  auto objective = make_quadratic_mesh(*files.value.config.quadratic, 4, {}, 1);
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
