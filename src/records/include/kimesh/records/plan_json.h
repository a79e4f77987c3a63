// `kimesh plan --json`: the plan as data.
//
//   {"kind": "ring", "nodes": [name], "hops": H, "elements": d,
//    "links": [{from, to, reduce_messages, gather_messages}],
//    "shards": [{shard, owner, begin, elements, layers: [{name, first, elements}],
//                reduce: [{hop, from, to}], gather: [{hop, from, to}]}]}
//
// and, with --predict, "figures" as in summary.h. Without a config the sizes are those of a
// stand-in: elements, begin and layers are absent.
#pragma once

#include <span>
#include <string>

#include "kimesh/records/summary.h"
#include "kimesh/topology/plan.h"
#include "kimesh/topology/topology_file.h"

namespace kimesh {

// The plan as JSON text, with a line feed at the end. `figures` are those of a prediction; empty:
// there is none.
[[nodiscard]] std::string plan_json(const Plan& plan, const TopologyFile& topology,
                                    bool layout_known, std::span<const Figure> figures = {});

}  // namespace kimesh
