// The live view of a run as text: a table for terminals, a line elsewhere. Pure.
#pragma once

#include <cstddef>
#include <string>

#include "kimesh/records/tally.h"
#include "kimesh/topology/topology_file.h"

namespace kimesh {

// The table: round, loss, latest evaluation and rounds/s; the verdict, where there is one; then a
// row per link with estimated rate, emulated rate, bytes of the latest round, share of the elements
// kept, and gain. Columns that do not fit into `columns` characters are left out, from the right;
// of at most `rows` lines, the last counts the links left out. Before the first round ends, the
// table shows the nodes' latest notices.
[[nodiscard]] std::string render_table(const RunTally& tally, std::size_t columns, std::size_t rows,
                                       const std::string& verdict = "");
// One line: "round 120  loss 0.432  accuracy 0.9125 test loss 0.311 (round 110)  8.31 rounds/s
// 1.25 MB sent"; of models of text the perplexity stands behind the test loss.
[[nodiscard]] std::string plain_line(const RunTally& tally);

}  // namespace kimesh
