// The run that a node goes on with that was started again.
#include <filesystem>
#include <span>
#include <string>
#include <system_error>

#include "kimesh/mesh/mesh.h"
#include "kimesh/records/durable_file.h"
#include "kimesh/records/text_file.h"

namespace kimesh {
namespace {

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
bool is_done(const RunFolder& folder, const std::string& node) {
  const auto record = parse_record(last_line(folder.events(node)));
  const auto* end = record ? std::get_if<EndRecord>(&*record) : nullptr;
  return end != nullptr && end->outcome == Outcome::kDone;
}

}  // namespace

std::optional<RunFolder> Mesh::unfinished_run(const std::string& parent,
                                              const std::string& node) const {
  std::optional<RunFolder> latest;
  std::filesystem::file_time_type at;
  std::error_code code;
  std::filesystem::directory_iterator entry(parent, code);
  for (; !code && entry != std::filesystem::directory_iterator(); entry.increment(code)) {
    const RunFolder folder(entry->path().string());
    std::error_code missing;
    const auto written = std::filesystem::last_write_time(folder.events(node), missing);
    if (missing || (latest && written <= at) || is_done(folder, node)) continue;
    const Loaded<MeshFiles> files = load_mesh_files(folder.config(), folder.topology());
    if (!files.ok() || files.value.config.canonical() != config().canonical() ||
        files.value.topology.canonical() != topology().canonical())
      continue;
    latest = folder;
    at = written;
  }
  return latest;
}

}  // namespace kimesh
