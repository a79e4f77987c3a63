// `kimesh node --metrics`, asked by a real Prometheus: Debian's, which `./dev test` unpacks into
// build/prometheus, or the one in PATH.
#include <gmock/gmock.h>

#include "tests/e2e/command.h"
#include "tests/e2e/program.h"
#include "tests/http/client.h"

namespace kimesh::test::metrics_test {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::vector<std::string> kNames{"a", "b", "c", "d"};
constexpr int kMeshPort = 7101, kMetricsPort = 9101, kPrometheusPort = 9090;

std::string place(std::size_t port) {
  return own_host() + ":" + std::to_string(port);
}

std::string four_nodes() {
  std::string text = "kind: ring\nlinks: {default: {delay: 5ms}}\nnodes:\n";
  for (std::size_t i = 0; i < kNames.size(); ++i)
    text += "  " + kNames[i] + ": {address: \"tcp://" + place(kMeshPort + i) + "\"}\n";
  return text;
}

std::string prometheus_yaml() {
  std::string targets;
  for (std::size_t i = 0; i < kNames.size(); ++i)
    targets += (i == 0 ? "\"" : ", \"") + place(kMetricsPort + i) + "\"";
  return "scrape_configs:\n- job_name: kimesh\n  scrape_interval: 1s\n  scrape_timeout: 1s\n"
         "  static_configs: [{targets: [" +
         targets + "]}]\n";
}

// What Prometheus knows under a name: a list of {metric, value}.
nlohmann::json series_of(const std::string& name) {
  const std::string answer = http_get(own_host(), kPrometheusPort, "/api/v1/query?query=" + name);
  const auto parsed = nlohmann::json::parse(body_of(answer), nullptr, false);
  return parsed.is_object() && parsed.contains("data") ? parsed["data"]["result"]
                                                       : nlohmann::json::array();
}

// Empty: there is none.
std::string prometheus_program() {
  const std::string unpacked = KIMESH_SOURCE_DIR "/build/prometheus/usr/bin/prometheus";
  if (::access(unpacked.c_str(), X_OK) == 0) return unpacked;
  return run_command({"prometheus", "--version"}).code == 0 ? "prometheus" : "";
}

class NodeMetrics : public testing::Test {
 protected:
  void SetUp() override {
    scratch.write("config.yaml", kEndlessConfig);
    scratch.write("mesh.yaml", four_nodes());
  }
  [[nodiscard]] std::vector<std::string> node(const std::string& name,
                                              const std::string& metrics) const {
    const std::string at = scratch.path() + "/";
    return {KIMESH_BINARY,  "node",           "--config",  at + "config.yaml",
            "--topology",   at + "mesh.yaml", "--name",    name,
            "--run-folder", at + "run",       "--metrics", metrics};
  }
  Scratch scratch;
};

// Seen to fail: nodes that serve nothing.
TEST_F(NodeMetrics, APrometheusThatScrapesFourNodesAnswersForEach) {
  const std::string program = prometheus_program();
  if (program.empty()) GTEST_SKIP() << "no prometheus: `./dev test` fetches one";
  std::vector<std::unique_ptr<Command>> nodes;
  for (std::size_t i = 0; i < kNames.size(); ++i)
    nodes.push_back(std::make_unique<Command>(node(kNames[i], place(kMetricsPort + i))));
  scratch.write("prometheus.yml", prometheus_yaml());
  const std::string at = scratch.path();
  Command prometheus({program, "--config.file=" + at + "/prometheus.yml",
                      "--storage.tsdb.path=" + at + "/tsdb",
                      "--web.listen-address=" + place(kPrometheusPort)});
  ASSERT_TRUE(prometheus.says("Server is ready")) << prometheus.said();
  // A node says how far it is once a second: as often Prometheus is asked.
  while (series_of("kimesh_link_gain").size() < kNames.size())
    ASSERT_TRUE(nodes[0]->says_more()) << nodes[0]->said() << prometheus.said();

  const nlohmann::json rounds = series_of("kimesh_rounds_total");
  ASSERT_EQ(rounds.size(), kNames.size()) << rounds;
  std::set<std::string> names;
  for (const auto& series : rounds) {
    names.insert(series["metric"]["node"].get<std::string>());
    EXPECT_GT(std::stod(series["value"][1].get<std::string>()), 0) << series;
  }
  EXPECT_EQ(names, std::set<std::string>(kNames.begin(), kNames.end()));
  for (const char* name :
       {"kimesh_loss", "kimesh_info", "kimesh_link_bytes_total", "kimesh_link_socket_bytes_total",
        "kimesh_link_queued_messages", "kimesh_link_reconnects_total"})
    EXPECT_EQ(series_of(name).size(), kNames.size()) << name;

  nodes[0]->signal(SIGINT);
  for (const auto& one : nodes) EXPECT_EQ(one->wait(), 0) << one->said();
}

TEST_F(NodeMetrics, ABadAddressIsRefusedBeforeAnythingStarts) {
  const CommandEnd ended = run_command(node("a", "nowhere"));
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.said, HasSubstr("metrics cannot be served at 'nowhere'"));
  EXPECT_FALSE(std::filesystem::exists(scratch.path() + "/run"));
}

TEST_F(NodeMetrics, AnAddressThatOthersReachIsPointedOut) {
  Command open(node("a", "0.0.0.0:0"));
  EXPECT_TRUE(open.says("metrics at 0.0.0.0:0 can be read by everybody who reaches that address"));
  Command closed(node("b", place(kMetricsPort)));
  EXPECT_TRUE(closed.says("waiting for"));
  EXPECT_THAT(closed.said(), Not(HasSubstr("can be read by everybody")));
}

}  // namespace
}  // namespace kimesh::test::metrics_test
