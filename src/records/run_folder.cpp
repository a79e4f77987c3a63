#include "kimesh/records/run_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "json.h"
#include "kimesh/records/text_file.h"
#include "kimesh/topology/placed_topology.h"

namespace kimesh {
namespace {

constexpr const char* kInfo = "/run.json";
// Nearly all of it is the layout: 60 bytes a tensor, its name, and 11 for a dimension of one digit.
// The 10,000 tensors that a plug-in may have, with 16 dimensions and 200 characters of a name each,
// take 7 MB at most. What is longer is not written.
constexpr std::size_t kInfoBytesMax = 16 << 20;

namespace fs = std::filesystem;

constexpr std::size_t kNameBytesMax = 100;
constexpr unsigned kCounterMax = 1'000'000;  // runs of one name: the search for a free number ends
constexpr std::size_t kCopyBytesMax = std::size_t{1} << 30;

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

bool is_name(const std::string& name) {
  return !name.empty() && name.size() <= kNameBytesMax && name.front() != '.' &&
         std::ranges::all_of(name, is_name_character);
}

Error io_error(const std::string& path, const char* what, const std::error_code& code) {
  return {ErrorCode::kIo, fmt::format("{} cannot be {}: {}", path, what, code.message())};
}

// Makes a folder. True: it is new. False: it existed.
Result<bool> make_folder(const std::string& path) {
  std::error_code code;
  const bool made = fs::create_directory(path, code);
  if (code && code != std::errc::file_exists) return io_error(path, "made", code);
  return made;
}

std::string stem(const std::string& path) {
  std::string name = fs::path(path).stem().string();
  std::ranges::replace_if(
      name, [](char c) { return !is_name_character(c); }, '_');
  name.resize(std::min<std::size_t>(name.size(), kNameBytesMax / 2 - 8));
  return name.empty() || name.front() == '.' ? "run" : name;
}

Result<std::string> make_named(const RunFolderRequest& request) {
  if (!is_name(request.name))
    return Error{ErrorCode::kUserInput,
                 fmt::format("'{}' cannot name a run. Use up to {} letters, digits, '.', '_' and "
                             "'-', with no '.' in front.",
                             request.name, kNameBytesMax)};
  const std::string path = request.parent + "/" + request.name;
  const auto made = make_folder(path);
  if (!made) return made.error();
  if (!*made)
    return Error{ErrorCode::kUserInput,
                 path + " is there already and is not written over. Choose another name."};
  return path;
}

Result<std::string> make_numbered(const RunFolderRequest& request) {
  const std::string& first = request.after.empty() ? request.config_path : request.after;
  const std::string base =
      request.parent + "/" + stem(first) + "-" + stem(request.topology_path) + "-";
  for (unsigned number = 1; number < kCounterMax; ++number) {
    const std::string path = base + std::to_string(number);
    const auto made = make_folder(path);
    if (!made) return made.error();
    if (*made) return path;
  }
  return Error{ErrorCode::kUserInput, base + "* are all taken. Name the run."};
}

// A file that a run's folder gets.
struct Copy {
  std::string path, content;
};

// All copies of a request, read before any is written.
class Copies {
 public:
  explicit Copies(std::string folder) : folder_(std::move(folder)) {}

  void add(const std::string& name, std::string content) {
    files_.push_back({(fs::path(folder_) / name).string(), std::move(content)});
  }
  Status add_file(const std::string& from, const std::string& name) {
    auto content = read_whole(from, kCopyBytesMax);
    if (!content) return content.error();
    add(name, std::move(*content));
    return ok_status();
  }
  // Writes what is missing. Errors: UserInput, where a file is there with another content; nothing
  // is written then.
  Status write() const {
    for (const Copy& file : files_)
      if (const Status free = check_place(file); !free.ok()) return free;
    for (const Copy& file : files_)
      if (const Status written = write_one(file); !written.ok()) return written;
    return ok_status();
  }

 private:
  static bool is_written(const Copy& file) {
    const auto found = read_whole(file.path, kCopyBytesMax);
    return found && *found == file.content;
  }
  // Another node of the run may write the same file meanwhile, and does so whole.
  static Status check_place(const Copy& file) {
    std::error_code code;
    if (!fs::exists(file.path, code) || is_written(file)) return ok_status();
    return Error{ErrorCode::kUserInput, file.path +
                                            " is there already and is not written over. Name "
                                            "another folder."};
  }
  static Status write_one(const Copy& file) {
    if (is_written(file)) return ok_status();
    std::error_code code;
    fs::create_directories(fs::path(file.path).parent_path(), code);
    if (code) return io_error(file.path, "written", code);
    return write_shared(file.path, file.content);
  }

  std::string folder_;
  std::vector<Copy> files_;
};

// Whether a file that another one names lies in that one's folder or below it.
bool lies_inside(const std::string& name) {
  const fs::path relative = fs::path(name).lexically_normal();
  return relative.is_relative() && *relative.begin() != "..";
}

// Adds a file that `source` names, under the same relative path. A file outside the folder of
// `source` gets its last name; the copy of `source` still names the original then.
Status add_named(const std::string& source, const std::string& name, Copies& copies) {
  const fs::path relative = fs::path(name).lexically_normal();
  const fs::path beside = fs::path(source).parent_path() / name;
  return copies.add_file(beside.string(),
                         (lies_inside(name) ? relative : relative.filename()).string());
}

// Adds the topology with all of its traces beside it.
Status add_moved_topology(const std::string& source, Copies& copies) {
  auto moved = move_topology(source);
  if (!moved) return moved.error();
  for (const PlacedTopology::Trace& trace : moved->traces)
    if (Status s = copies.add_file(trace.path, trace.name); !s.ok()) return s;
  copies.add("topology.yaml", std::move(moved->text));
  return ok_status();
}

Status add_topology(const RunFolderRequest& request, Copies& copies) {
  if (!std::ranges::all_of(request.topology_files, lies_inside))
    return add_moved_topology(request.topology_path, copies);
  for (const std::string& name : request.topology_files)
    if (Status s = add_named(request.topology_path, name, copies); !s.ok()) return s;
  return copies.add_file(request.topology_path, "topology.yaml");
}

Status copy_all(const RunFolderRequest& request, const std::string& folder) {
  Copies copies(folder);
  if (Status s = copies.add_file(request.config_path, "config.yaml"); !s.ok()) return s;
  if (Status s = add_topology(request, copies); !s.ok()) return s;
  for (const std::string& name : request.config_files)
    if (Status s = add_named(request.config_path, name, copies); !s.ok()) return s;
  if (Status s = copies.write(); !s.ok()) return s;
  const auto made = make_folder(folder + "/nodes");
  return made ? ok_status() : made.error();
}

// What run.json of the folder holds; an empty object where there is none.
Json info_of(const std::string& folder) {
  const auto text = read_whole(folder + kInfo, kInfoBytesMax);
  Json json = text ? parse_json<Json>(*text) : Json();
  return json.is_object() ? json : Json::object();
}

// Its text of that name; empty where there is none.
std::string text_in_info(const std::string& folder, const char* name) {
  const Json json = info_of(folder);
  const bool tells = json.contains(name) && json[name].is_string();
  return tells ? json[name].get<std::string>() : "";
}

Json to_json(const Layout& layout) {
  Json json = Json::array();
  for (const LayoutLayer& layer : layout.layers)
    json.push_back({{"name", layer.name}, {"shape", layer.shape}});
  return json;
}

// Empty where it is no layout.
Layout layout_of(const Json& json) {
  Layout layout;
  std::size_t offset = 0;
  if (!json.is_array()) return {};
  for (const Json& item : json) {
    FieldReader fields(item);
    LayoutLayer layer;
    std::vector<std::uint32_t> shape;
    fields.read("name", layer.name);
    fields.read("shape", shape);
    if (!fields.ok()) return {};
    layer.shape.assign(shape.begin(), shape.end());
    layer.size = 1;
    for (const std::uint32_t length : shape)
      if (__builtin_mul_overflow(layer.size, length, &layer.size)) return {};
    layer.offset = std::exchange(offset, offset + layer.size);
    layout.layers.push_back(std::move(layer));
  }
  return layout;
}

}  // namespace

Result<RunFolder> RunFolder::create(const RunFolderRequest& request) {
  std::error_code code;
  fs::create_directories(request.parent, code);
  if (code) return io_error(request.parent, "made", code);
  const auto path = request.name.empty() ? make_numbered(request) : make_named(request);
  if (!path) return path.error();
  if (const Status copied = copy_all(request, *path); !copied.ok()) return copied.error();
  return RunFolder(*path);
}

Result<RunFolder> RunFolder::share(const RunFolderRequest& request) {
  const std::string path = request.parent + "/" + request.name;
  std::error_code code;
  fs::create_directories(path, code);
  if (code) return io_error(path, "made", code);
  if (const Status copied = copy_all(request, path); !copied.ok()) return copied.error();
  return RunFolder(path);
}

Status RunFolder::prepare_resumed_node() const {
  std::error_code code;
  fs::create_directories(path_ + "/nodes", code);
  return code ? Status(io_error(path_ + "/nodes", "made", code)) : ok_status();
}

Status RunFolder::prepare_node(const std::string& node) const {
  if (Status made = prepare_resumed_node(); !made) return made;
  std::error_code code;
  if (!fs::exists(events(node), code)) return ok_status();
  return Error{ErrorCode::kUserInput,
               events(node) + " is there already and is not written over. Name another folder."};
}

Status RunFolder::write_info(const RunInfo& info) const {
  Json json;
  json["command"] = info.command;
  json["version"] = info.version;
  json["build"] = info.build;
  json["environment"] = info.environment;
  json["started"] = info.started;
  json["seed"] = info.seed;
  json["config"] = info.config_path;
  json["topology"] = info.topology_path;
  json["nodes"] = info.nodes;
  json["layout"] = to_json(info.layout);
  json["learning_rate"] = number(info.learning_rate);
  json["settings"] = info.settings;
  if (!info.keys_folder.empty()) json["keys"] = info.keys_folder;
  if (!info.after.empty()) json["after"] = info.after;
  const std::string text = text_of(json, 2) + "\n";
  if (text.size() <= kInfoBytesMax) return write_shared(path_ + kInfo, text);
  return Error{ErrorCode::kUserInput,
               fmt::format("{}{} would take {} bytes for the model's {} tensors; at most {} are "
                           "read. Use a model of fewer tensors, or of shorter names.",
                           path_, kInfo, text.size(), info.layout.layers.size(), kInfoBytesMax)};
}

std::string RunFolder::keys_folder() const {
  return text_in_info(path_, "keys");
}
std::string RunFolder::given_config() const {
  return text_in_info(path_, "config");
}
std::string RunFolder::settings() const {
  return text_in_info(path_, "settings");
}
Layout RunFolder::layout() const {
  const Json json = info_of(path_);
  return json.contains("layout") ? layout_of(json["layout"]) : Layout{};
}

bool RunFolder::owns(const std::string& file) const {
  std::error_code unknown;
  const auto whole = [&](const std::string& path) {
    return fs::weakly_canonical(fs::absolute(path, unknown), unknown).lexically_normal();
  };
  const fs::path inside = whole(file).lexically_relative(whole(path_));
  if (inside.empty()) return false;
  if (*inside.begin() == "nodes" || *inside.begin() == "checkpoints") return true;
  const std::string own = path_ + "/" + inside.string();
  return own == path_ + kInfo || own == config() || own == topology() || own == model() ||
         own == summary();
}

std::string RunFolder::events(const std::string& node) const {
  return path_ + "/nodes/" + node + ".jsonl";
}
std::string RunFolder::earlier_events(const std::string& node) const {
  return path_ + "/nodes/" + node + ".old.jsonl";
}
std::string RunFolder::decisions(const std::string& node) const {
  return path_ + "/nodes/" + node + ".decisions.jsonl";
}
std::string RunFolder::log(const std::string& node) const {
  return path_ + "/nodes/" + node + ".log";
}
std::string RunFolder::lock(const std::string& node) const {
  return path_ + "/nodes/" + node + ".lock";
}
std::string RunFolder::checkpoints(const std::string& node) const {
  return path_ + "/checkpoints/" + node;
}
std::string RunFolder::node_model(const std::string& node) const {
  return path_ + "/nodes/" + node + ".safetensors";
}
}  // namespace kimesh
