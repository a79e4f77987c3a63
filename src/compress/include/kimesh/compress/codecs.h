// The table of codecs: those of kimesh, then those that a program added. It finds codecs by name
// and forms by number. The contract of a codec is in codec/codec.h. Thread: one at a time while
// codecs are added; any number of readers afterwards.
#pragma once

#include <string>
#include <string_view>

#include "kimesh/codec/codec.h"
#include "kimesh/config/key_values.h"

namespace kimesh {

[[nodiscard]] const KindTable<Codec>& codecs();
// Adds a codec of the program's own. Call it before the first file is read. Requires a new name,
// and new forms from 128 to 255.
void add_codec(const Kind<Codec>& kind);
// Makes a codec by name, with the values of its keys as a config has them:
// make_codec("topk", {{"values", "float16"}}). Requires names and values that a config may have.
[[nodiscard]] CodecPtr make_codec(std::string_view name, const KeyTexts& keys = {});

// The form of this number; null where no codec writes it, as kEmpty and kDense.
[[nodiscard]] const WireForm* find_form(Form form);
[[nodiscard]] bool is_known(Form form);
// The forms that a program added, a line each: "128 mine\n". Nodes must agree on them.
[[nodiscard]] std::string user_forms();

// Declares the keys of a setting in the decision log.
void describe(Setting& setting, Keys& keys);

}  // namespace kimesh
