// The passes of HostMemory over a difference. Most read target and estimate once: selection and the
// observer's histogram share that read.
#include <algorithm>
#include <limits>

#include "kimesh/kernels/host_memory.h"
#include "kimesh/util/check.h"

namespace kimesh::kernels {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// A part of the difference.
struct PartPass {
  const DifferencePass& pass;
  std::size_t part;

  [[nodiscard]] const Quota& quota() const { return pass.parts[part]; }
  [[nodiscard]] std::span<const float> target() const {
    return {pass.target.data + quota().offset, quota().size};
  }
  [[nodiscard]] std::span<const float> estimate() const {
    return {pass.estimate.data + quota().offset, quota().size};
  }
  // Reports the part to the observer. Below `lower`, a large part is counted by a sample; the
  // elements that reach `lower` are the entries from `first` on.
  void tell(float lower, const Energies& energies, const Entries& entries, std::size_t first) const;
};

void PartPass::tell(float lower, const Energies& energies, const Entries& entries,
                    std::size_t first) const {
  MagnitudeHistogram& histogram = pass.scratch.histogram;
  PartMagnitudes magnitudes;
  magnitudes.part = part;
  magnitudes.bins = histogram.bins();
  magnitudes.first_bin = histogram.first_bin();
  magnitudes.end_bin = histogram.end_bin();
  magnitudes.energy = energies.difference;
  magnitudes.sampled = histogram.sampled();
  magnitudes.lower = lower;
  magnitudes.known = std::span<const float>(entries.values).subspan(first);
  pass.observer->observe(magnitudes);
}

// The histogram of a part with many elements is too inexact unless its largest elements are known.
std::size_t wanted_of(const DifferencePass& pass, std::size_t size, std::size_t keep) {
  constexpr std::size_t kShare = 256;
  return pass.observer != nullptr ? std::max(keep, size / kShare) : keep;
}

// Appends the elements that reach `lower`, with positions in the whole vector, and counts for the
// observer.
Energies collect_part(const PartPass& part, float lower, Entries& entries) {
  const auto base = static_cast<std::uint32_t>(part.quota().offset);
  if (part.pass.observer == nullptr)
    return collect(part.target(), part.estimate(), lower, base, entries);
  // In a large message the error of one part weighs less.
  constexpr std::size_t kLargeMessage = std::size_t{1} << 22;
  const std::size_t weight = part.pass.target.size < kLargeMessage ? 1 : 8;
  MagnitudeHistogram& histogram = part.pass.scratch.histogram;
  histogram.reset(weight * part.quota().size, MagnitudeHistogram::Counts::kSample);
  return collect(part.target(), part.estimate(), lower, base, entries, &histogram);
}

// Appends at least the `keep` largest elements of a part, and all elements that reach `always`.
Energies collect_most(const PartPass& part, std::size_t keep, float always, Entries& entries) {
  const std::size_t before = entries.size();
  for (Bracket bracket(part.target(), part.estimate(), keep, part.pass.scratch);; bracket.widen()) {
    const float lower = std::min(bracket.lower(), always);
    const Energies energies = collect_part(part, lower, entries);
    if (!energies.finite()) return energies;
    if (entries.size() - before >= keep || bracket.takes_all()) {
      if (part.pass.observer != nullptr) part.tell(lower, energies, entries, before);
      return energies;
    }
    entries.resize(before);
  }
}

// Fills `entries` with the Quota::keep largest elements of each part.
Energies collect_quotas(const DifferencePass& pass, Entries& entries) {
  Energies energies;
  for (std::size_t l = 0; l < pass.parts.size(); ++l) {
    const std::size_t before = entries.size();
    const Quota& quota = pass.parts[l];
    energies +=
        collect_most({pass, l}, wanted_of(pass, quota.size, quota.keep), kInfinity, entries);
    keep_largest(quota.keep, entries, pass.scratch, before);
  }
  return energies;
}

// Fills `entries` with at least the `in_all` largest elements, and scratch.floor with the largest
// of each part, which are a subset of them.
Energies collect_with_floor(const DifferencePass& pass, std::size_t in_all, Entries& entries) {
  SelectScratch& scratch = pass.scratch;
  const std::span<const float> target(pass.target.data, pass.target.size);
  const std::span<const float> estimate(pass.estimate.data, pass.estimate.size);
  for (unsigned attempt = 0;; ++attempt) {
    Bracket bracket(target, estimate, in_all, scratch);
    for (unsigned i = 0; i < attempt; ++i) bracket.widen();
    const float lower = bracket.lower();
    const bool takes_all = bracket.takes_all();
    Energies energies;
    entries.clear();
    scratch.floor.clear();
    for (std::size_t l = 0; l < pass.parts.size(); ++l) {
      const std::size_t before = entries.size();
      const Quota& quota = pass.parts[l];
      energies += collect_most({pass, l}, wanted_of(pass, quota.size, quota.keep), lower, entries);
      if (quota.keep == 0) continue;
      append_largest(quota.keep, entries, before, entries.size(), scratch.floor, scratch);
    }
    if (!energies.finite() || takes_all || count_reaching(lower, entries) >= in_all)
      return energies;
  }
}

// Selects the floors of the parts, then the largest of all other elements.
Energies collect_globally(const DifferencePass& pass, std::size_t in_all, Entries& entries) {
  const Energies energies = collect_with_floor(pass, in_all, entries);
  if (!energies.finite()) return energies;
  const Entries& floor = pass.scratch.floor;
  if (floor.size() > 0) remove_all(floor, entries);
  keep_largest(in_all - floor.size(), entries, pass.scratch);
  if (floor.size() > 0) merge(floor, entries);
  return energies;
}

void check_sizes(const DifferencePass& pass) {
  KIMESH_CHECK(pass.target.size == pass.estimate.size, "a difference has the size of both sides");
}

// Adds the selection to the estimate where the pass asks for that.
PassResult close(const DifferencePass& pass, const Energies& energies, const Entries& entries) {
  PassResult result{energies, {}};
  if (pass.update && energies.finite())
    result.added = add_whole_entries(entries.indices, entries.values,
                                     {pass.estimate.data, pass.estimate.size});
  return result;
}

}  // namespace

Result<Energies> HostMemory::energies(ConstMemorySpan target, ConstMemorySpan estimate) {
  Entries none;
  return collect({target.data, target.size}, {estimate.data, estimate.size}, kInfinity, 0, none);
}

Result<bool> HostMemory::observe_magnitudes(const DifferencePass& pass) {
  check_sizes(pass);
  KIMESH_CHECK(pass.observer != nullptr, "somebody to tell");
  Entries& entries = pass.scratch.floor;
  for (std::size_t l = 0; l < pass.parts.size(); ++l) {
    entries.clear();
    const std::size_t wanted = wanted_of(pass, pass.parts[l].size, 0);
    if (!collect_most({pass, l}, wanted, kInfinity, entries).finite()) return false;
  }
  return true;
}

Result<PassResult> HostMemory::select_reaching(const DifferencePass& pass, float lower,
                                               Entries& entries) {
  check_sizes(pass);
  entries.clear();
  Energies energies;
  for (std::size_t l = 0; l < pass.parts.size(); ++l) {
    const std::size_t before = entries.size();
    const std::size_t wanted = wanted_of(pass, pass.parts[l].size, 0);
    energies += collect_most({pass, l}, wanted, lower, entries);
    if (wanted > 0) drop_below(lower, entries, before);
  }
  return close(pass, energies, entries);
}

Result<PassResult> HostMemory::select_largest(const DifferencePass& pass, std::uint32_t in_all,
                                              Entries& entries) {
  check_sizes(pass);
  entries.clear();
  const Energies energies =
      in_all == 0 ? collect_quotas(pass, entries) : collect_globally(pass, in_all, entries);
  return close(pass, energies, entries);
}

}  // namespace kimesh::kernels
