// What the tests of all compressors feed them: every setting there is, and vectors of every kind.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "tests/compress/vectors.h"

namespace kimesh {

enum class VectorKind : std::uint8_t {
  kGaussian,
  kHeavyTailed,
  kConstant,
  kTies,
  kSparse,
  kDenormal,
  kZeros,
  kAdversarial,
};
inline constexpr std::uint32_t kKinds = 8;

inline float adversarial(Random& random) {
  constexpr float kMax = std::numeric_limits<float>::max();
  const float awkward[] = {kMax / 4, -kMax / 4, 1e-38f,        -1e-45f,     1.0f,   -1.0f,
                           0.0f,     -0.0f,     0x1.fffffep0f, -0x1.fep20f, 1e-30f, 65504.0f};
  return awkward[random.below(12)];
}

inline float draw(Random& random, VectorKind kind, float constant) {
  switch (kind) {
    case VectorKind::kGaussian:
      return static_cast<float>(1e-3 * random.normal());
    case VectorKind::kHeavyTailed:
      return static_cast<float>(random.normal() * std::exp(3 * random.normal()));
    case VectorKind::kConstant:
      return constant;
    case VectorKind::kTies:
      return static_cast<float>(random.below(5)) - 2;
    case VectorKind::kSparse:
      return random.below(20) == 0 ? static_cast<float>(random.normal()) : 0.0f;
    case VectorKind::kDenormal:
      return std::bit_cast<float>(random.below(1000) | random.below(2) << 31);
    case VectorKind::kZeros:
      return 0;
    case VectorKind::kAdversarial:
      return adversarial(random);
  }
  return 0;
}

inline std::vector<float> vector_of(Random& random, VectorKind kind, std::size_t size) {
  const auto constant = static_cast<float>(random.normal());
  std::vector<float> x(size);
  for (float& value : x) value = draw(random, kind, constant);
  return x;
}

// Sizes around the edges of blocks, and some others.
inline std::size_t random_size(Random& random) {
  const std::size_t edges[] = {0, 1, 2, 3, 8, 64, 128, 256, 512, 768, 4096};
  if (random.below(3) == 0) return 1 + random.below(3000);
  const std::size_t edge = edges[random.below(11)], step = random.below(3);
  return edge + step - std::min<std::size_t>(1, edge + step);
}

// A vector of `size` elements in 1 to 6 pieces, some of them empty.
inline std::vector<Piece> pieces_of(Random& random, std::size_t size) {
  std::vector<Piece> pieces;
  std::size_t offset = 0;
  for (std::uint32_t left = random.below(6); left > 0; --left) {
    const std::size_t part = random.below(static_cast<std::uint32_t>(size - offset) + 1);
    pieces.push_back({offset, part});
    offset += part;
  }
  pieces.push_back({offset, size - offset});
  return pieces;
}

// One channel's input.
struct Input {
  std::vector<float> target, estimate;
  std::vector<Piece> pieces;
};
inline Input input_of(Random& random, VectorKind kind, std::size_t size) {
  Input input{vector_of(random, kind, size), std::vector<float>(size, 0.0f),
              pieces_of(random, size)};
  if (random.below(2) == 0) input.estimate = vector_of(random, kind, size);
  return input;
}
inline Input random_input(Random& random) {
  const auto kind = static_cast<VectorKind>(random.below(kKinds));
  return input_of(random, kind, random_size(random));
}

// One way to use a codec: every choice that its keys have, every rounding, without its size.
struct Named {
  std::string name;
  std::string codec;
  KeyTexts keys;
  Rounding rounding = Rounding::kTowardsZero;
  [[nodiscard]] CodecPtr make() const { return make_codec(codec, keys); }
};

// The keys that choose among words.
class ChoiceCollector final : public Keys {
 public:
  std::vector<std::pair<std::string, std::vector<std::string>>> choices;

  void section(Key, const std::function<void(Keys&)>&) override {}
  void word_or_section(Key, std::size_t&, const std::vector<std::string_view>&, std::string_view,
                       const std::function<void(Keys&)>&) override {}

 protected:
  void visit(const Key& key, const KeyValue& value, bool&) override {
    if (const auto* choice = std::get_if<ChoiceValue>(&value))
      choices.emplace_back(key.name,
                           std::vector<std::string>(choice->names.begin(), choice->names.end()));
  }
  void visit_kind(const Key&, const KindChoice&) override {}
  void visit_entries(const Key&, const MapEntries&) override {}
};

inline std::vector<Named> settings_of(const std::string& codec) {
  ChoiceCollector collector;
  codecs().make(codec)->describe(collector);
  std::vector<Named> all{{codec, codec, {}}};
  for (const auto& [key, words] : collector.choices) {
    std::vector<Named> more;
    for (const Named& named : all)
      for (const std::string& word : words) {
        more.push_back(named);
        more.back().name += "_" + word;
        more.back().keys.emplace_back(key, word);
      }
    all = std::move(more);
  }
  std::vector<Named> roundings;
  for (const Named& named : all) {
    roundings.push_back(named);
    if (!named.make()->traits().rounds) continue;
    roundings.push_back(named);
    roundings.back().name += "_nearest";
    roundings.back().rounding = Rounding::kNearest;
  }
  return roundings;
}

// The forms that can be decoded: kDense and those of the table.
inline std::vector<Form> all_forms() {
  std::vector<Form> all{Form::kDense};
  for (unsigned number = 0; number < 256; ++number)
    if (find_form(static_cast<Form>(number)) != nullptr) all.push_back(static_cast<Form>(number));
  return all;
}
inline std::string name_of(Form form) {
  return form == Form::kDense ? "dense" : std::string(find_form(form)->name);
}

// Every setting of every codec that writes this form.
inline std::vector<Named> settings_that_write(Form form) {
  std::vector<Named> all;
  for (const std::string_view name : codecs().names()) {
    const auto codec = codecs().make(name);
    const auto forms = codec->forms();
    const bool writes = form == Form::kDense
                            ? codec->is_dense()
                            : std::ranges::find(forms, form, &WireForm::form) != forms.end();
    if (!writes) continue;
    for (const Named& named : settings_of(std::string(name))) all.push_back(named);
  }
  return all;
}

// The codec with the key that sets its size, as near to `value` as the key's range allows.
inline CodecPtr make_of_size(const Named& named, std::string_view size_key, double value) {
  KeyTexts keys = named.keys;
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.9g", std::clamp(value, 1e-30, 1e30));
  keys.emplace_back(size_key, text.data());
  return make_codec(named.codec, keys);
}

// A setting with a size: elements, a threshold that some element reaches, or a budget.
inline Setting sized(const Named& named, Random& random, const Input& input) {
  CodecPtr codec = named.make();
  Setting with{codec, Budget::own(), random.next_u32(), named.rounding};
  const std::size_t size = input.target.size();
  if (size == 0) return with;
  const CodecTraits traits = codec->traits();
  std::uint32_t keep = 1 + random.below(static_cast<std::uint32_t>(size));
  if (random.below(2) == 0) keep = 1 + keep / 20;
  const std::uint32_t at = random.below(static_cast<std::uint32_t>(size));
  const float magnitude = std::abs(input.target[at] - input.estimate[at]);
  const float lower = magnitude > 0 && std::isfinite(magnitude) ? magnitude : 1e-3f;
  with.allocation = random.below(2) == 0 ? Allocation::kGlobal : Allocation::kProportional;
  const bool in_bytes = traits.meets_budgets && random.below(2) == 0;
  if (in_bytes)
    with.budget = Budget::bytes(codec->bytes_min(size) +
                                random.below(static_cast<std::uint32_t>(6 * size + 1)));
  else if (traits.keeps_elements)
    with.budget = Budget::keep(keep);
  else if (!codec->size_key().empty())
    with.codec = make_of_size(named, codec->size_key(), lower);
  if (traits.has_floors)
    with.floor = random.below(2) * random.below(static_cast<std::uint32_t>(size) + 1) / 16;
  return with;
}

}  // namespace kimesh
