#include "kimesh/codec/payload.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "kimesh/kernels/vector_math.h"

namespace kimesh {
namespace {

struct AddTo {
  kernels::Memory& memory;
  kernels::MemorySpan estimate;

  void operator()(const AssignFloats& all) const { memory.upload(all.floats, estimate); }
  void operator()(const AddBlocks& all) const {
    memory.add_quantised(all.blocks, all.bytes, estimate);
  }
  void operator()(const AddSparse& some) const {
    memory.add_sparse(some.indices, some.values, estimate);
  }
  void operator()(const AddEntries& some) const {
    memory.add_sparse(std::as_bytes(std::span(some.entries.indices)),
                      std::as_bytes(std::span(some.entries.values)), estimate);
  }
};

}  // namespace

Error malformed(std::string what) {
  return {ErrorCode::kMalformed, "a payload that no correct peer sends: " + std::move(what)};
}

std::optional<std::span<const float>> floats_in_place(std::span<const std::byte> bytes) {
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(float) != 0) return std::nullopt;
  return std::span(reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float));
}

Status check_floats(std::span<const std::byte> values) {
  const auto refused = [](std::size_t at) {
    return malformed("value " + std::to_string(at) + " is NaN or infinite");
  };
  if (const auto floats = floats_in_place(values)) {
    const auto bad = kernels::first_not_finite(*floats);
    return bad ? Status(refused(*bad)) : ok_status();
  }
  constexpr std::size_t kBlock = 2048;
  std::array<float, kBlock> block;
  const std::size_t count = values.size() / sizeof(float);
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const auto some = std::span(block).first(std::min(kBlock, count - begin));
    std::memcpy(some.data(), values.data() + begin * sizeof(float), some.size_bytes());
    if (const auto bad = kernels::first_not_finite(some)) return refused(begin + *bad);
  }
  return ok_status();
}

void add_content(const Content& content, kernels::Memory& memory, kernels::MemorySpan estimate) {
  std::visit(AddTo{memory, estimate}, content);
}

}  // namespace kimesh
