#include "src/vectors/store.h"

#include <algorithm>
#include <utility>

#include "kimesh/util/check.h"

namespace kimesh {

AdvanceResult Vectors::Store::with_digest(Advanced made, std::uint64_t digest) {
  return {std::move(made.bytes), made.form, made.wanted_energy, made.missing_energy, digest,
          std::move(made.curve), made.kept};
}

std::size_t Vectors::Store::largest_shard() const {
  std::size_t largest = 0;
  for (const Shard& shard : plan_.shards) largest = std::max(largest, shard.size);
  return largest;
}

// Only this node's channels: a plan of 1,000 nodes has millions.
std::vector<ChannelIndex> Vectors::Store::kept_estimates() const {
  std::vector<ChannelIndex> kept;
  for (std::size_t s = 0; s < plan_.shards.size(); ++s) {
    const Seat& seat = plan_.seats[s][self_];
    kept.insert(kept.end(), seat.reduce_in.begin(), seat.reduce_in.end());
    if (!options_.keeps_estimates) continue;
    if (seat.reduce_out) kept.push_back(*seat.reduce_out);
    kept.insert(kept.end(), seat.gather_out.begin(), seat.gather_out.end());
  }
  return kept;
}

std::size_t Vectors::Store::elements_of(ChannelIndex channel) const {
  return plan_.shards[plan_.channels[channel].shard].size;
}

std::span<const Piece> Vectors::Store::pieces_of(ShardIndex shard) {
  pieces_.clear();
  for (const LayerSlice& slice : plan_.shards[shard].layers)
    pieces_.push_back({slice.offset, slice.size});
  return pieces_;
}

Error Vectors::Store::not_finite(std::optional<std::size_t> element, ShardIndex shard) const {
  if (!element) {
    return {ErrorCode::kNotFinite,
            "a difference of shard " + std::to_string(shard) + " is infinite"};
  }
  const auto slice = std::ranges::find_if(plan_.shards[shard].layers, [&](const LayerSlice& s) {
    return *element >= s.offset && *element - s.offset < s.size;
  });
  KIMESH_CHECK(slice != plan_.shards[shard].layers.end(), "layers cover the shard");
  const LayoutLayer& layer = plan_.layout.layers[slice->layer];
  const std::size_t of_layer = plan_.shards[shard].begin + *element - layer.offset;
  const std::string name = layer.name.empty() ? "" : "layer " + layer.name + ", ";
  return {ErrorCode::kNotFinite,
          name + "element " + std::to_string(of_layer) + " is NaN or infinite"};
}

void Vectors::Store::check_writable(BufferId buffer, ShardIndex shard) const {
  if (buffer.kind == BufferId::Kind::kEstimate) {
    KIMESH_CHECK(plan_.channels[buffer.index].shard == shard, "an estimate of the action's shard");
    return;
  }
  KIMESH_CHECK(buffer.kind == BufferId::Kind::kParameters, "a contribution is read only");
  KIMESH_CHECK(buffer.index == shard, "parameters of the action's shard");
  KIMESH_CHECK(plan_.shards[shard].owner != self_,
               "the owner's parameters change by its optimizer");
}

}  // namespace kimesh
