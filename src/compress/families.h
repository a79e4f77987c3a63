// How the compressors are made: a family for each way of writing a message. Each family has its
// file; compressor.h says what advance, validate and apply promise.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "src/compress/difference.h"

namespace kimesh {

struct AdvanceJob {
  Difference& difference;
  std::span<const Piece> pieces;
  const Setting& setting;
  CompressScratch& scratch;
  bool with_curve;
  // What a pass selects is sent, all of it and as it is: it may be added on the way.
  bool sends_selection = false;

  [[nodiscard]] std::size_t size() const { return difference.size(); }
};

// As advance of compressor.h, wherever the floats lie.
[[nodiscard]] Result<Advanced> advance(Difference& difference, std::span<const Piece> pieces,
                                       const Setting& setting, CompressScratch& scratch,
                                       bool with_curve);

// "a payload that no correct peer sends: …"
[[nodiscard]] Error malformed(std::string what);
[[nodiscard]] Error unknown_form(Form form);

// Adds scratch.entries to the estimate and fills in the energies and what was kept. Requires the
// energies of the whole vector before.
[[nodiscard]] Status add_to_estimate(const AdvanceJob& job, const kernels::Energies& energies,
                                     Advanced& result);

// identity in float32: all of it, assigned.
[[nodiscard]] Result<Advanced> advance_dense(const AdvanceJob& job);
// topk, threshold, dgc, redsync: a selection, then its indices and values.
[[nodiscard]] Result<Advanced> advance_sparse(const AdvanceJob& job);
// randk: a mask that both ends draw, and its values.
[[nodiscard]] Result<Advanced> advance_seeded(const AdvanceJob& job);
// identity in bfloat16, sign, int8, int4: something of every element.
[[nodiscard]] Result<Advanced> advance_quantised(const AdvanceJob& job);
[[nodiscard]] Result<Advanced> advance_dzq(const AdvanceJob& job);

[[nodiscard]] Status validate_sparse(std::span<const std::byte> bytes, std::size_t size);
[[nodiscard]] Status validate_packed(std::span<const std::byte> bytes, std::size_t size);
[[nodiscard]] Status validate_seeded(std::span<const std::byte> bytes, std::size_t size);
[[nodiscard]] Status validate_quantised(Form form, std::span<const std::byte> bytes,
                                        std::size_t size);
[[nodiscard]] Status validate_dzq(Form form, std::span<const std::byte> bytes, std::size_t size);

// Each adds what bytes decode to. Errors: Malformed, before the estimate is touched.
[[nodiscard]] Status apply_sparse(std::span<const std::byte> bytes, kernels::Memory& memory,
                                  kernels::MemorySpan estimate);
[[nodiscard]] Status apply_packed(std::span<const std::byte> bytes, kernels::Memory& memory,
                                  kernels::MemorySpan estimate);
[[nodiscard]] Status apply_seeded(std::span<const std::byte> bytes, kernels::Memory& memory,
                                  kernels::MemorySpan estimate);
[[nodiscard]] Status apply_quantised(Form form, std::span<const std::byte> bytes,
                                     kernels::Memory& memory, kernels::MemorySpan estimate);
[[nodiscard]] Status apply_dzq(Form form, std::span<const std::byte> bytes, kernels::Memory& memory,
                               kernels::MemorySpan estimate);
// What most of them come to.
[[nodiscard]] Status add_decoded(const Result<kernels::Entries>& entries, kernels::Memory& memory,
                                 kernels::MemorySpan estimate);

}  // namespace kimesh
