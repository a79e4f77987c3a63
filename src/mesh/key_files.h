// Reads and writes single key files (mesh/keys.h).
#pragma once

#include <map>
#include <string>
#include <utility>

#include "kimesh/util/result.h"

namespace kimesh {

using PublicKeys = std::map<std::string, std::string>;  // by the names of nodes

// The list at `path`. Errors: UserInput (no such file, no list of keys, a key of two nodes).
[[nodiscard]] Result<PublicKeys> read_public_keys(const std::string& path);
[[nodiscard]] Status write_public_keys(const std::string& path, const PublicKeys& keys);

// The secret key at `path`, which nobody but its owner reads; where the owner is root, as in a
// volume of Kubernetes, its group may as well. Errors: UserInput.
[[nodiscard]] Result<std::string> read_secret_key(const std::string& path);
// Mode 0600, whatever was there. Errors: Io.
[[nodiscard]] Status write_secret_key(const std::string& path, const std::string& key);

[[nodiscard]] inline Error wrong(std::string sentence) {
  return {ErrorCode::kUserInput, std::move(sentence)};
}

[[nodiscard]] bool file_exists(const std::string& path);

}  // namespace kimesh
