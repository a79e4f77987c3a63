#include "kimesh/records/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kimesh/util/units.h"

namespace kimesh {
namespace {

constexpr std::size_t kGap = 2;  // spaces between columns

bool begins_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
}

std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
}

// The first `columns` characters of a text at most; characters of several bytes stay whole.
std::string cut(const std::string& text, std::size_t columns) {
  std::size_t characters = 0, at = 0;
  for (; at < text.size(); ++at)
    if (begins_character(text[at]) && ++characters > columns) break;
  return text.substr(0, at);
}

// `text` and spaces up to `width`.
std::string padded(const std::string& text, std::size_t width) {
  return text + std::string(width - std::min(width, width_of(text)), ' ');
}

std::string row_text(std::string text, std::size_t columns) {
  text = cut(text, columns);
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

std::string evaluation_text(const RoundRecord& round) {
  if (!round.accuracy) return "accuracy not yet";
  std::string text = fmt::format("accuracy {:.4f}", *round.accuracy);
  if (round.test_loss) text += fmt::format(" test loss {:.4g}", *round.test_loss);
  if (round.perplexity) text += fmt::format(" perplexity {:.4g}", *round.perplexity);
  return text + fmt::format(" (round {})", round.accuracy_round.value_or(0));
}

std::string headline(const RunTally& tally, const RoundRecord& round) {
  const std::string loss =
      std::isfinite(round.loss) ? fmt::format("  loss {:.4g}", round.loss) : std::string();
  return fmt::format("round {}{}  {}  {:.3g} rounds/s", round.round, loss, evaluation_text(round),
                     tally.rounds_per_s());
}

struct Column {
  std::string title;
  std::vector<std::string> cells;
};

std::string estimated(const LinkRecord& link) {
  if (!link.rate_bits_per_s) return "unknown";
  const std::string rate = format_rate(*link.rate_bits_per_s);
  return link.rate_error ? fmt::format("{} ±{:.0f} %", rate, 100 * *link.rate_error) : rate;
}

std::vector<Column> columns_of(const RunTally& tally, std::size_t shown) {
  std::vector<Column> columns{{"link", {}},  {"estimated", {}}, {"emulated", {}},
                              {"bytes", {}}, {"kept", {}},      {"gain", {}}};
  for (std::size_t i = 0; i < shown; ++i) {
    const LinkRecord& link = tally.links()[i].latest;
    const Link& ends = tally.plan().links[i];
    const double share = link.elements == 0
                             ? 0
                             : static_cast<double>(link.kept) / static_cast<double>(link.elements);
    const std::string cells[] = {
        fmt::format("{}->{}", tally.plan().view.nodes[ends.from], link.to),
        estimated(link),
        link.true_rate_bits_per_s ? format_rate(*link.true_rate_bits_per_s) : "-",
        format_bytes(static_cast<double>(link.bytes)),
        fmt::format("{:.2f} %", 100 * share),
        fmt::format("{:.3f}", link.gain)};
    for (std::size_t c = 0; c < columns.size(); ++c) columns[c].cells.push_back(cells[c]);
  }
  return columns;
}

// Rows of the columns that fit, titles first.
std::vector<std::string> lay_out(const std::vector<Column>& columns, std::size_t width) {
  std::vector<std::string> rows(columns.front().cells.size() + 1);
  std::size_t used = 0;
  for (const Column& column : columns) {
    std::size_t widest = column.title.size();
    for (const std::string& cell : column.cells) widest = std::max(widest, width_of(cell));
    if (used > 0 && used + widest > width) break;
    used += widest + kGap;
    rows[0] += padded(column.title, widest + kGap);
    for (std::size_t i = 0; i < column.cells.size(); ++i)
      rows[i + 1] += padded(column.cells[i], widest + kGap);
  }
  return rows;
}

std::string render_notices(const RunTally& tally, std::size_t columns, std::size_t rows) {
  std::string text = row_text("starting", columns);
  std::size_t lines = 1;
  for (std::size_t i = 0; i < tally.nodes().size() && lines < rows; ++i) {
    if (!tally.nodes()[i].notice) continue;
    text += row_text(fmt::format("{}: {}", tally.plan().view.nodes[i], *tally.nodes()[i].notice),
                     columns);
    ++lines;
  }
  return text;
}

}  // namespace

std::string render_table(const RunTally& tally, std::size_t columns, std::size_t rows,
                         const std::string& verdict) {
  const RoundRecord* latest = tally.latest();
  if (latest == nullptr) return render_notices(tally, columns, rows);
  std::string text = row_text(headline(tally, *latest), columns);
  const std::size_t head = verdict.empty() ? 2 : 3;  // headline, titles, verdict
  if (rows <= head) return text;
  if (!verdict.empty()) text += row_text("verdict: " + verdict, columns);
  const std::size_t room = rows - head;
  const std::size_t links = tally.links().size();
  const std::size_t shown = links <= room ? links : room - 1;
  for (const std::string& row : lay_out(columns_of(tally, shown), columns))
    text += row_text(row, columns);
  if (shown < links) text += row_text(fmt::format("({} more links)", links - shown), columns);
  return text;
}

std::string plain_line(const RunTally& tally) {
  const RoundRecord* latest = tally.latest();
  if (latest == nullptr) {
    for (std::size_t i = 0; i < tally.nodes().size(); ++i)
      if (tally.nodes()[i].notice)
        return fmt::format("{}: {}", tally.plan().view.nodes[i], *tally.nodes()[i].notice);
    return "starting";
  }
  return fmt::format("{}  {} sent", headline(tally, *latest),
                     format_bytes(static_cast<double>(tally.bytes_sent())));
}

}  // namespace kimesh
