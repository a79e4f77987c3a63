// Image files: the one door to the stb libraries.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kimesh/util/result.h"

namespace kimesh {

struct ImageSize {
  std::int64_t channels = 0, height = 0, width = 0;
};

// From the head of a file in PNG, JPEG, BMP, PPM or PGM. Grey images have 1 channel, all others 3.
// Errors: UserInput (no such image, or a side over 4096).
[[nodiscard]] Result<ImageSize> size_of_image(const std::string& path);

// As [channels][height][width]. `resized`: scaled to that size; else the image must have it.
// Errors: UserInput.
[[nodiscard]] Result<std::vector<std::uint8_t>> read_image(const std::string& path,
                                                           const ImageSize& size, bool resized);

}  // namespace kimesh
