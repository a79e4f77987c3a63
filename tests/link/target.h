// Whom an attack is for.
#pragma once

#include <string>
#include <vector>

#include "kimesh/link/curve.h"

namespace kimesh::test {

// Node n0 of a ring n0 to n3.
struct Target {
  std::string endpoint;
  // Where its port is encrypted: its public key, which is no secret, and the keys of n2, which is a
  // member of the mesh and one of the attackers.
  std::string key{};
  CurvePair member{};
  [[nodiscard]] bool is_encrypted() const { return !key.empty(); }
};
// The target of a mesh with these keys, by node; empty: it is not encrypted.
inline Target target_of(const std::string& endpoint, const std::vector<CurveKeys>& keys) {
  if (keys.empty()) return {endpoint};
  return {endpoint, keys[0].own.public_key, keys[2].own};
}

}  // namespace kimesh::test
