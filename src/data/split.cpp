#include "kimesh/data/split.h"

#include <algorithm>

#include "kimesh/util/check.h"
#include "stratify.h"

namespace kimesh {
namespace {

constexpr std::uint32_t kTestPartStream = 1;  // of Purpose::kTestSet; stream 0 chose the test set

}  // namespace

std::vector<std::vector<std::uint32_t>> split_data(const SplitKind& kind,
                                                   const SplitRequest& request) {
  KIMESH_CHECK(request.nodes > 0 && request.train.samples() >= request.nodes,
               "a sample for every node");
  auto parts = kind.deal(request);
  for (auto& part : parts) std::sort(part.begin(), part.end());
  return parts;
}

std::vector<std::uint32_t> test_part(const SampleClasses& test, NodeIndex node, std::size_t nodes,
                                     std::uint64_t seed) {
  const auto order = sorted_by_label(test, seed, kTestPartStream, Purpose::kTestSet);
  std::vector<std::uint32_t> part;
  for (std::size_t i = node; i < order.size(); i += nodes) part.push_back(order[i]);
  return part;
}

std::vector<std::uint32_t> batch_samples(std::span<const std::uint32_t> part, int batch,
                                         std::uint64_t number, NodeIndex node, std::uint64_t seed) {
  KIMESH_CHECK(!part.empty() && batch > 0, "a batch of something");
  const auto size = static_cast<std::uint64_t>(batch);
  std::vector<std::uint32_t> samples, epoch_order;
  samples.reserve(size);
  const std::uint64_t begin = number * size;
  for (std::uint64_t at = begin; at < begin + size; ++at) {
    if (epoch_order.empty() || at % part.size() == 0) {
      epoch_order.assign(part.begin(), part.end());
      const auto epoch = static_cast<std::uint32_t>(at / part.size());
      Random(seed, node, epoch, Purpose::kBatchOrder).shuffle(std::span(epoch_order));
    }
    samples.push_back(epoch_order[at % part.size()]);
  }
  return samples;
}

}  // namespace kimesh
