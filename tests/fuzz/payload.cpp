// Fuzzes the decoder of one form of message, KIMESH_FUZZ_FORM. An input is the size of the vector
// in two bytes, then the payload. What is refused leaves no trace, what is accepted adds finite
// numbers; validate and apply agree.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "kimesh/compress/compressor.h"
#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace kimesh;
  constexpr auto kForm = static_cast<Form>(KIMESH_FUZZ_FORM);
  if (size < fuzz::kSizeBytes) return 0;
  std::uint16_t elements;
  std::memcpy(&elements, data, sizeof(elements));
  const auto payload = std::as_bytes(std::span(data, size)).subspan(fuzz::kSizeBytes);
  std::vector<float> estimate(elements % (fuzz::kElementsMax + 1), 1.0f);
  const bool valid = validate(kForm, payload, estimate.size()).ok();
  const bool applied = apply(kForm, payload, estimate).ok();
  if (valid != applied) std::abort();
  for (const float value : estimate)
    if (applied ? !std::isfinite(value) : value != 1) std::abort();
  return 0;
}
