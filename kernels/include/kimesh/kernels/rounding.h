// How a value is rounded that lies between two that can be written.
#pragma once

#include <cstdint>

namespace kimesh::kernels {

// Towards zero keeps a codec conservative, |C(v)| + |v - C(v)| = |v|, which routes of several hops
// need (docs/architecture.md, invariant 3). To nearest (of two that are equally near the even one;
// dzq takes the centroid of the bin) leaves out less, on routes of one hop.
enum class Rounding : std::uint8_t { kTowardsZero, kNearest };

}  // namespace kimesh::kernels
