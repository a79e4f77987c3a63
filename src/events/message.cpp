#include "kimesh/events/message.h"

#include <bit>
#include <cmath>
#include <limits>

namespace kimesh {

namespace {

bool fits_float(double value) {
  if (!std::isfinite(value)) return true;
  return std::abs(value) <= std::numeric_limits<float>::max() &&
         static_cast<double>(static_cast<float>(value)) == value;
}

std::size_t record_bytes(std::uint32_t values, std::size_t bytes_of_value) {
  if (values == 0) return 0;
  return kRecordHeadBytes + leb128_bytes(values) +
         static_cast<std::size_t>(std::popcount(values)) * bytes_of_value;
}

}  // namespace

ControlRecords records_of(const Control& control) {
  ControlRecords records;
  for (std::size_t i = 0; i < control.size(); ++i)
    if (control[i] != 0)
      (fits_float(control[i]) ? records.floats : records.doubles) |= std::uint32_t{1} << i;
  return records;
}

std::size_t control_bytes(const Control& control) {
  const auto [floats, doubles] = records_of(control);
  return record_bytes(floats, sizeof(float)) + record_bytes(doubles, sizeof(double));
}

std::size_t optional_bytes(Generation generation, bool has_digest, const Control& control) {
  const std::size_t records = control_bytes(control);
  return (generation != 0 ? kGenerationBytes : 0) + (has_digest ? kMessageDigestBytes : 0) +
         (records > 0 ? kRecordsLengthBytes + records : 0);
}

}  // namespace kimesh
