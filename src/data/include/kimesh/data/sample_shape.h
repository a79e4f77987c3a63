// What one sample looks like: all that a model needs to know about the data.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kimesh {

struct SampleShape {
  // kImage: float32 in [channels][height][width], one class a sample; a plain list of features is
  // an image of one row. kTokens: `length` numbers below `vocabulary`, each with the token that
  // follows it as its class, so classes = vocabulary.
  enum class Kind { kImage, kTokens };
  Kind kind = Kind::kImage;
  std::int64_t channels = 0, height = 0, width = 0;  // image; 0 for tokens
  std::int64_t length = 0, vocabulary = 0;           // tokens; 0 for images
  std::int64_t classes = 0;

  friend bool operator==(const SampleShape&, const SampleShape&) = default;

  // Numbers that go into the model for one sample.
  [[nodiscard]] std::size_t inputs() const {
    return static_cast<std::size_t>(kind == Kind::kTokens ? length : channels * height * width);
  }
  // Classes that come with one sample.
  [[nodiscard]] std::size_t targets() const {
    return kind == Kind::kTokens ? static_cast<std::size_t>(length) : 1;
  }
};

}  // namespace kimesh
