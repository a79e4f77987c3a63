// What `kimesh up` shows while a run goes on: a table that is drawn anew on a terminal, plain lines
// elsewhere. Pure: texts from a tally.
#pragma once

#include <cstddef>
#include <string>

#include "kimesh/records/tally.h"
#include "kimesh/topology/topology_file.h"

namespace kimesh {

// Round, loss, latest evaluation and rounds/s, then a row per link: estimated rate, emulated rate,
// bytes of the latest round, share of the elements kept, gain. No line is wider than `columns`:
// what does not fit is left out, from the right. At most `rows` lines: links that do not fit are
// counted. While no round is over, the nodes' latest notices instead.
[[nodiscard]] std::string render_table(const RunTally& tally, std::size_t columns,
                                       std::size_t rows);
// One line: "round 120  loss 0.432  accuracy 0.9125 test loss 0.311 (round 110)  8.31 rounds/s
// 1.25 MB sent"; of models of text the perplexity stands behind the test loss.
[[nodiscard]] std::string plain_line(const RunTally& tally);

}  // namespace kimesh
