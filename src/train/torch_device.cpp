#include "torch_device.h"

#include <ATen/Context.h>
#include <dlfcn.h>
#include <torch/cuda.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace kimesh {
namespace {

torch::Device& chosen() {
  static torch::Device device(torch::kCPU);
  return device;
}

// The path of a library in the folder of libtorch_cpu.so. By its name alone the loader might find
// the library of another LibTorch.
std::string beside_libtorch(const std::string& name) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&torch::cuda::is_available), &info) == 0) return name;
  return std::filesystem::path(info.dli_fname).replace_filename(name).string();
}

Status load() {
  // cuBLAS repeats its results only in a workspace that keeps its size: 8 times 4 MiB, as NVIDIA's
  // documentation has it. It reads this when it starts.
  constexpr int kKeepsWhatUsersSay = 0;
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", kKeepsWhatUsersSay);
  if (dlopen(beside_libtorch("libtorch_cuda.so").c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr)
    return Error{ErrorCode::kUserInput, dlerror()};
  if (!torch::cuda::is_available())
    return Error{ErrorCode::kUserInput, "LibTorch sees no GPU that it can use"};
  // Float32 is float32: cuDNN would round what it multiplies to 10 bits otherwise (TF32).
  at::globalContext().setAllowTF32CuDNN(false);
  chosen() = torch::Device(torch::kCUDA, 0);
  return ok_status();
}

}  // namespace

Status load_torch_cuda() {
  static const Status loaded = load();
  return loaded;
}

torch::Device torch_device() {
  return chosen();
}

}  // namespace kimesh
