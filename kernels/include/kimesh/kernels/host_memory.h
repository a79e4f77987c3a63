// The host's memory. kernels/memory_cpu.cpp has what is elementwise, kernels/passes_cpu.cpp the
// passes over a difference.
#pragma once

#include <string>

#include "kimesh/kernels/memory.h"

namespace kimesh::kernels {

class HostMemory final : public Memory {
 public:
  std::string name() const override { return "the host"; }
  bool on_host() const override { return true; }
  Result<MemoryBuffer> allocate(std::size_t size) override;
  void upload(std::span<const std::byte> from, MemorySpan to) override;
  Status download(ConstMemorySpan from, std::span<std::byte> to) override;
  Status finish() override { return ok_status(); }

  void fill(MemorySpan y, float value) override;
  void copy(ConstMemorySpan x, MemorySpan y) override;
  void scale(float a, ConstMemorySpan x, MemorySpan y) override;
  void add_scaled(float a, ConstMemorySpan x, MemorySpan y) override;
  void add(ConstMemorySpan x, MemorySpan y) override;
  void subtract(ConstMemorySpan x, MemorySpan y) override;
  Result<double> energy(ConstMemorySpan x) override;
  Result<std::optional<std::size_t>> first_not_finite(ConstMemorySpan x) override;
  Result<std::uint64_t> digest(ConstMemorySpan x) override;

  void clip(double norm_max, MemorySpan x) override;
  void momentum(float m, ConstMemorySpan gradient, MemorySpan velocity) override;
  void nesterov(float m, MemorySpan gradient, MemorySpan velocity) override;
  void sgd(float rate, ConstMemorySpan direction, MemorySpan x) override;
  void adamw(const AdamwFactors& factors, ConstMemorySpan direction, MemorySpan first,
             MemorySpan second, MemorySpan x) override;

  Result<Energies> energies(ConstMemorySpan target, ConstMemorySpan estimate) override;
  Result<bool> observe_magnitudes(const DifferencePass& pass) override;
  Result<PassResult> select_reaching(const DifferencePass& pass, float lower,
                                     Entries& entries) override;
  Result<PassResult> select_largest(const DifferencePass& pass, std::uint32_t in_all,
                                    Entries& entries) override;
  Result<Added> add_entries(ConstMemorySpan target, std::span<const std::uint32_t> indices,
                            std::span<const float> values, bool whole,
                            MemorySpan estimate) override;
  Result<PassResult> quantise(BlockFormat blocks, Rounding rounding, ConstMemorySpan target,
                              MemorySpan estimate, std::span<std::byte> bytes) override;
  void add_sparse(std::span<const std::byte> indices, std::span<const std::byte> values,
                  MemorySpan estimate) override;
  void add_quantised(BlockFormat blocks, std::span<const std::byte> bytes,
                     MemorySpan estimate) override;
};

}  // namespace kimesh::kernels
