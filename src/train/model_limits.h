// The limits of the keys of models, each with its reason.
#pragma once

#include <cstddef>

#include "kimesh/config/range.h"

namespace kimesh::limits {

inline constexpr Range kWidths{1, 65536};      // squares of it, in float32, are 16 GB
inline constexpr std::size_t kHiddenMax = 32;  // plain mlps do not train at such depth
inline constexpr Range kChannels{1, 4096};
// Each block halves the image; below 1x1 nothing is left of the 32x32 of cifar10.
inline constexpr std::size_t kBlocksMax = 5;
inline constexpr Range kDepths{8, 200};  // deeper ones only get slower (He et al. 2015, 4.2)
// The last of four stages is 8 times as wide. With fewer than 8 channels oneDNN (of LibTorch 2.15)
// breaks the heap on processors that have AVX2 and no AVX-512: by the gradients of strided 1x1
// convolutions.
inline constexpr Range kStageWidths{8, 1024};
inline constexpr Range kStacks{1, 96};   // blocks of the largest GPT-3
inline constexpr Range kHeads{1, 1024};  // a head of fewer than one number is none

}  // namespace kimesh::limits
