// The table of codecs, and the forms that they write.
#include "kimesh/compress/codecs.h"

#include <algorithm>
#include <array>

#include "kimesh/util/check.h"

namespace kimesh {

// One line for each codec: X(NAME) stands for NAME_codec(), which the codec's own file defines.
// clang-format off
#define KIMESH_CODECS(X) \
  X(identity)            \
  X(topk)                \
  X(threshold)           \
  X(randk)               \
  X(dgc)                 \
  X(redsync)             \
  X(sign)                \
  X(sign2)               \
  X(int8)                \
  X(int4)                \
  X(natural)             \
  X(dzq)
// clang-format on

#define KIMESH_DECLARE(name) Kind<Codec> name##_codec();
KIMESH_CODECS(KIMESH_DECLARE)
#undef KIMESH_DECLARE

namespace {

struct Codecs {
  KindTable<Codec> kinds{"compressor", {}};
  std::array<const WireForm*, 256> forms{};

  Codecs() {
#define KIMESH_ADD(name) add(name##_codec());
    KIMESH_CODECS(KIMESH_ADD)
#undef KIMESH_ADD
  }

  // Several codecs may write one form with the same decoder.
  void add(const Kind<Codec>& kind) {
    kinds.add(kind);
    for (const WireForm& form : kinds.make(kind.name)->forms()) {
      const WireForm*& place = forms[static_cast<std::size_t>(form.form)];
      KIMESH_CHECK(place == nullptr || place->decode == form.decode, "a form of its own");
      place = &form;
    }
  }
};

Codecs& all() {
  static Codecs codecs;
  return codecs;
}

bool is_of_user(const WireForm& form) {
  return static_cast<std::uint8_t>(form.form) >= kUserFormsBegin;
}

}  // namespace

const KindTable<Codec>& codecs() {
  return all().kinds;
}

void add_codec(const Kind<Codec>& kind) {
  for (const WireForm& form : kind.make()->forms())
    KIMESH_CHECK(is_of_user(form), "wire forms of a program's own codecs are from 128 to 255");
  all().add(kind);
}

CodecPtr make_codec(std::string_view name, const KeyTexts& keys) {
  std::shared_ptr<Codec> codec = codecs().make(name);
  const Status set = set_keys([&](Keys& visitor) { codec->describe(visitor); }, keys);
  KIMESH_CHECK(set.ok(), "keys of " + std::string(name) + ": " +
                             (set.ok() ? std::string() : set.error().message));
  return codec;
}

const WireForm* find_form(Form form) {
  return all().forms[static_cast<std::size_t>(form)];
}

bool is_known(Form form) {
  return form == Form::kEmpty || form == Form::kDense || find_form(form) != nullptr;
}

std::string user_forms() {
  std::string text;
  for (const WireForm* form : all().forms)
    if (form != nullptr && is_of_user(*form))
      text +=
          std::to_string(static_cast<unsigned>(form->form)) + " " + std::string(form->name) + "\n";
  return text;
}

}  // namespace kimesh
