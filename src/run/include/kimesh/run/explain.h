// What `kimesh explain` says: the kinds and keys of the user's files, as their declarations tell.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "kimesh/config/keys.h"
#include "kimesh/util/result.h"

namespace kimesh {

// One subject of `kimesh explain NAME` and of docs/kinds.md.
struct ExplainSection {
  std::string_view name;      // "topology"
  std::string_view help;      // one line, without a full stop
  void (*describe)(Keys&);    // declares its keys, from their defaults
  bool has_sections = false;  // its maps are subjects of their own: their keys are not listed here
};

[[nodiscard]] std::span<const ExplainSection> explain_sections();

// Without `section` what there is to explain; with it the section's kinds and the keys that all of
// them have; with `kind` as well that kind's own keys. Errors: UserInput, a name that is unknown.
[[nodiscard]] Result<std::string> explain(std::string_view section = "",
                                          std::string_view kind = "");
// All sections, all kinds, all keys: docs/kinds.md.
[[nodiscard]] std::string explain_markdown();

}  // namespace kimesh
