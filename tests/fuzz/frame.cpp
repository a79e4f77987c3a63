// Fuzzes the decoder of frames: what is accepted is written as it was understood, and understood
// as it was written. There is no checksum to repair; what stands before the deep branches is the
// head, so that the mutator mends it.
#include "kimesh/wire/frame.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto frame = kimesh::decode_frame(std::as_bytes(std::span(data, size)));
  if (!frame) return 0;
  const auto bytes = kimesh::encode_frame(*frame);
  const auto again = kimesh::decode_frame(bytes);
  if (!again || kimesh::encode_frame(*again) != bytes) std::abort();
  return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  constexpr std::uint8_t kHead[] = {0x4b, 0x4d, kimesh::kWireVersion, 0, 0, 0, 0, 0};
  size = LLVMFuzzerMutate(data, size, most);
  if (seed % 8 == 0 || size < sizeof(kHead)) return size;
  const std::uint8_t type = data[3];
  std::memcpy(data, kHead, sizeof(kHead));
  data[3] = seed % 4 == 0 ? static_cast<std::uint8_t>(1 + seed / 8 % 9) : type;
  return size;
}
