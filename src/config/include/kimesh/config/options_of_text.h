// Options written down as a file writes them, in code that has no file.
#pragma once

#include <string>

#include "kimesh/config/complaints.h"
#include "kimesh/config/key_reader.h"
#include "kimesh/util/check.h"

namespace kimesh {

// options_of_text<OptimizerOptions>("{kind: sgd, lr: 0.1}"): what the text says, all else as in
// `options`. Errors: `problems`, whose file is "the text".
template <typename Options>
[[nodiscard]] Loaded<Options> load_options(const std::string& text, Options options = {}) {
  Loaded<Options> loaded{std::move(options), {}};
  Complaints complaints("the text");
  Places places;
  if (const auto root = parse_yaml(text, complaints))
    read_keys(*root, "", complaints, places, [&](Keys& keys) { loaded.value.describe(keys); });
  loaded.problems = complaints.take();
  return loaded;
}

// Requires a text without problems.
template <typename Options>
[[nodiscard]] Options options_of_text(const std::string& text, Options options = {}) {
  Loaded<Options> loaded = load_options(text, std::move(options));
  KIMESH_CHECK(loaded.ok(), to_string(loaded.problems.front()));
  return std::move(loaded.value);
}

}  // namespace kimesh
