// Where LibTorch computes. Private to the layer: it shows LibTorch.
#pragma once

#include <torch/types.h>

#include "kimesh/util/result.h"

namespace kimesh {

// Loads the part of LibTorch that computes on NVIDIA GPUs, libtorch_cuda.so: the program is not
// linked with its gigabytes, which few machines have a use for. Looked for where libtorch_cpu.so
// is; the process does it once. Errors: UserInput: it is not there, or sees no GPU.
[[nodiscard]] Status load_torch_cuda();

// The machine's first GPU once load_torch_cuda() has found it, else the CPU.
[[nodiscard]] torch::Device torch_device();

}  // namespace kimesh
