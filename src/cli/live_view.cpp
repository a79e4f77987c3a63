#include "live_view.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "kimesh/records/table.h"
#include "say.h"

namespace kimesh::cli {
namespace {

constexpr Duration kBetweenTables = std::chrono::milliseconds(200);
constexpr Duration kBetweenLines = std::chrono::seconds(1);

struct Size {
  std::size_t columns = 80, rows = 24;
};

Size terminal_size() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
    return {};
  return {size.ws_col, size.ws_row};
}

}  // namespace

LiveView::LiveView() : terminal_(::isatty(STDOUT_FILENO) == 1) {}

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
  const Size size = terminal_size();
  // One row stays free for the cursor.
  const std::string table = render_table(tally, size.columns, size.rows - 1);
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
  if (tally.latest() != nullptr) draw(tally);
  drawn_ = 0;
}

}  // namespace kimesh::cli
