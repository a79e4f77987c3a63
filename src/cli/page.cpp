#include "page.h"

#include <fmt/format.h>

#include <random>

#include "kimesh/mesh/mesh.h"
#include "kimesh/web/page.h"
#include "say.h"

namespace kimesh::cli {
namespace {

Error no_metrics(const std::string& why) {
  return {ErrorCode::kUserInput, "metrics cannot be served " + why};
}

HttpRoute route_of(const Metrics& metrics) {
  const auto answer = [&metrics](const HttpRequest&) {
    return HttpAnswer{200, "text/plain; version=0.0.4; charset=utf-8", metrics.text()};
  };
  return {answer, false, nullptr};
}

Result<PageServer> listen_for_metrics(const std::string& text) {
  const auto address = parse_listen_address(text);
  if (!address)
    return no_metrics("at '" + text +
                      "', which is no address. Write HOST:PORT with an IP address or localhost, "
                      "such as 127.0.0.1:9101.");
  auto server = HttpServer::listen({*address});
  if (!server)
    return no_metrics("at " + server.error().message + ". Choose another port or address.");
  if (!address->is_loopback())
    say(fmt::format("metrics at {} can be read by everybody who reaches that address", text));
  return server;
}

// Whether both are one address, which then is the page's.
bool is_one_address(const NodeOptions& options) {
  const auto metrics = parse_listen_address(options.metrics);
  const auto page = parse_listen_address(options.run.page.address);
  return metrics && page && metrics->text() == page->text();
}

}  // namespace

Thrown& thrown_by_servers() {
  static Thrown thrown;
  return thrown;
}

Result<PageServer> listen_for_page(const PageOptions& options) {
  if (options.address.empty() && options.token_file.empty()) return PageServer();
  if (options.address.empty())
    return Error{ErrorCode::kUserInput, "--web-token is for a page: write --web HOST:PORT as well"};
  return kimesh::listen_for_page(options.address, options.token_file);
}

Status show_page(HttpServer* server, const PageOptions& options, const RunFolder& folder) {
  if (server == nullptr) return ok_status();
  auto run = load_run(folder.path());
  if (!run) return run.error();
  show_page(*server, options, std::move(*run));
  return ok_status();
}

std::vector<HttpQuestion> other_pages(const HttpServer& server, const TopologyFile& topology,
                                      NodeIndex self) {
  std::vector<HttpQuestion> others;
  for (NodeIndex node = 0; node < topology.nodes.size(); ++node) {
    if (node == self) continue;
    const NodeSpec& spec = topology.nodes[node];
    const std::string& address = spec.dial.empty() ? spec.address : spec.dial;
    const std::size_t begin = std::string_view("tcp://").size();
    std::string host = address.substr(begin, address.rfind(':') - begin);
    if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
    others.push_back({host, server.port(), "/digest.json", server.token(), kDigestBytesMax});
  }
  return others;
}

void show_page(HttpServer& server, const PageOptions& options, RunHistory run,
               std::vector<HttpQuestion> others) {
  std::random_device device;  // a browser may have asked another run's page at this address
  const std::uint64_t life = (std::uint64_t{device()} << 32) | device();
  const bool asks_others = !others.empty();
  add_page(server, std::make_unique<RunWatch>(std::move(run), life), std::move(others));
  server.serve(thrown_by_servers());
  std::string more;
  if (!options.token_file.empty()) more += "; it asks for the token in " + options.token_file;
  if (asks_others)
    more += fmt::format("; it asks the other nodes' pages at port {}", server.port());
  say(fmt::format("page: http://{}/{}", server.address().text(), more));
}

Result<NodeServers> listen_for_node(const NodeOptions& options) {
  NodeServers servers;
  auto page = listen_for_page(options.run.page);
  if (!page) return page.error();
  servers.page = std::move(*page);
  if (options.metrics.empty() && !servers.page) return servers;
  auto metrics = Metrics::make(options.name, std::string(version()));
  if (!metrics && !options.metrics.empty())
    return no_metrics("at " + options.metrics + ": " + metrics.error().message);
  if (!metrics) return servers;
  servers.metrics = std::move(*metrics);
  if (servers.page) servers.page->add("/metrics", route_of(*servers.metrics));
  if (options.metrics.empty() || is_one_address(options)) return servers;
  auto scrape = listen_for_metrics(options.metrics);
  if (!scrape) return scrape.error();
  servers.scrape = std::move(*scrape);
  servers.scrape->add("/metrics", route_of(*servers.metrics));
  servers.scrape->serve(thrown_by_servers());
  return servers;
}

}  // namespace kimesh::cli
