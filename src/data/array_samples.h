// Samples that lie one after the other in a file of numbers, as idx and npy have them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stored_samples.h"

namespace kimesh {

// Where the numbers of a file begin and what they are. Row-major.
struct NumberArray {
  std::string path;
  std::uint64_t begin = 0;           // bytes before the first number
  std::vector<std::uint64_t> sizes;  // of the dimensions, the first one counts samples
  char kind = 'u';                   // u: whole from 0, i: whole, f: floating point
  std::size_t bytes = 1;             // of one number, little-endian
};

// `images` has 2 (samples, features), 3 (samples, height, width) or 4 (samples, channels, height,
// width) dimensions, `labels` one. classes 0: one more than the largest label. Errors: UserInput.
[[nodiscard]] Result<std::shared_ptr<const StoredSamples>> stored_in_arrays(
    const NumberArray& images, const NumberArray& labels, std::int64_t classes);

}  // namespace kimesh
