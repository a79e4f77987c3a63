// The live page beside a run, and metrics.
#pragma once

#include <memory>
#include <vector>

#include "commands.h"
#include "kimesh/http/ask.h"
#include "kimesh/http/server.h"
#include "kimesh/metrics/metrics.h"
#include "kimesh/records/run_folder.h"
#include "kimesh/report/history.h"
#include "kimesh/util/thrown.h"

namespace kimesh::cli {

// What the threads of this process's servers have thrown.
[[nodiscard]] Thrown& thrown_by_servers();

// Null: no page is served. Destruction sends the last state to waiting pages, and stops serving.
using PageServer = std::unique_ptr<HttpServer>;

// Listens, so that a bad address or token is told before anything starts. Errors: UserInput.
[[nodiscard]] Result<PageServer> listen_for_page(const PageOptions& options);
// Serves the run's page and says where. Nothing where `server` is null. Errors: UserInput.
[[nodiscard]] Status show_page(HttpServer* server, const PageOptions& options,
                               const RunFolder& folder);
// The same for a run whose folder is not there yet, or holds no copies of its files.
void show_page(HttpServer& server, const PageOptions& options, RunHistory run,
               std::vector<HttpQuestion> others = {});
// The pages of all nodes but one, where each has one on its machine at the port of this server.
[[nodiscard]] std::vector<HttpQuestion> other_pages(const HttpServer& server,
                                                    const TopologyFile& topology, NodeIndex self);

// What a node serves. The servers are destroyed before the metrics that they read.
struct NodeServers {
  std::unique_ptr<Metrics> metrics;  // null: nobody reads any
  PageServer scrape, page;           // where both have one address, the page's has all
};
// Listens. Metrics are at /metrics of their own address and of the page's. Errors: UserInput.
[[nodiscard]] Result<NodeServers> listen_for_node(const NodeOptions& options);

}  // namespace kimesh::cli
