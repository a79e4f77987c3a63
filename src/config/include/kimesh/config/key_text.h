// Texts made of declarations of keys: the canonical text that nodes compare, and tables for people.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kimesh/config/keys.h"

namespace kimesh {

// Paths differ between machines; on one machine they tell one run from another.
enum class PathsInText { kLeftOut, kWritten };

// The values of all keys that are set. Declarations of the same meaning give the same text, whose
// digest goes into the handshake. Keys that describe() leaves out where Keys::wants_local() is
// false are no part of it.
[[nodiscard]] std::string canonical_text(const std::function<void(Keys&)>& describe,
                                         PathsInText paths = PathsInText::kLeftOut);

// The numbers of a declaration that are set, by their keys with the sections around them
// ("schedule.warmup"); times are in seconds. Comparisons with other programs take them.
[[nodiscard]] std::map<std::string, double> key_numbers(const std::function<void(Keys&)>& describe);

// One key, for people.
struct KeyRow {
  std::string name;      // with the sections around it: "schedule.kind"
  std::string kind;      // the kind that has the key, "sgd"; empty: every kind
  std::string values;    // "a number from 0 to 1", "one of: raw, packed, coded"
  std::string fallback;  // the default; empty: none, the key may be left out; "required"
  std::string help;
};
// All keys of a declaration, those of every kind included, in the order of the declaration.
[[nodiscard]] std::vector<KeyRow> key_rows(const std::function<void(Keys&)>& describe);

// One kind that a key may name.
struct KindRow {
  std::string key;   // that names it: "kind", "schedule.kind"
  std::string name;  // "cosine"
  std::string help;
};
// All kinds that a declaration lets choose, in its order.
[[nodiscard]] std::vector<KindRow> kind_rows(const std::function<void(Keys&)>& describe);

// Aligned columns for a terminal, and a table in Markdown.
[[nodiscard]] std::string plain_table(const std::vector<KeyRow>& rows);
[[nodiscard]] std::string markdown_table(const std::vector<KeyRow>& rows);

}  // namespace kimesh
