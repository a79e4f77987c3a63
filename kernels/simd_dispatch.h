// Compiles the file that includes it once for every instruction set. The pattern, as
// kernels/vector_math_cpu.cpp has it:
//
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "NAME_cpu.cpp"
//   #include "simd_dispatch.h"
//   #include "simd_lanes.h"
//
//   HWY_BEFORE_NAMESPACE();
//   namespace kimesh::kernels::HWY_NAMESPACE { namespace { ... functions, once for each ... } }
//   HWY_AFTER_NAMESPACE();
//
//   #if HWY_ONCE
//   namespace kimesh::kernels { HWY_EXPORT(...); ... HWY_DYNAMIC_DISPATCH(...)(...) ... }
//   #endif
#pragma once

// Scalar code is compiled beside the rest, also where the baseline has better: it is what the
// others are tested against. SSSE3 machines without SSE4 are too rare, vectors of unknown length
// too different, to be worth their code.
#define HWY_COMPILE_ALL_ATTAINABLE
// Highway would take an emulation of 128-bit vectors for it where the compiler allows that.
#define HWY_BROKEN_EMU128 1
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)

#include "hwy/foreach_target.h"
