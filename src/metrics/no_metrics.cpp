// The build without prometheus-cpp (KIMESH_METRICS=OFF), which serves no metrics.
#include "kimesh/metrics/metrics.h"

namespace kimesh {

struct MetricsServer::Series {};

Result<std::unique_ptr<MetricsServer>> MetricsServer::start(const std::string& address,
                                                            const std::string&,
                                                            const std::string&) {
  return Error{ErrorCode::kUserInput,
               "metrics at " + address +
                   ": this kimesh was built without prometheus-cpp (KIMESH_METRICS=OFF)"};
}

MetricsServer::MetricsServer(std::unique_ptr<Series> series, bool is_public)
    : series_(std::move(series)), is_public_(is_public) {}
MetricsServer::~MetricsServer() = default;

void MetricsServer::observe(const RoundRecord&) {}
void MetricsServer::observe(const std::vector<LinkTraffic>&) {}
void MetricsServer::observe_notice() {}

int MetricsServer::port() const {
  return 0;
}
bool MetricsServer::is_public() const {
  return is_public_;
}

}  // namespace kimesh
