// Finds the earlier runs of a node, so that a node that is started again can go on with one.
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <system_error>

#include "kimesh/mesh/mesh.h"
#include "kimesh/model_files/node_model.h"
#include "kimesh/records/durable_file.h"
#include "kimesh/records/text_file.h"

namespace kimesh {
namespace {

namespace fs = std::filesystem;

// The last whole line of a file; empty where there is none.
std::string last_line(const std::string& path) {
  auto file = PieceReader::open(path);
  if (!file) return "";
  if (file->left() > kLineBytesMax) file->go_to(file->left() - kLineBytesMax);
  std::string text(file->left(), '\0');
  if (!file->read(std::as_writable_bytes(std::span(text)))) return "";
  if (!text.ends_with('\n')) return "";  // the process was killed while it wrote
  text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

// Whether the last record of a node tells of the run's regular end.
bool says_done(const RunFolder& folder, const std::string& node) {
  const auto record = parse_record(last_line(folder.events(node)));
  const auto* end = record ? std::get_if<EndRecord>(&*record) : nullptr;
  return end != nullptr && end->outcome == Outcome::kDone;
}

// Whether the node has left the model that all nodes agree on: it does so at the regular end,
// before it lets the others go.
bool has_agreed_model(const RunFolder& folder, const std::string& node) {
  const std::string path = folder.node_model(node);
  std::error_code code;
  if (!fs::exists(path, code)) return false;
  const auto file = read_safetensors(path);
  if (!file) return false;
  const auto origin = origin_of(*file, path);
  return origin && !origin->unagreed;
}

// When the node wrote its records last. Nothing: it has none. A node that is killed while it begins
// another file of them leaves those of the earlier file alone.
std::optional<fs::file_time_type> last_written(const RunFolder& folder, const std::string& node) {
  for (const std::string& path : {folder.events(node), folder.earlier_events(node)}) {
    std::error_code missing;
    const auto time = fs::last_write_time(path, missing);
    if (!missing) return time;
  }
  return std::nullopt;
}

}  // namespace

EarlierRuns Mesh::earlier_runs(const std::string& parent, const std::string& node) const {
  EarlierRuns runs;
  auto latest_same = fs::file_time_type::min(), latest_other = latest_same;
  const std::string own = settings();
  std::error_code code;
  fs::directory_iterator entry(parent, code);
  for (; !code && entry != fs::directory_iterator(); entry.increment(code)) {
    const RunFolder folder(entry->path().string());
    const auto written = last_written(folder, node);
    if (!written) continue;
    const bool is_same = folder.settings() == own;
    if (says_done(folder, node)) {
      runs.has_ended = runs.has_ended || is_same;
      continue;
    }
    if (is_same && has_agreed_model(folder, node)) {
      runs.has_ended = true;
      runs.died_at_end = folder;
      continue;
    }
    auto& latest = is_same ? latest_same : latest_other;
    if (*written <= latest) continue;
    latest = *written;
    (is_same ? runs.unfinished : runs.unfinished_other) = folder;
  }
  return runs;
}

}  // namespace kimesh
