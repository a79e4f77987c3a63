// A short secret in a file: a key, a token.
#pragma once

#include <string>
#include <string_view>

#include "kimesh/util/result.h"

namespace kimesh {

// A file that is there, but is no secret of this user's, is refused whatever it holds.
struct PrivateFile {
  std::string path;
  std::string_view what;      // "secret key": named in every sentence
  std::string_view remedy;    // what to do where there is no such file: a sentence
  std::size_t bytes_max = 0;  // of a secret, and the line's end, whatever it is
};

// The text in the file, without the ends of lines behind it, or as much as `bytes_max`. Nobody but
// its owner may read it; where the owner is root and the reader is not, as in a volume of
// Kubernetes, its group may as well. Errors: UserInput; no sentence holds a byte of the secret.
[[nodiscard]] Result<std::string> read_private_file(const PrivateFile& file);

}  // namespace kimesh
