#include "image_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

#include "byte_file.h"

// Of its functions these sources use three; the others stay in here, unused.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#define STBI_MAX_DIMENSIONS 4096
#include <stb/stb_image.h>
#define STB_IMAGE_RESIZE_STATIC
#define STB_IMAGE_RESIZE_IMPLEMENTATION
#include <stb/stb_image_resize.h>
#pragma GCC diagnostic pop

namespace kimesh {
namespace {

constexpr const char* kImageRemedy = "Put whole PNG, JPEG, BMP, PPM or PGM images there";

Error refuse(const std::string& path, const std::string& why) {
  return refused_file(path, why, kImageRemedy);
}

// Bytes that a PPM or PGM must have, its header included, by its content, whatever its name is.
// Nothing: it is neither. stb takes one that ends early for whole.
std::optional<std::uintmax_t> pnm_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (in.get() != 'P') return std::nullopt;
  const int kind = in.get();
  if (kind != '5' && kind != '6') return std::nullopt;
  constexpr std::uintmax_t kNumberMax = 1 << 20;  // over what stb takes, and no product overflows
  std::uintmax_t width = 0, height = 0, largest = 0;
  int c = in.get();
  for (std::uintmax_t* number : {&width, &height, &largest}) {
    for (; std::isspace(c) != 0 || c == '#'; c = in.get())
      if (c == '#')
        while (in && c != '\n' && c != '\r') c = in.get();
    for (; std::isdigit(c) != 0; c = in.get())
      *number = std::min(*number * 10 + static_cast<std::uintmax_t>(c - '0'), kNumberMax);
  }
  // The one white space behind the last number has been read, unless the file ended before it.
  const std::uintmax_t header = in ? static_cast<std::uintmax_t>(in.tellg()) : kNumberMax;
  return header + width * height * (kind == '6' ? 3 : 1) * (largest > 255 ? 2 : 1);
}

}  // namespace

Result<ImageSize> size_of_image(const std::string& path) {
  int width = 0, height = 0, channels = 0;
  if (stbi_info(path.c_str(), &width, &height, &channels) == 0)
    return refuse(path, fmt::format("it is no image that can be read ({})", stbi_failure_reason()));
  if (width < 1 || height < 1 || width > STBI_MAX_DIMENSIONS || height > STBI_MAX_DIMENSIONS)
    return refuse(path, fmt::format("a side is not from 1 to {} pixels", STBI_MAX_DIMENSIONS));
  std::error_code trouble;
  const auto bytes = std::filesystem::file_size(path, trouble);
  if (const auto wanted = pnm_bytes(path); wanted && (trouble || bytes < *wanted))
    return refuse(path, "the image ends early");
  return ImageSize{channels < 3 ? 1 : 3, height, width};
}

Result<std::vector<std::uint8_t>> read_image(const std::string& path, const ImageSize& size,
                                             bool resized) {
  const auto own = size_of_image(path);  // before memory is taken for it
  if (!own) return own.error();
  if (!resized && (own->height != size.height || own->width != size.width))
    return refused_file(path,
                        fmt::format("it has {} x {} pixels, but the first one has {} x {}",
                                    own->width, own->height, size.width, size.height),
                        "Write data.size: [height, width], to which all are brought");
  int width = 0, height = 0, ignored = 0;
  const auto channels = static_cast<int>(size.channels);
  const std::unique_ptr<stbi_uc, void (*)(void*)> loaded(
      stbi_load(path.c_str(), &width, &height, &ignored, channels), stbi_image_free);
  if (!loaded) return refuse(path, fmt::format("the image is broken ({})", stbi_failure_reason()));
  const auto plane = static_cast<std::size_t>(size.height * size.width);
  const std::size_t numbers = plane * static_cast<std::size_t>(channels);
  std::vector<std::uint8_t> mixed(numbers);  // a pixel's channels side by side
  if (height == size.height && width == size.width)
    std::copy_n(loaded.get(), numbers, mixed.begin());  // scaling would blur it
  else if (stbir_resize_uint8(loaded.get(), width, height, 0, mixed.data(),
                              static_cast<int>(size.width), static_cast<int>(size.height), 0,
                              channels) == 0)
    return refuse(path, "it cannot be resized");
  std::vector<std::uint8_t> planes(mixed.size());
  const auto count = static_cast<std::size_t>(channels);
  for (std::size_t i = 0; i < plane; ++i)
    for (std::size_t c = 0; c < count; ++c) planes[c * plane + i] = mixed[i * count + c];
  return planes;
}

}  // namespace kimesh
