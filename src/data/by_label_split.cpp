#include <numeric>

#include "deal.h"
#include "kimesh/data/dataset.h"
#include "stratify.h"

namespace kimesh {
namespace {

std::vector<std::uint32_t> in_file_order(const SampleClasses& train) {
  std::vector<std::uint32_t> order(train.samples());
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

Parts cut(std::span<const std::uint32_t> order, std::size_t nodes) {
  Parts parts(nodes);
  for (std::size_t i = 0; i < nodes; ++i) {
    const auto begin = order.begin() + static_cast<std::ptrdiff_t>(order.size() * i / nodes);
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(order.size() * (i + 1) / nodes);
    parts[i].assign(begin, end);
  }
  return parts;
}

// Samples without classes (text) keep their order: each node holds one stretch of the text.
class ByLabelSplit final : public SplitKind {
 public:
  Parts deal(const SplitRequest& request) const override {
    const SampleClasses& train = request.train;
    if (train.classes <= 1) return cut(in_file_order(train), request.nodes);
    return cut(sorted_by_label(train, request.seed, kOrderStream, Purpose::kDataSplit),
               request.nodes);
  }
};

}  // namespace

extern const Kind<SplitKind> kByLabelSplit;
const Kind<SplitKind> kByLabelSplit = {"by_label",
                                       "sorted by label and cut, so that a node sees few classes",
                                       make_options<ByLabelSplit, SplitKind>};

}  // namespace kimesh
