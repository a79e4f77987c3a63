// Fuzzes the decoder of messages, as chunks join to them: what is accepted is written as it was
// understood. The mutator mends the payload's length, which little gets past otherwise.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "kimesh/wire/frame.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto message = kimesh::decode_message(bytes);
  if (!message) return 0;
  const auto written = kimesh::encode_message(*message);
  if (!std::ranges::equal(written, bytes)) std::abort();
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  constexpr std::size_t kControls = 22, kLength = 24;  // u16 and u32, in the head
  size = LLVMFuzzerMutate(data, size, most);
  if (seed % 4 == 0 || size < kimesh::kMessageHeadBytes) return size;
  const std::size_t controls = data[kControls] % (kimesh::kControlsMax + 1);
  const std::size_t head = kimesh::kMessageHeadBytes + controls * sizeof(double);
  if (size < head) return size;
  data[kControls] = static_cast<std::uint8_t>(controls);
  data[kControls + 1] = 0;
  const auto length = static_cast<std::uint32_t>(size - head);
  std::memcpy(data + kLength, &length, sizeof(length));
  return size;
}
