#include "kimesh/util/check.h"
#include "src/compress/families.h"

namespace kimesh {

Result<Advanced> advance_quantised(const AdvanceJob&) {
  check_failed(__FILE__, __LINE__, "quantised", "not written yet");
}
Status validate_quantised(Form, std::span<const std::byte>, std::size_t) {
  return malformed("not written yet");
}
Status apply_quantised(Form, std::span<const std::byte>, std::span<float>) {
  return malformed("not written yet");
}
Result<Advanced> advance_seeded(const AdvanceJob&) {
  check_failed(__FILE__, __LINE__, "seeded", "not written yet");
}
Status validate_seeded(std::span<const std::byte>, std::size_t) {
  return malformed("not written yet");
}
Status apply_seeded(std::span<const std::byte>, std::span<float>) {
  return malformed("not written yet");
}
Status validate_packed(std::span<const std::byte>, std::size_t) {
  return malformed("not written yet");
}
Status apply_packed(std::span<const std::byte>, std::span<float>) {
  return malformed("not written yet");
}

}  // namespace kimesh
