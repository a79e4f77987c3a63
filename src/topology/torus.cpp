// kind: torus. The nodes stand in rows and columns; each sends to the next one of its row and to
// the next one of its column.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "kimesh/config/map_reader.h"
#include "picture.h"
#include "written.h"

namespace kimesh {
namespace {

// With one row or one column a torus would be a ring, which has a kind of its own.
constexpr std::int64_t kExtentMin = 2, kExtentMax = kNodesMax / kExtentMin;

std::string row_text(std::string row) {
  row.erase(row.find_last_not_of(' ') + 1);
  return fmt::format("  {}\n", row);
}

// A line of names, each padded to `width` and followed by `between`.
std::string draw_cells(std::span<const std::string> names, std::size_t width,
                       std::string_view between) {
  std::string line;
  for (const std::string& name : names) line += fmt::format("{:<{}}{}", name, width, between);
  return line;
}

// `names` row by row. The last of a row sends to the first, which stands at the end of the row once
// more, and the last row to the first row. What has no room in a row or below is left out.
std::string draw_torus(const std::vector<std::string>& names, std::size_t columns) {
  constexpr std::string_view kAcross = " --> ", kGap = "     ";
  constexpr std::size_t kMargin = 2;
  constexpr std::size_t kRowsMax = (kPictureRowsMax - 1) / 2;
  const std::size_t rows = names.size() / columns;
  const auto width = std::ranges::max(names, {}, &std::string::size).size();
  const std::size_t cells = (kPictureColumnsMax - kMargin + kGap.size()) / (width + kGap.size());
  const std::size_t columns_shown = columns < cells ? columns : std::max<std::size_t>(cells, 4) - 3;
  const std::size_t rows_shown = rows <= kRowsMax ? rows : kRowsMax - 1;
  const std::vector<std::string> heads(columns_shown, "v");
  const std::string_view left_out = columns_shown < columns ? "... --> " : "";

  std::string text;
  for (std::size_t row = 0; row < rows_shown; ++row) {
    const auto cells_of_row = std::span(names).subspan(row * columns, columns_shown);
    text += fmt::format("  {}{}{}\n", draw_cells(cells_of_row, width, kAcross), left_out,
                        names[row * columns]);
    text += row_text(draw_cells(heads, width, kGap));
  }
  if (rows_shown < rows)
    text += fmt::format("  ({} more rows)\n", rows - rows_shown) +
            row_text(draw_cells(heads, width, kGap));
  return text + row_text(draw_cells(std::span(names).first(columns_shown), width, kGap));
}

// A shard is reduced along the rows first: each row is a ring, and its sum ends in the owner's
// column. That column is a ring too, and its sum ends at the owner. The gather goes the other way:
// along the owner's column, then along all rows. Both go the same way round, so that each link is
// used in one direction only.
class Torus final : public TopologyKind {
 public:
  void describe(Keys& keys) override {
    keys.require("rows", "rows: 2");
    keys.require("columns", "columns: 3");
    keys.whole("rows", rows_, {kExtentMin, kExtentMax}, "rows of nodes");
    keys.whole("columns", columns_, {kExtentMin, kExtentMax},
               "nodes of each row; the file lists the nodes row by row");
  }

  bool resolve(const TopologyFile& topology, Findings& findings) override {
    if (!rows_ || !columns_) return false;  // there is a complaint about it
    const auto nodes = static_cast<std::int64_t>(topology.nodes.size());
    if (*rows_ * *columns_ == nodes) return true;
    findings.add("rows",
                 fmt::format("{} rows of {} columns are {} nodes, and the file has {}", *rows_,
                             *columns_, *rows_ * *columns_, nodes),
                 "Write rows and columns whose product is the number of nodes");
    return false;
  }

  bool all_serve() const override { return true; }

  bool carries(const TopologyFile&, NodeIndex from, NodeIndex to) const override {
    return to == right_of(from) || to == below(from);
  }

  std::string remedy_for_unused() const override {
    return "A torus sends from each node to the next of its row and to the next of its column, and "
           "from the last ones to the first: name one of these links";
  }

  std::vector<Trees> trees(const TopologyFile& topology) const override {
    std::vector<Trees> result;
    for (const NodeIndex owner : topology.servers) {
      Trees& trees = result.emplace_back();
      for (std::size_t n = 0; n < topology.nodes.size(); ++n) {
        const auto node = static_cast<NodeIndex>(n);
        const bool same_column = column(node) == column(owner);
        trees.reduce_parent.push_back(same_column ? below(node) : right_of(node));
        trees.gather_parent.push_back(same_column ? above(node) : left_of(node));
      }
      trees.reduce_parent[owner] = trees.gather_parent[owner] = owner;
    }
    return result;
  }

  std::string picture(const TopologyFile& topology) const override {
    return draw_torus(names_of(topology), static_cast<std::size_t>(*columns_));
  }

 private:
  NodeIndex at(std::int64_t row, std::int64_t column) const {
    return static_cast<NodeIndex>((row % *rows_) * *columns_ + column % *columns_);
  }
  std::int64_t row(NodeIndex node) const { return node / *columns_; }
  std::int64_t column(NodeIndex node) const { return node % *columns_; }
  NodeIndex right_of(NodeIndex node) const { return at(row(node), column(node) + 1); }
  NodeIndex left_of(NodeIndex node) const { return at(row(node), column(node) + *columns_ - 1); }
  NodeIndex below(NodeIndex node) const { return at(row(node) + 1, column(node)); }
  NodeIndex above(NodeIndex node) const { return at(row(node) + *rows_ - 1, column(node)); }

  std::optional<std::int64_t> rows_, columns_;
};

}  // namespace

extern constinit const Kind<TopologyKind> kTorus{
    "torus", "rows and columns: each node sends to the next of its row and of its column",
    make_options<Torus, TopologyKind>};

}  // namespace kimesh
