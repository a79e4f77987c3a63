// What the tests of frames and of messages share.
#pragma once

#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kimesh/util/random.h"

namespace kimesh::wire_test {

inline std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

// A file of tests/wire/golden: hexadecimal digits, white space between them, '#' comments to the
// end of a line.
inline std::vector<std::byte> golden(const std::string& name) {
  std::ifstream file(std::string(KIMESH_SOURCE_DIR "/tests/wire/golden/") + name + ".hex");
  EXPECT_TRUE(file.good()) << name;
  std::vector<std::byte> out;
  std::string digits, line;
  while (std::getline(file, line))
    for (const char c : line.substr(0, line.find('#')))
      if (std::isxdigit(static_cast<unsigned char>(c))) digits += c;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    out.push_back(static_cast<std::byte>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  return out;
}

inline std::string hex(std::span<const std::byte> bytes) {
  std::string out;
  for (const std::byte b : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    out += kDigits[std::to_integer<int>(b) >> 4];
    out += kDigits[std::to_integer<int>(b) & 15];
  }
  return out;
}

inline const std::vector<std::byte> kContent = bytes_of("content");

inline void mutate(std::vector<std::byte>& bytes, Random& random) {
  for (std::uint32_t n = 1 + random.below(4); n > 0; --n) {
    const auto at = bytes.empty() ? 0 : random.below(static_cast<std::uint32_t>(bytes.size()));
    const auto value = static_cast<std::byte>(random.below(256));
    switch (random.below(4)) {
      case 0:
        bytes.resize(at);
        break;
      case 1:
        bytes.insert(bytes.begin() + at, value);
        break;
      default:
        if (!bytes.empty()) bytes[at] = value;
    }
  }
}

}  // namespace kimesh::wire_test
