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

// The element at which each of `count` equal parts of `size` elements would end if rows could be
// cut.
std::vector<std::size_t> even_ends(std::size_t size, std::size_t count) {
  std::vector<std::size_t> ends;
  for (std::size_t i = 1; i <= count; ++i)
    ends.push_back(size / count * i + size % count * i / count);
  return ends;
}

// The same for parts of these weights.
std::vector<std::size_t> weighted_ends(std::size_t size, std::span<const double> weights) {
  std::vector<std::size_t> ends;
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  double before = 0;
  for (const double weight : weights) {
    before += weight;
    const auto end = std::llround(static_cast<double>(size) * std::min(before / sum, 1.0));
    ends.push_back(std::min(static_cast<std::size_t>(end), size - 1));  // the index of an element
  }
  return ends;
}

struct RowRange {
  std::size_t first = 0, last = 0;  // up to `last`, exclusive
};

// Cuts rows into as many parts as there are wanted ends, which count from their first element.
std::vector<RowRange> cut_rows(const Rows& rows, RowRange whole,
                               std::span<const std::size_t> wanted_ends) {
  const std::size_t begin = rows.begin_of(whole.first);
  std::vector<RowRange> parts;
  std::size_t first = whole.first;
  for (std::size_t i = 0; i < wanted_ends.size(); ++i) {
    const std::size_t parts_left = wanted_ends.size() - 1 - i;
    const std::size_t last = parts_left == 0 ? whole.last
                                             : std::clamp(rows.nearest(begin + wanted_ends[i]),
                                                          first + 1, whole.last - parts_left);
    parts.push_back({first, last});
    first = last;
  }
  return parts;
}

// The number of shards of a part of so many elements, of one of `owners`.
std::size_t shards_of(std::size_t size, std::size_t rows, std::size_t owners,
                      std::optional<std::size_t> elements_max) {
  if (!elements_max) return 1;
  const std::size_t most = std::clamp<std::size_t>(kCutShardsMax / owners, 1, kShardsPerOwnerMax);
  return std::min({(size + *elements_max - 1) / *elements_max, rows, most});
}

}  // namespace

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

Result<std::vector<Shard>> cut_shards(const Layout& layout, std::span<const NodeIndex> owners,
                                      std::span<const double> weights,
                                      std::optional<std::size_t> elements_max) {
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
  const auto size_of = [&](const RowRange& range) {
    return rows.begin_of(range.last) - rows.begin_of(range.first);
  };
  const auto parts = cut_rows(
      rows, {0, rows.count()},
      weights.empty() ? even_ends(layout.size(), count) : weighted_ends(layout.size(), weights));
  std::vector<Shard> shards;
  for (std::size_t i = 0; i < count; ++i) {
    const RowRange& part = parts[i];
    const std::size_t size = size_of(part);
    const std::size_t cuts = shards_of(size, part.last - part.first, count, elements_max);
    for (const RowRange& range : cut_rows(rows, part, even_ends(size, cuts))) {
      const std::size_t begin = rows.begin_of(range.first), elements = size_of(range);
      if (elements > kShardElementsMax) {
        return Error{ErrorCode::kUserInput,
                     fmt::format("A server would own {} parameters, and a message has room for {}. "
                                 "Name more servers, or weigh them more evenly.",
                                 size, kShardElementsMax)};
      }
      shards.push_back({owners[i], begin, elements, slices(layout, begin, elements)});
    }
  }
  return shards;
}

}  // namespace kimesh
