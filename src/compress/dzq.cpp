#include "kimesh/util/check.h"
#include "src/compress/families.h"

namespace kimesh {

Result<Advanced> advance_dzq(const AdvanceJob&) {
  check_failed(__FILE__, __LINE__, "dzq", "not written yet");
}
Status validate_dzq(Form, std::span<const std::byte>, std::size_t) {
  return malformed("not written yet");
}
Status apply_dzq(Form, std::span<const std::byte>, std::span<float>) {
  return malformed("not written yet");
}

}  // namespace kimesh
