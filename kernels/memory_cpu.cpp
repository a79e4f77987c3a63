#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "kimesh/kernels/host_memory.h"
#include "kimesh/kernels/sparse.h"
#include "kimesh/kernels/vector_math.h"
#include "kimesh/util/aligned_buffer.h"
#include "kimesh/util/check.h"
#include "kimesh/util/digest.h"
#include "optimizer.h"

namespace kimesh::kernels {
namespace {

template <typename Float>
std::span<Float> floats_of(BasicMemorySpan<Float> x) {
  return {x.data, x.size};
}

struct HostAllocation final : MemoryBuffer::Allocation {
  explicit HostAllocation(std::size_t size) : buffer(size) {}
  AlignedBuffer buffer;
};

}  // namespace

Status save_floats(Memory& memory, ConstMemorySpan from, StateWriter& writer) {
  return memory.download(from, writer.room(from.size * sizeof(float)));
}

void restore_floats(Memory& memory, StateReader& reader, MemorySpan to) {
  if (memory.on_host()) return reader.fill(std::as_writable_bytes(memory.view(to)));
  // An upload may be under way when the call returns, so that each piece has to arrive before the
  // next one takes its place.
  constexpr std::size_t kPieceFloats = 1 << 20;
  std::vector<std::byte> piece(std::min(to.size, kPieceFloats) * sizeof(float));
  for (std::size_t begin = 0; begin < to.size && reader.ok(); begin += kPieceFloats) {
    const std::size_t floats = std::min(kPieceFloats, to.size - begin);
    const auto bytes = std::span(piece).first(floats * sizeof(float));
    reader.fill(bytes);
    if (!reader.ok()) return;
    memory.upload(std::span<const std::byte>(bytes), to.subspan(begin, floats));
    reader.require(memory.finish().ok());
  }
}

std::span<float> Memory::view(MemorySpan x) const {
  KIMESH_CHECK(on_host(), "only the host's memory can be seen by its code");
  return {x.data, x.size};
}
std::span<const float> Memory::view(ConstMemorySpan x) const {
  KIMESH_CHECK(on_host(), "only the host's memory can be seen by its code");
  return {x.data, x.size};
}

Memory& host_memory() {
  static HostMemory memory;
  return memory;
}

Result<MemoryBuffer> HostMemory::allocate(std::size_t size) {
  auto allocation = std::make_unique<HostAllocation>(size);
  const MemorySpan floats(allocation->buffer.span());
  return MemoryBuffer(floats, std::move(allocation));
}

void HostMemory::upload(std::span<const std::byte> from, MemorySpan to) {
  KIMESH_CHECK(from.size() == to.size * sizeof(float), "an upload has one size");
  if (from.empty() || static_cast<const void*>(from.data()) == to.data) return;
  std::memcpy(to.data, from.data(), from.size());
}

Status HostMemory::download(ConstMemorySpan from, std::span<std::byte> to) {
  KIMESH_CHECK(to.size() == from.size * sizeof(float), "a download has one size");
  if (!to.empty() && static_cast<const void*>(to.data()) != from.data)
    std::memcpy(to.data(), from.data, to.size());
  return ok_status();
}

void HostMemory::fill(MemorySpan y, float value) {
  std::ranges::fill(floats_of(y), value);
}

void HostMemory::copy(ConstMemorySpan x, MemorySpan y) {
  KIMESH_CHECK(x.size == y.size, "a copy has one size");
  std::ranges::copy(floats_of(x), y.data);
}

void HostMemory::scale(float a, ConstMemorySpan x, MemorySpan y) {
  KIMESH_CHECK(x.size == y.size, "one size");
  kernels::scale(a, floats_of(x), floats_of(y));
}

void HostMemory::add_scaled(float a, ConstMemorySpan x, MemorySpan y) {
  KIMESH_CHECK(x.size == y.size, "one size");
  kernels::add_scaled(a, floats_of(x), floats_of(y));
}

void HostMemory::add(ConstMemorySpan x, MemorySpan y) {
  KIMESH_CHECK(x.size == y.size, "one size");
  kernels::add(floats_of(x), floats_of(y));
}

void HostMemory::subtract(ConstMemorySpan x, MemorySpan y) {
  KIMESH_CHECK(x.size == y.size, "one size");
  kernels::subtract(floats_of(x), floats_of(y));
}

Result<double> HostMemory::energy(ConstMemorySpan x) {
  return kernels::energy(floats_of(x));
}

Result<std::optional<std::size_t>> HostMemory::first_not_finite(ConstMemorySpan x) {
  return kernels::first_not_finite(floats_of(x));
}

Result<std::uint64_t> HostMemory::digest(ConstMemorySpan x) {
  return digest_floats(floats_of(x));
}

void HostMemory::clip(double norm_max, MemorySpan x) {
  kernels::clip(norm_max, floats_of(x));
}

void HostMemory::momentum(float m, ConstMemorySpan gradient, MemorySpan velocity) {
  KIMESH_CHECK(gradient.size == velocity.size, "one size");
  kernels::momentum(m, floats_of(gradient), floats_of(velocity));
}

void HostMemory::nesterov(float m, MemorySpan gradient, MemorySpan velocity) {
  KIMESH_CHECK(gradient.size == velocity.size, "one size");
  kernels::nesterov(m, floats_of(gradient), floats_of(velocity));
}

void HostMemory::sgd(float rate, ConstMemorySpan direction, MemorySpan x) {
  KIMESH_CHECK(direction.size == x.size, "one size");
  kernels::sgd(rate, floats_of(direction), floats_of(x));
}

void HostMemory::adamw(const AdamwFactors& factors, ConstMemorySpan direction, MemorySpan first,
                       MemorySpan second, MemorySpan x) {
  KIMESH_CHECK(direction.size == x.size && first.size == x.size && second.size == x.size,
               "one size");
  kernels::adamw(factors, floats_of(direction), floats_of(first), floats_of(second), floats_of(x));
}

Result<Added> HostMemory::add_entries(ConstMemorySpan target,
                                      std::span<const std::uint32_t> indices,
                                      std::span<const float> values, bool whole,
                                      MemorySpan estimate) {
  return whole ? add_whole_entries(indices, values, floats_of(estimate))
               : kernels::add_entries(floats_of(target), indices, values, floats_of(estimate));
}

Result<PassResult> HostMemory::quantise(BlockFormat blocks, Rounding rounding,
                                        ConstMemorySpan target, MemorySpan estimate,
                                        std::span<std::byte> bytes) {
  PassResult result;
  result.energies =
      kernels::quantise(blocks, rounding, floats_of(target), floats_of(estimate), bytes);
  if (result.energies.finite())
    result.added.left =
        kernels::add_quantised(blocks, bytes, floats_of(target), floats_of(estimate));
  return result;
}

void HostMemory::add_sparse(std::span<const std::byte> indices, std::span<const std::byte> values,
                            MemorySpan estimate) {
  kernels::add_sparse(indices, values, floats_of(estimate));
}

void HostMemory::add_quantised(BlockFormat blocks, std::span<const std::byte> bytes,
                               MemorySpan estimate) {
  kernels::add_quantised(blocks, bytes, floats_of(estimate));
}

}  // namespace kimesh::kernels
