// What a sparse message carries: which elements of the difference.
#pragma once

#include "src/compress/families.h"

namespace kimesh {

struct Selected {
  kernels::Energies energies;  // of the whole vector
  double first_missing_energy = 0;
  Curve curve;  // where it was asked for
};

// Fills scratch.entries with what topk keeps of `keep` elements, as the setting allots them to the
// pieces; the difference is read once. Requires 1 <= keep <= size. Errors: NotFinite.
[[nodiscard]] Result<Selected> select_topk(const AdvanceJob& job, std::uint32_t keep);

// Error if the energies tell of an element that is not finite.
[[nodiscard]] Status check_finite(const AdvanceJob& job, const kernels::Energies& energies);

}  // namespace kimesh
