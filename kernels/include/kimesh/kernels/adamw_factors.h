#pragma once

namespace kimesh::kernels {

// What AdamW multiplies and divides by in one step.
struct AdamwFactors {
  float shrink = 1, new_share1 = 0, new_share2 = 0, old_share2 = 0, size_of_step = 0, root2 = 1,
        epsilon = 0;
};

}  // namespace kimesh::kernels
