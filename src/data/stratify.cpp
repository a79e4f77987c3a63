#include "stratify.h"

namespace kimesh {

std::vector<std::vector<std::uint32_t>> shuffled_classes(const SampleClasses& data,
                                                         std::uint64_t seed, std::uint32_t stream,
                                                         Purpose purpose) {
  std::vector<std::vector<std::uint32_t>> classes(static_cast<std::size_t>(data.classes));
  for (std::uint32_t i = 0; i < data.samples(); ++i) classes[data.labels[i]].push_back(i);
  for (std::uint32_t c = 0; c < classes.size(); ++c)
    Random(seed, c, stream, purpose).shuffle(std::span<std::uint32_t>(classes[c]));
  return classes;
}

std::vector<std::uint32_t> sorted_by_label(const SampleClasses& data, std::uint64_t seed,
                                           std::uint32_t stream, Purpose purpose) {
  std::vector<std::uint32_t> order;
  order.reserve(data.samples());
  for (const auto& samples : shuffled_classes(data, seed, stream, purpose))
    order.insert(order.end(), samples.begin(), samples.end());
  return order;
}

}  // namespace kimesh
