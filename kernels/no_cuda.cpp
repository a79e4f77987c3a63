// What stands in the place of kernels/*.cu where kimesh is built without CUDA.
#include "kimesh/kernels/memory.h"

namespace kimesh::kernels {

Result<std::unique_ptr<Memory>> open_cuda() {
  return Error{
      ErrorCode::kUserInput,
      "no CUDA device: this kimesh is built without CUDA. Run ./dev build cuda kimesh, which "
      "makes build/cuda/kimesh"};
}

}  // namespace kimesh::kernels
