// The live page as a user starts it, asked as a browser asks, and in a browser.
#include <gmock/gmock.h>

#include <future>

#include "tests/e2e/browser.h"
#include "tests/e2e/program.h"
#include "tests/http/client.h"

namespace kimesh::test::web_test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr int kPort = 9200;

class WebPage : public testing::Test {
 protected:
  void SetUp() override {
    scratch.write("config.yaml",
                  "quadratic: {dimension: 400}\noptimizer: {kind: sgd, lr: 0.2}\n"
                  "compression: {policy: kimad, compressor: topk}\nround_time: 20ms\n"
                  "stop: {rounds: 50}\n");
  }
  [[nodiscard]] static std::string address() { return own_host() + ":" + std::to_string(kPort); }
  [[nodiscard]] static json state(const std::string& query = "") {
    return json::parse(body_of(http_get(own_host(), kPort, "/state.json" + query)), nullptr, false);
  }
  [[nodiscard]] std::vector<json> rounds_of(const std::string& run, const std::string& node) const {
    std::vector<json> rounds;
    for (const std::string& line :
         lines_of(read_text(scratch.run_file(run, "nodes/" + node + ".jsonl")))) {
      const json record = json::parse(line);
      if (record["event"] == "round" && record["poll"] == false) rounds.push_back(record);
    }
    return rounds;
  }
  // As a live node that is watched does.
  void record_queues(const std::string& run, const std::string& node) const {
    const std::string path = scratch.run_file(run, "nodes/" + node + ".jsonl");
    const std::vector<std::string> lines = lines_of(read_text(path));
    std::ofstream file(path, std::ios::trunc);
    for (const std::string& line : lines) {
      json record = json::parse(line);
      if (record["event"] == "round")
        for (std::size_t i = 0; i < record["links"].size(); ++i)
          record["links"][i]["queued_messages"] = 3 + i;
      file << record.dump() << "\n";
    }
  }
  Scratch scratch;
};

void expect_near(double told, double wanted, const std::string& what) {
  EXPECT_NEAR(told, wanted, 6e-4 * std::abs(wanted)) << what;
}

// Seen to fail: the page's server ended before the state was told; queues that nobody recorded.
TEST_F(WebPage, TellsALiveRunAndItsEnd) {
  scratch.write("config.yaml", kEndlessConfig);
  scratch.topology("ring4");
  Program up(scratch, {"up", "--config", "config.yaml", "--topology", "ring4.yaml", "--run", "live",
                       "--web", address()});
  ASSERT_TRUE(up.says("page: http://" + address() + "/"));
  ASSERT_TRUE(up.says("round "));
  json told = state();
  while (told["round"] < 3) told = state("?wait=1");
  EXPECT_EQ(told["over"], nullptr);
  EXPECT_EQ(told["run"]["nodes"], (json{"a", "b", "c", "d"}));
  EXPECT_EQ(told["links"]["queued"].size(), 4u);
  for (const json& queued : told["links"]["queued"]) EXPECT_TRUE(queued.is_number()) << queued;
  // It waits when the run ends, and is answered then.
  auto last = std::async(std::launch::async, [&] {
    json next = told;
    while (next["over"] == nullptr) {
      next = state("?wait=1&since=" + next["cursor"].get<std::string>());
      if (next.is_discarded()) break;
    }
    return next;
  });
  up.signal(SIGINT);
  EXPECT_EQ(up.wait().code, 0);
  const json ended = last.get();
  ASSERT_TRUE(ended.is_object());
  EXPECT_EQ(ended["over"]["outcome"], "stopped");
  const std::vector<json> a = rounds_of("live", "a");
  for (std::size_t i = 0; i < std::min<std::size_t>(a.size(), told["curve"]["loss"].size()); ++i)
    expect_near(told["curve"]["loss"][i], a[told["curve"]["round"][i]]["loss"], "loss");
  EXPECT_TRUE(Program::all_gone());
}

// The page of one node also has its metrics, and only its own node's links.
TEST_F(WebPage, OfANodeHasItsMetrics) {
  scratch.write("config.yaml", kEndlessConfig);
  scratch.topology("ring4");
  Program node(scratch, {"node", "--config", "config.yaml", "--topology", "ring4.yaml", "--name",
                         "b", "--run-folder", "of-b", "--web", address()});
  ASSERT_TRUE(node.says("page: "));
  EXPECT_THAT(http_get(own_host(), kPort, "/metrics"), HasSubstr("kimesh_info{node=\"b\""));
  json told = state();
  while (told["nodes"]["known"][1] == false) told = state();
  EXPECT_EQ(told["nodes"]["known"], (json{false, true, false, false}));
  EXPECT_EQ(told["run"]["name"], "of-b");
  node.signal(SIGINT);
  EXPECT_EQ(node.wait().code, 0);
}

// Others can be reached beyond loopback alone, and there they are asked.
// Seen to fail: a page on loopback that asks, too.
TEST_F(WebPage, OfANodeBeyondLoopbackAsksTheOthers) {
  scratch.write("config.yaml", kEndlessConfig);
  scratch.topology("ring4");
  scratch.write("token", "a-token-that-is-a-secret");
  ::chmod((scratch.path() + "/token").c_str(), 0600);
  const std::string everywhere = "0.0.0.0:0";
  const auto asks = [&](const std::string& where, const std::vector<std::string>& more) {
    std::vector<std::string> words{
        "node",         "--config", "config.yaml", "--topology", "ring4.yaml",  "--name", "b",
        "--run-folder", "of-b",     "--web",       where,        "--web-token", "token"};
    words.insert(words.end(), more.begin(), more.end());
    Program node(scratch, words);
    EXPECT_TRUE(node.says("the token in token"));
    node.signal(SIGINT);
    const Ended ended = node.wait();
    return ended.out.find("it asks the other nodes' pages at port ") != std::string::npos;
  };
  EXPECT_TRUE(asks(everywhere, {}));
  EXPECT_FALSE(asks(everywhere, {"--web-own"}));
  EXPECT_FALSE(asks("127.0.0.1:0", {}));
  EXPECT_TRUE(asks("127.0.0.1:0", {"--web-all"}));
}

// Two machines as two addresses of loopback, with a folder each.
// Seen to fail: a page that asks nobody.
TEST_F(WebPage, OfANodeAsksThePagesOfTheOthers) {
  const std::string rest = own_host().substr(own_host().find('.', 4));
  const std::vector<std::string> names{"a", "b"}, hosts{"127.32" + rest, "127.33" + rest};
  scratch.write("config.yaml", kEndlessConfig);
  scratch.write("token", "a-token-that-is-a-secret");
  ::chmod((scratch.path() + "/token").c_str(), 0600);
  scratch.write("two.yaml",
                "kind: ring\nlinks: {default: {delay: 5ms}}\nnodes:\n  a: {address: \"tcp://" +
                    hosts[0] + ":7101\"}\n  b: {address: \"tcp://" + hosts[1] + ":7101\"}\n");
  std::vector<std::unique_ptr<Program>> nodes;
  for (std::size_t i = 0; i < names.size(); ++i)
    nodes.push_back(std::make_unique<Program>(
        scratch, std::vector<std::string>{
                     "node", "--config", "config.yaml", "--topology", "two.yaml", "--name",
                     names[i], "--run-folder", "of-" + names[i], "--web",
                     hosts[i] + ":" + std::to_string(kPort), "--web-all", "--web-token", "token"}));
  ASSERT_TRUE(nodes[0]->says("round "));
  json told;
  int asked = 0;  // once a second
  do {
    ASSERT_LT(++asked, 100) << told;
    told = json::parse(body_of(http_get(hosts[0], kPort, "/state.json?wait=1",
                                        "Authorization: Bearer a-token-that-is-a-secret\r\n")),
                       nullptr, false);
    ASSERT_TRUE(told.is_object());
  } while (told["nodes"]["known"] != json({true, true}) || told["nodes"]["rounds"][1] == 0);
  EXPECT_GT(told["links"]["bytes"][1], 0) << "of b->a, which only b records";
  EXPECT_TRUE(told["links"]["queued"][1].is_number());
  nodes[0]->signal(SIGINT);
  for (const auto& node : nodes) {
    const Ended ended = node->wait();
    EXPECT_EQ(ended.code, 0);
    EXPECT_THAT(ended.out, HasSubstr("\nverdict: "));
  }
}

TEST_F(WebPage, BadInputIsToldBeforeTrainingBegins) {
  const auto start = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{
        "simulate", "--config", "config.yaml", "--topology", "topologies/ring4.yaml",
        "--run",    "bad"};
    words.insert(words.end(), more.begin(), more.end());
    const Ended ended = run_program(scratch, words);
    EXPECT_EQ(ended.code, 2) << ended.out << ended.err;
    return ended.err;
  };
  EXPECT_THAT(start({"--web", "nowhere"}), HasSubstr("which is no address"));
  EXPECT_THAT(start({"--web", "0.0.0.0:0"}), HasSubstr("Name a file with --web-token"));
  EXPECT_THAT(start({"--web", address(), "--web-token", "none"}), HasSubstr("cannot be read"));
  const std::string token = "a-token-that-is-a-secret";
  scratch.write("token", token);
  EXPECT_THAT(start({"--web", "0.0.0.0:0", "--web-token", "token"}),
              testing::AllOf(HasSubstr("chmod 600 token"), Not(HasSubstr(token))));
  EXPECT_THAT(start({"--web-token", "token"}), HasSubstr("--web HOST:PORT"));
  ASSERT_EQ(run_program(scratch, {"simulate", "--config", "config.yaml", "--topology",
                                  "topologies/ring4.yaml", "--run", "good"})
                .code,
            0);
  Program first(scratch, {"web", "runs/good", "--listen", address()});
  ASSERT_TRUE(first.says("page: "));
  EXPECT_THAT(start({"--web", address()}), HasSubstr(address() + ": the address is in use"));
  EXPECT_FALSE(std::filesystem::exists(scratch.path() + "/runs/bad"));
  first.signal(SIGINT);
  EXPECT_EQ(first.wait().code, 0);
}

// Seen to fail: a wrong column in the table; a page that never says that the run is over.
TEST_F(WebPage, ShowsInABrowserWhatTheFolderSays) {
  const std::string chromium = chromium_program();
  if (chromium.empty())
    GTEST_SKIP() << "no Chromium: install Debian's package chromium-headless-shell (306 MB)";
  ASSERT_EQ(run_program(scratch, {"simulate", "--config", "config.yaml", "--topology",
                                  "topologies/tree7.yaml", "--run", "run"})
                .code,
            0);
  record_queues("run", "b");
  const std::string token = "a-token-that-is-a-secret";
  scratch.write("token", token + "\n");
  ::chmod((scratch.path() + "/token").c_str(), 0600);
  Program web(scratch, {"web", "runs/run", "--listen", address(), "--token", "token"});
  ASSERT_TRUE(web.says("page: "));
  Browser browser(chromium, scratch.path() + "/profile");
  browser.open("http://" + address() + "/");
  ASSERT_TRUE(browser.becomes("document.getElementById('token')"));
  browser.evaluate("document.getElementById('token').value = '" + token +
                   "'; document.querySelector('button').click()");
  ASSERT_TRUE(browser.becomes("document.getElementById('status').dataset.state === 'done'"));
  const auto text = [&](const std::string& selector) {
    return browser.evaluate("document.querySelector('" + selector + "').textContent")
        .get<std::string>();
  };
  EXPECT_EQ(text("#status"), "over: done (rounds)");
  EXPECT_EQ(text("#round"), std::to_string(rounds_of("run", "a").size()));
  const json summary = scratch.summary("run");
  expect_near(std::stod(text("#loss")), summary["loss"], "loss");
  EXPECT_EQ(browser.evaluate("document.querySelectorAll('#graph circle').length"), 7);
  EXPECT_EQ(browser.evaluate("document.querySelectorAll('#graph [data-link]').length"), 12);
  const std::vector<json> rounds = rounds_of("run", "b");
  ASSERT_EQ(rounds.back()["links"].size(), 3u);
  for (const json& link : rounds.back()["links"]) {
    const std::string name = "b->" + link["to"].get<std::string>();
    const std::string row = "#links [data-link=\"" + name + "\"] td:nth-child(";
    EXPECT_EQ(text(row + "5)"), browser.evaluate("bytes(" + link["bytes"].dump() + ")")) << name;
    EXPECT_EQ(text(row + "7)"), browser.evaluate("percent(" + link["gain"].dump() + ")")) << name;
    // What the mouse finds.
    browser.evaluate("document.querySelector('#graph [data-link=\"" + name +
                     "\"]').dispatchEvent(new MouseEvent('mousemove', {bubbles: true}))");
    const auto shown = [&](const std::string& function, const char* field) {
      return browser.evaluate(function + "(" + link[field].dump() + ")").get<std::string>();
    };
    const std::string bound = link.contains("rate_is_lower_bound") ? "at least " : "";
    const std::string lines[] = {name + "\n",
                                 "\nrate " + bound + shown("rate", "rate_bits_per_s") + " ± " +
                                     shown("percent", "rate_error") + "\n",
                                 "\nemulated rate " + shown("rate", "true_rate_bits_per_s") + "\n",
                                 "\nbudget " + shown("bytes", "budget_bytes") + "\n",
                                 "\nbytes of the round " + shown("bytes", "bytes") + "\n",
                                 "\ngain " + shown("percent", "gain") + "\n",
                                 "\nqueue " + link["queued_messages"].dump() + " messages\n"};
    for (const std::string& line : lines) EXPECT_THAT(text("#tip"), HasSubstr(line));
  }
  std::size_t events = 0;
  for (const std::string node : {"a", "b", "c", "d", "e", "f", "g"})
    for (const std::string& line :
         lines_of(read_text(scratch.run_file("run", "nodes/" + node + ".jsonl")))) {
      const json event = json::parse(line)["event"];
      events += event == "notice" || event == "end" ? 1 : 0;
    }
  EXPECT_EQ(browser.evaluate("document.querySelectorAll('#events tr').length"), events);
  web.signal(SIGINT);
  const Ended ended = web.wait();
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.out + ended.err, Not(HasSubstr(token)));
}

}  // namespace
}  // namespace kimesh::test::web_test
