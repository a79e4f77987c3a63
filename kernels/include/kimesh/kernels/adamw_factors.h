#pragma once

namespace kimesh::kernels {

// What AdamW multiplies and divides by in one step, for an element x with gradient g and moments m
// and v:
//
//   m += new_share1 · (g − m)
//   v  = old_share2 · v + new_share2 · g²
//   x  = shrink · x − size_of_step · m / (√v / root2 + epsilon)
struct AdamwFactors {
  float shrink = 1, new_share1 = 0, new_share2 = 0, old_share2 = 0, size_of_step = 0, root2 = 1,
        epsilon = 0;
};

}  // namespace kimesh::kernels
