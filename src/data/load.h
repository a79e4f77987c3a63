// Where samples come from, one function a kind of data.
#pragma once

#include <cstdint>
#include <string>

#include "kimesh/data/dataset.h"
#include "kimesh/util/result.h"

namespace kimesh {

// The embedded digits; of each class round(test_share · samples), but never all of them, go into
// the test set. Errors: UserInput (test_share outside of (0, 1)).
[[nodiscard]] Result<DataSets> load_digits(double test_share, std::uint64_t seed);

// As load_data says for cifar10.
[[nodiscard]] Result<DataSets> load_cifar10(const std::string& folder);

}  // namespace kimesh
