#include "kimesh/metrics/metrics.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <limits>

#include "src/metrics/listen_address.h"

namespace kimesh {
namespace {

using testing::HasSubstr;
using testing::Not;

// What /metrics answers, whole.
std::string scrape(int port) {
  const int connection = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in there{};
  there.sin_family = AF_INET;
  there.sin_port = htons(static_cast<std::uint16_t>(port));
  ::inet_pton(AF_INET, "127.0.0.1", &there.sin_addr);
  EXPECT_EQ(::connect(connection, reinterpret_cast<sockaddr*>(&there), sizeof there), 0);
  const std::string request = "GET /metrics HTTP/1.0\r\n\r\n";
  EXPECT_EQ(::write(connection, request.data(), request.size()), ssize_t(request.size()));
  std::string answer;
  char bytes[4096];
  for (ssize_t size = 0; (size = ::read(connection, bytes, sizeof bytes)) > 0;)
    answer.append(bytes, static_cast<std::size_t>(size));
  ::close(connection);
  return answer;
}

RoundRecord a_round(double loss) {
  RoundRecord round;
  round.loss = loss;
  round.own_loss = 0.75;
  round.compute_s = 0.25;
  round.round_s = 0.5;
  round.links.push_back(
      {"b", 5e5, 0.125, {}, false, 0.001, 1000, 990, 120, 480, 0.5, 0.25, {}, {}});
  round.links.push_back({"c", {}, {}, {}, false, 0, 0, 0, 0, 0, 0, 0, {}, {}});
  return round;
}

std::unique_ptr<MetricsServer> a_server() {
  auto server = MetricsServer::start("127.0.0.1:0", "a", "1.2.3");
  EXPECT_TRUE(server.ok());
  return std::move(*server);
}

// Seen to fail: bytes of the latest round in place of their sum.
TEST(Metrics, GaugesHoldTheLatestRoundAndCountersAddUp) {
  const auto server = a_server();
  server->observe(a_round(1.5));
  server->observe(a_round(0.5));
  const std::string text = scrape(server->port());
  EXPECT_THAT(text, HasSubstr("200 OK"));
  for (const char* line :
       {"kimesh_info{node=\"a\",version=\"1.2.3\"} 1", "kimesh_rounds_total{node=\"a\"} 2",
        "kimesh_loss{node=\"a\"} 0.5", "kimesh_own_loss{node=\"a\"} 0.75",
        "kimesh_round_seconds{node=\"a\"} 0.5",
        "kimesh_seconds_total{node=\"a\",part=\"compute\"} 0.5",
        "kimesh_link_rate_bits_per_second{node=\"a\",to=\"b\"} 500000",
        "kimesh_link_rate_error{node=\"a\",to=\"b\"} 0.125",
        "kimesh_link_budget_bytes{node=\"a\",to=\"b\"} 1000",
        "kimesh_link_round_bytes{node=\"a\",to=\"b\"} 990",
        "kimesh_link_bytes_total{node=\"a\",to=\"b\"} 1980",
        "kimesh_link_kept_ratio{node=\"a\",to=\"b\"} 0.25",
        "kimesh_link_gain{node=\"a\",to=\"b\"} 0.5",
        "kimesh_link_wire_seconds_total{node=\"a\",to=\"b\"} 0.5"})
    EXPECT_THAT(text, HasSubstr(std::string(line) + "\n"));
}

TEST(Metrics, WhatIsUnknownIsAbsentAndNotZero) {
  const auto server = a_server();
  server->observe(a_round(1));
  const std::string text = scrape(server->port());
  EXPECT_THAT(text, Not(HasSubstr("kimesh_accuracy{")));
  EXPECT_THAT(text, Not(HasSubstr("kimesh_link_rate_bits_per_second{node=\"a\",to=\"c\"}")));
  EXPECT_THAT(text, Not(HasSubstr("kimesh_link_kept_ratio{node=\"a\",to=\"c\"}")));
  RoundRecord evaluated = a_round(1);
  evaluated.accuracy = 0.75;
  evaluated.accuracy_round = 9;
  evaluated.test_loss = 0.5;
  server->observe(evaluated);
  EXPECT_THAT(scrape(server->port()), HasSubstr("kimesh_accuracy{node=\"a\"} 0.75\n"));
  EXPECT_THAT(scrape(server->port()), HasSubstr("kimesh_test_loss{node=\"a\"} 0.5\n"));
  EXPECT_THAT(scrape(server->port()), Not(HasSubstr("kimesh_perplexity{")));
  evaluated.perplexity = 1.625;
  server->observe(evaluated);
  EXPECT_THAT(scrape(server->port()), HasSubstr("kimesh_perplexity{node=\"a\"} 1.625\n"));
}

// A run that diverges ends by itself; until then its loss must not break the page.
TEST(Metrics, ALossThatIsNoNumberIsServedAsPrometheusWritesIt) {
  const auto server = a_server();
  server->observe(a_round(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_THAT(scrape(server->port()), HasSubstr("kimesh_loss{node=\"a\"} Nan\n"));
}

TEST(Metrics, WhatASocketCountsIsFollowedUp) {
  const auto server = a_server();
  server->observe({LinkTraffic{"b", 100, 0, 3}});
  server->observe({LinkTraffic{"b", 250, 2, 1}});
  server->observe_notice();
  const std::string text = scrape(server->port());
  EXPECT_THAT(text, HasSubstr("kimesh_link_socket_bytes_total{node=\"a\",to=\"b\"} 250\n"));
  EXPECT_THAT(text, HasSubstr("kimesh_link_reconnects_total{node=\"a\",to=\"b\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("kimesh_link_queued_messages{node=\"a\",to=\"b\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("kimesh_notices_total{node=\"a\"} 1\n"));
}

TEST(Metrics, AnAddressInUseIsRefusedByName) {
  const auto first = a_server();
  const std::string taken = "127.0.0.1:" + std::to_string(first->port());
  const auto second = MetricsServer::start(taken, "b", "1.2.3");
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kUserInput);
  EXPECT_THAT(second.error().message,
              HasSubstr("metrics cannot be served at " + taken + ": the address is in use"));
}

// CivetWeb would take more: several ports, and letters behind them that ask for TLS.
TEST(Metrics, WhatIsNoAddressIsRefused) {
  for (const char* text : {"", "9101", ":9101", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536",
                           "127.0.0.1:9101s", "127.0.0.1:9101,9102", "tcp://127.0.0.1:9101",
                           "127.0.0.1:-1", "somewhere:9101", "[::1:9101", "::1:9101"}) {
    EXPECT_FALSE(parse_listen_address(text)) << text;
    const auto server = MetricsServer::start(text, "a", "1.2.3");
    ASSERT_FALSE(server.ok()) << text;
    EXPECT_THAT(server.error().message, HasSubstr("Write HOST:PORT")) << text;
  }
}

TEST(Metrics, OnlyLoopbackIsPrivate) {
  for (const char* text : {"127.0.0.1:1", "127.9.9.9:0", "localhost:65535", "[::1]:9101"})
    EXPECT_TRUE(parse_listen_address(text).value().is_loopback()) << text;
  for (const char* text : {"0.0.0.0:1", "10.0.0.1:9101", "[::]:9101"})
    EXPECT_FALSE(parse_listen_address(text).value().is_loopback()) << text;
}

}  // namespace
}  // namespace kimesh
