// The cuts of the flat vector into shards.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "kimesh/topology/layout.h"
#include "kimesh/topology/plan.h"
#include "kimesh/util/result.h"

namespace kimesh {

// What is kept free for the bytes of a message beside its payload, which are 1,046 at most
// (kBesidePayloadBytesMax of wire/frame.h).
inline constexpr std::size_t kMessageBytesBesidePayload = 4096;
// A message's length has 32 bits, and a dense payload has 4 bytes an element.
inline constexpr std::size_t kShardElementsMax =
    ((std::size_t{1} << 32) - kMessageBytesBesidePayload) / 4;
// The most shards of one owner, and of all owners together where parts are cut into several. Each
// shard has channels at all nodes and messages in both phases of a round, and their number is what
// memory and work grow with. Where there are more owners than kCutShardsMax, each has one shard.
inline constexpr std::size_t kShardsPerOwnerMax = 64, kCutShardsMax = 1024;

// The slices of layers within the elements [begin, begin + size) of the vector.
[[nodiscard]] std::vector<LayerSlice> slices(const Layout& layout, std::size_t begin,
                                             std::size_t size);

// Gives each owner a part of the vector, in order, sized by `weights` (> 0, one an owner; empty:
// all equal). Without `elements_max` a part is one shard. With it a part is cut into equal shards,
// the fewest that have at most `elements_max` elements each, within the limits above. Every cut
// lies between two rows, as near to the wanted place as leaves no shard empty, so that a shard may
// exceed `elements_max` by a row. Errors: UserInput when there are more owners than rows, or a
// shard is too large for a message.
[[nodiscard]] Result<std::vector<Shard>> cut_shards(const Layout& layout,
                                                    std::span<const NodeIndex> owners,
                                                    std::span<const double> weights,
                                                    std::optional<std::size_t> elements_max);

}  // namespace kimesh
