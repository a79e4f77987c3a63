// Keys of a config's kinds that a program's arguments replace.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "kimesh/config/key_values.h"
#include "kimesh/util/check.h"

namespace kimesh::bench {

// Gives keys of `kind` these values, as a config would. Those whose value is empty stay.
inline void set(KindOptions& kind, std::vector<std::pair<std::string, std::string>> values) {
  std::erase_if(values, [](const auto& key) { return key.second.empty(); });
  const Status set = set_keys([&](Keys& keys) { kind.describe(keys); }, values);
  KIMESH_CHECK(set.ok(), set.ok() ? "keys" : set.error().message);
}

}  // namespace kimesh::bench
