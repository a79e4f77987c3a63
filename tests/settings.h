// Settings as tests write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kimesh/compress/codecs.h"

namespace kimesh {

// A message of this codec, with its keys as a config writes them.
inline Setting setting_of(std::string_view codec, const KeyTexts& keys = {},
                          Budget budget = Budget::own()) {
  return {make_codec(codec, keys), budget};
}

inline Setting topk_setting(std::uint64_t keep, std::uint32_t rotation = 0) {
  Setting setting = setting_of("topk", {}, Budget::keep(keep));
  setting.rotation = rotation;
  return setting;
}

inline bool is_of(const Setting& setting, std::string_view codec) {
  return setting.codec != nullptr && setting.codec->kind_name() == codec;
}

}  // namespace kimesh
