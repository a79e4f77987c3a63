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

Batches::Batches(std::vector<std::uint32_t> part, NodeIndex node, std::uint64_t seed)
    : part_(std::move(part)), node_(node), seed_(seed) {}

std::span<const std::uint32_t> Batches::samples(int size, std::uint64_t number) {
  KIMESH_CHECK(!part_.empty() && size > 0, "a batch of something");
  const auto count = static_cast<std::uint64_t>(size);
  const std::uint64_t begin = number * count, length = part_.size(), first = begin % length;
  if (count <= length - first) return order_of(begin / length).subspan(first, count);
  joined_.clear();
  while (joined_.size() < count) {
    const std::uint64_t at = begin + joined_.size();
    const auto rest = order_of(at / length).subspan(at % length);
    const auto taken = rest.first(std::min<std::uint64_t>(rest.size(), count - joined_.size()));
    joined_.insert(joined_.end(), taken.begin(), taken.end());
  }
  return joined_;
}

std::span<const std::uint32_t> Batches::order_of(std::uint64_t epoch) {
  if (epoch_ != epoch) {
    order_ = part_;
    Random(seed_, node_, static_cast<std::uint32_t>(epoch), Purpose::kBatchOrder)
        .shuffle(std::span(order_));
    epoch_ = epoch;
    ++drawn_;
  }
  return order_;
}

std::vector<std::uint32_t> batch_samples(std::span<const std::uint32_t> part, int batch,
                                         std::uint64_t number, NodeIndex node, std::uint64_t seed) {
  Batches batches({part.begin(), part.end()}, node, seed);
  const auto samples = batches.samples(batch, number);
  return {samples.begin(), samples.end()};
}

}  // namespace kimesh
