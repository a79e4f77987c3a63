#include "kimesh/codec/payload.h"

#include <cmath>
#include <string>
#include <utility>

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

Status check_floats(std::span<const std::byte> values) {
  for (std::size_t c = 0; c < values.size() / sizeof(float); ++c)
    if (!std::isfinite(read<float>(values, c)))
      return malformed("value " + std::to_string(c) + " is NaN or infinite");
  return ok_status();
}

void add_content(const Content& content, kernels::Memory& memory, kernels::MemorySpan estimate) {
  std::visit(AddTo{memory, estimate}, content);
}

}  // namespace kimesh
