#include "kimesh/data/dataset.h"

#include "src/data/load.h"

namespace kimesh {

void Dataset::copy_sample(std::uint32_t sample, std::span<float> out) const {
  KIMESH_CHECK(sample < samples() && out.size() == shape.inputs(), "a sample and room for it");
  const std::uint8_t* pixel = pixels.data() + sample * shape.inputs();
  const auto plane = static_cast<std::size_t>(shape.height * shape.width);
  for (std::size_t c = 0; c < static_cast<std::size_t>(shape.channels); ++c)
    for (std::size_t i = c * plane; i < (c + 1) * plane; ++i)
      out[i] = static_cast<float>(pixel[i]) * scale[c] + offset[c];
}

Result<DataSets> load_data(const DataConfig& config, std::uint64_t seed) {
  switch (config.kind) {
    case DataKind::kDigits:
      return load_digits(config.test_share, seed);
    case DataKind::kCifar10:
      return load_cifar10(config.path);
  }
  KIMESH_CHECK(false, "a kind of data that load_data knows");
  return Error{};
}

}  // namespace kimesh
