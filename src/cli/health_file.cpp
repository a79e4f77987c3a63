#include "health_file.h"

#include <fmt/format.h>

#include <chrono>
#include <string_view>

#include "kimesh/records/text_file.h"
#include "say.h"

namespace kimesh::cli {
namespace {

// Data sets of many GB and models to start from are read in this time.
constexpr std::chrono::minutes kReading{30};

}  // namespace

void HealthFile::write_start() {
  write(std::chrono::steady_clock::now() + kReading, "reading files and data");
}

void HealthFile::write(TimePoint until, const std::string& what) {
  const auto left = until - std::chrono::steady_clock::now();
  const auto at = std::chrono::ceil<std::chrono::seconds>(std::chrono::system_clock::now() + left);
  const std::string line = fmt::format("{} {}\n", at.time_since_epoch().count(), what);
  const Status written = write_whole(path_, std::string_view(line));
  if (written || has_complained_) return;
  has_complained_ = true;
  complain(written.error().message);
}

}  // namespace kimesh::cli
