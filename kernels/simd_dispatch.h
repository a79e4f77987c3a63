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
// others are tested against.
#define HWY_COMPILE_ALL_ATTAINABLE
// Highway would take an emulation of 128-bit vectors for it where the compiler allows that.
#define HWY_BROKEN_EMU128 1

// Of x86 three sets are compiled. Machines without SSE4 are too rare to be worth their code. Sets
// above AVX-512 (AVX3_DL, AVX3_ZEN4, AVX3_SPR, AVX10_2), which Highway adds by itself from 1.0.7
// on, bring these kernels nothing, and kernels/simd_lanes.h tells AVX-512 by its name. Highway
// gives x86 the bits up to HWY_HIGHEST_TARGET_BIT_X86, and other architectures those above it: sets
// that only newer versions name are left out, too. Arm's vectors of unknown length are too
// different to be worth their code.
#define KIMESH_X86_TARGETS ((2LL << HWY_HIGHEST_TARGET_BIT_X86) - 1)
#define HWY_DISABLED_TARGETS                                                                     \
  ((KIMESH_X86_TARGETS & ~(HWY_AVX3 | HWY_AVX2 | HWY_SSE4)) | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | \
   HWY_SVE2_128)

#include "hwy/foreach_target.h"
