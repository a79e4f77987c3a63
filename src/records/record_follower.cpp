#include "kimesh/records/record_follower.h"

#include <fmt/format.h>

#include <utility>

namespace kimesh {

Result<std::optional<NodeRecord>> RecordFollower::next() {
  for (;;) {
    const auto line = lines_.next();
    if (!line && line.error().code != ErrorCode::kMalformed) return line.error();
    if (!line) {
      bytes_ += kLineBytesMax;
      leave_out(line.error().message);
      continue;
    }
    if (!*line) return std::optional<NodeRecord>();
    bytes_ += (*line)->size();
    auto record = parse_record(**line);
    if (record) return std::optional(std::move(*record));
    leave_out(fmt::format("{}:{}: {}", lines_.path(), lines_.line(), record.error().message));
  }
}

void RecordFollower::leave_out(std::string damage) {
  ++damaged_[lines_.path()];
  if (first_damage_.empty()) first_damage_ = std::move(damage);
}

std::optional<std::string> RecordFollower::complaint() {
  if (first_damage_.empty() || std::exchange(has_complained_, true)) return std::nullopt;
  return first_damage_ + "; lines that are damaged are left out";
}

}  // namespace kimesh
