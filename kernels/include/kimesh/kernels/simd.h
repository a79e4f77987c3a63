// Which instruction set the kernels run on. Each is compiled into the program; the best that the
// machine has is taken at the first call. All of them give the same bits: kernels_test holds them
// to that.
#pragma once

#include <string_view>
#include <vector>

#include "kimesh/util/result.h"

namespace kimesh::kernels {

// Names of the instruction sets that this machine has, best first: of "avx512", "avx2", "sse4",
// "neon" and "scalar". The last is always there.
[[nodiscard]] std::vector<std::string_view> simd_targets();

// The one in use.
[[nodiscard]] std::string_view simd_target();

// From now on this one, process-wide; empty: the best again. To be called before threads start.
// Errors: UserInput, where the machine has none of that name.
[[nodiscard]] Status force_simd(std::string_view name);

}  // namespace kimesh::kernels
