// The build without prometheus-cpp (KIMESH_METRICS=OFF), which has no metrics.
#include "kimesh/metrics/metrics.h"

namespace kimesh {

struct Metrics::Series {};

Result<std::unique_ptr<Metrics>> Metrics::make(const std::string&, const std::string&) {
  return Error{ErrorCode::kUserInput,
               "this kimesh was built without prometheus-cpp (KIMESH_METRICS=OFF)"};
}

Metrics::Metrics(std::unique_ptr<Series> series) : series_(std::move(series)) {}
Metrics::~Metrics() = default;

void Metrics::observe(const RoundRecord&) {}
void Metrics::observe(const std::vector<LinkTraffic>&) {}
void Metrics::observe_notice() {}

std::string Metrics::text() const {
  return "";
}

}  // namespace kimesh
