#include "cuts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kimesh/util/check.h"

namespace kimesh {
namespace {

// Numbers the rows of all layers from 0. It keeps one number a layer, because a model has far more
// rows than layers.
class Rows {
 public:
  explicit Rows(const Layout& layout) : layout_(layout) {
    std::size_t offset = 0;
    for (const LayoutLayer& layer : layout.layers) {
      KIMESH_CHECK(layer.offset == offset, "layers lie one after another");
      KIMESH_CHECK(layer.size > 0 && layer.size % layer.row_size() == 0, "a layer has whole rows");
      offset += layer.size;
      first_row_.push_back(count_);
      count_ += layer.size / layer.row_size();
    }
  }

  std::size_t count() const { return count_; }

  // The element at which `row` begins; count() gives the end of the vector.
  std::size_t begin_of(std::size_t row) const {
    if (row == count_) return layout_.size();
    const auto after = std::ranges::upper_bound(first_row_, row);
    const auto layer = static_cast<std::size_t>(after - first_row_.begin()) - 1;
    const LayoutLayer& found = layout_.layers[layer];
    return found.offset + (row - first_row_[layer]) * found.row_size();
  }

  // The row whose begin is nearest to `element`, the earlier one of two.
  std::size_t nearest(std::size_t element) const {
    const auto after = std::ranges::upper_bound(layout_.layers, element, {}, &LayoutLayer::offset);
    const auto layer = static_cast<std::size_t>(after - layout_.layers.begin()) - 1;
    const LayoutLayer& found = layout_.layers[layer];
    const std::size_t row = first_row_[layer] + (element - found.offset) / found.row_size();
    const bool next_is_nearer = begin_of(row + 1) - element < element - begin_of(row);
    return next_is_nearer ? row + 1 : row;
  }

 private:
  const Layout& layout_;
  std::vector<std::size_t> first_row_;  // by layer
  std::size_t count_ = 0;
};

// The slices of layers within [begin, begin + size).
std::vector<LayerSlice> slices(const Layout& layout, std::size_t begin, std::size_t size) {
  std::vector<LayerSlice> result;
  const auto after = std::ranges::upper_bound(layout.layers, begin, {}, &LayoutLayer::offset);
  auto layer = static_cast<std::size_t>(after - layout.layers.begin()) - 1;
  for (; layer < layout.layers.size() && layout.layers[layer].offset < begin + size; ++layer) {
    const LayoutLayer& whole = layout.layers[layer];
    const std::size_t from = std::max(begin, whole.offset);
    const std::size_t to = std::min(begin + size, whole.offset + whole.size);
    result.push_back({static_cast<std::uint32_t>(layer), from - begin, to - from});
  }
  return result;
}

// The element at which each shard would end if rows could be cut.
std::vector<std::size_t> wanted_ends(std::size_t size, std::size_t count,
                                     std::span<const double> weights) {
  std::vector<std::size_t> ends;
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  double before = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (weights.empty()) {
      ends.push_back(size / count * (i + 1) + size % count * (i + 1) / count);
      continue;
    }
    before += weights[i];
    const auto end = std::llround(static_cast<double>(size) * std::min(before / sum, 1.0));
    ends.push_back(std::min(static_cast<std::size_t>(end), size - 1));  // the index of an element
  }
  return ends;
}

}  // namespace

Result<std::vector<Shard>> cut_shards(const Layout& layout, std::span<const NodeIndex> owners,
                                      std::span<const double> weights) {
  KIMESH_CHECK(weights.empty() || weights.size() == owners.size(), "each owner has a weight");
  const Rows rows(layout);
  const std::size_t count = owners.size();
  if (rows.count() < count) {
    return Error{
        ErrorCode::kUserInput,
        fmt::format("{} servers cannot share a model of {} rows: each needs one row of a "
                    "tensor at least. Name fewer servers or nodes, or train a larger model.",
                    count, rows.count())};
  }
  const std::vector<std::size_t> ends = wanted_ends(layout.size(), count, weights);
  std::vector<Shard> shards;
  std::size_t first = 0;  // row at which the next shard begins
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t shards_left = count - 1 - i;
    const std::size_t end =
        shards_left == 0 ? rows.count()
                         : std::clamp(rows.nearest(ends[i]), first + 1, rows.count() - shards_left);
    const std::size_t begin = rows.begin_of(first);
    const std::size_t size = rows.begin_of(end) - begin;
    if (size > kShardElementsMax) {
      return Error{ErrorCode::kUserInput,
                   fmt::format("A server would own {} parameters, and a message has room for {}. "
                               "Name more servers, or weigh them more evenly.",
                               size, kShardElementsMax)};
    }
    shards.push_back({owners[i], begin, size, slices(layout, begin, size)});
    first = end;
  }
  return shards;
}

}  // namespace kimesh
