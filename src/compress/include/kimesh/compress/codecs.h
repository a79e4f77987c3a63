// The table of codecs: those of kimesh, then those that a program added. Whoever has a name or the
// number of a form finds the codec here; what a codec is stands in codec/codec.h.
// Thread: one at a time while codecs are added; any number of readers afterwards.
#pragma once

#include <string>
#include <string_view>

#include "kimesh/codec/codec.h"
#include "kimesh/config/key_values.h"

namespace kimesh {

[[nodiscard]] const KindTable<Codec>& codecs();
// Adds a codec of the program's own, before the first file is read. Its name is new; its forms are
// from 128 to 255 and new.
void add_codec(const Kind<Codec>& kind);
// The codec of this name, with the values of its keys as a config writes them: make_codec("topk",
// {{"values", "float16"}}). Requires names and values that a config may have.
[[nodiscard]] CodecPtr make_codec(std::string_view name, const KeyTexts& keys = {});

// The form of this number; null: no codec writes it. The first two are no codec's.
[[nodiscard]] const WireForm* find_form(Form form);
[[nodiscard]] bool is_known(Form form);
// "128 mine\n": what nodes must agree on. Empty where nobody added a codec.
[[nodiscard]] std::string user_forms();

// Declares all of a setting: the keys of the decision log.
void describe(Setting& setting, Keys& keys);

}  // namespace kimesh
