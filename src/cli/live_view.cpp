#include "live_view.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include "kimesh/records/table.h"
#include "say.h"

namespace kimesh::cli {
namespace {

constexpr Duration kBetweenTables = std::chrono::milliseconds(200);
constexpr Duration kBetweenLines = std::chrono::seconds(1);

}  // namespace

TerminalSize terminal_size() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
    return {};
  return {size.ws_col, size.ws_row};
}

ProgressRow::ProgressRow() : terminal_(::isatty(STDOUT_FILENO) == 1) {}

ProgressRow::~ProgressRow() {
  if (last_) put("\r\x1b[K");
}

void ProgressRow::show(double share) {
  const TimePoint now = std::chrono::steady_clock::now();
  if (!terminal_) return;
  progress_.add(share, now);
  if (last_ && now - *last_ < kBetweenTables) return;
  last_ = now;
  put("\r\x1b[K" + progress_.bar(terminal_size().columns - 1));
}

LiveView::LiveView(RunHistory run)
    : terminal_(::isatty(STDOUT_FILENO) == 1), stop_(run.config.stop), recent_(std::move(run)) {}

void LiveView::observe(NodeIndex node, const RoundRecord& round) {
  if (terminal_) recent_.add(node, round);
}

void LiveView::wipe() {
  if (drawn_ > 0) put(fmt::format("\x1b[{}A\x1b[0J", drawn_));
  drawn_ = 0;
}

void LiveView::draw(const RunTally& tally) {
  if (!terminal_) {
    const std::string line = plain_line(tally);
    if (line == last_line_) return;
    last_line_ = line;
    return say(line);
  }
  draw_table(tally);
}

void LiveView::draw_table(const RunTally& tally) {
  const auto share = share_done(stop_, tally);
  const bool has_bar = share && tally.latest() != nullptr && !ended_;
  if (has_bar) progress_.add(*share, std::chrono::steady_clock::now());
  const TerminalSize size = terminal_size();
  // One row stays free for the cursor.
  const std::size_t rows = size.rows - std::min<std::size_t>(size.rows, has_bar ? 2 : 1);
  // The end tells its verdict below the table.
  const std::string verdict = ended_ ? "" : recent_.verdict();
  std::string table = render_table(tally, size.columns, rows, verdict);
  if (has_bar) table += progress_.bar(size.columns, stop_.accuracy || stop_.loss) + "\n";
  wipe();
  put(table);
  drawn_ = static_cast<std::size_t>(std::ranges::count(table, '\n'));
}

void LiveView::update(const RunTally& tally, TimePoint now) {
  if (last_ && now - *last_ < (terminal_ ? kBetweenTables : kBetweenLines)) return;
  if (!terminal_ && tally.latest() == nullptr) return;  // notices are printed anyway
  last_ = now;
  draw(tally);
}

void LiveView::notice(const std::string& text) {
  wipe();
  say(text);
}

void LiveView::finish(const RunTally& tally) {
  ended_ = true;
  if (tally.latest() != nullptr) draw(tally);
  drawn_ = 0;
}

}  // namespace kimesh::cli
