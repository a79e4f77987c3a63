// Selections by a threshold that is sought: which elements of the difference a message of dgc or
// redsync carries. Cheaper than the exact k largest, or thought to be. On the host only.
#pragma once

#include "kimesh/codec/difference.h"

namespace kimesh {

// Deep Gradient Compression (Lin et al., 2018, section 3.1 and its hierarchical selection): of each
// piece what reaches the threshold that a sample's largest elements give; where these are more than
// the piece's share of `keep`, the largest of them. `full`: exactly that many where the sample
// misled.
[[nodiscard]] Result<Selected> select_dgc(const AdvanceJob& job, std::uint32_t keep, bool full);

// RedSync (Fang et al., 2019, "threshold binary search selection"): of each piece what reaches
// mean + ratio · (largest − mean) of the magnitudes, the ratio bisected until between half and all
// of the piece's share of `keep` do, or until it moves no more: then what still reaches it, never
// more than the share. `full`: exactly the share where fewer than 98 % of it came.
[[nodiscard]] Result<Selected> select_redsync(const AdvanceJob& job, std::uint32_t keep, bool full);

}  // namespace kimesh
