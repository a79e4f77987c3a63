#include "kimesh/data/dataset.h"

#include "kimesh/util/check.h"

namespace kimesh {
namespace {

template <typename Number>
void copy_scaled(const Number* numbers, const Dataset& data, std::span<float> out) {
  const auto plane = static_cast<std::size_t>(data.shape.height * data.shape.width);
  for (std::size_t c = 0; c < static_cast<std::size_t>(data.shape.channels); ++c)
    for (std::size_t i = c * plane; i < (c + 1) * plane; ++i)
      out[i] = static_cast<float>(numbers[i]) * data.scale[c] + data.offset[c];
}

}  // namespace

void Dataset::copy_sample(std::uint32_t sample, std::span<float> out) const {
  KIMESH_CHECK(sample < samples() && out.size() == shape.inputs() && tokens.empty(),
               "an image and room for it");
  const std::size_t begin = sample * shape.inputs();
  if (values.empty())
    copy_scaled(pixels.data() + begin, *this, out);
  else
    copy_scaled(values.data() + begin, *this, out);
}

std::span<const std::uint16_t> Dataset::tokens_of(std::uint32_t sample) const {
  KIMESH_CHECK(sample < samples() && shape.kind == SampleShape::Kind::kTokens, "a row of tokens");
  const std::size_t row = shape.inputs() + 1;
  return std::span(tokens).subspan(sample * row, row);
}

}  // namespace kimesh
