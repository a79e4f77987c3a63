// A saved model as any reader of safetensors sees it, independent of our own reader.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "kimesh/topology/layout.h"
#include "tests/e2e/program.h"

namespace kimesh::test {

// In the order of `layout`; empty where the file lacks a tensor, or is not whole.
inline std::vector<float> read_saved_model(const std::string& path, const Layout& layout) {
  const std::string bytes = read_text(path);
  std::uint64_t length = 0;
  if (bytes.size() < sizeof length) return {};
  std::memcpy(&length, bytes.data(), sizeof length);
  if (length > bytes.size() - sizeof length) return {};
  const auto header =
      nlohmann::json::parse(bytes.substr(sizeof length, length), nullptr, /*exceptions=*/false);
  if (!header.is_object()) return {};
  const std::string_view data = std::string_view(bytes).substr(sizeof length + length);
  std::vector<float> model(layout.size());
  for (const LayoutLayer& layer : layout.layers) {
    if (!header.contains(layer.name)) return {};
    const std::size_t begin = header[layer.name]["data_offsets"][0];
    const std::size_t end = header[layer.name]["data_offsets"][1];
    if (end > data.size() || begin > end) return {};
    if (layer.offset + (end - begin) / sizeof(float) > model.size()) return {};
    std::memcpy(model.data() + layer.offset, data.data() + begin, end - begin);
  }
  return data.size() == model.size() * sizeof(float) ? model : std::vector<float>{};
}

}  // namespace kimesh::test
