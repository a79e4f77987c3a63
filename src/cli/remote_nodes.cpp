#include "remote_nodes.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <system_error>
#include <thread>

#include "kimesh/mesh/keys.h"
#include "kimesh/records/durable_file.h"
#include "kimesh/records/text_file.h"
#include "kimesh/topology/placed_topology.h"
#include "kimesh/util/digest.h"
#include "kimesh/util/thrown.h"
#include "kimesh/util/units.h"
#include "say.h"

namespace kimesh::cli {
namespace {

namespace fs = std::filesystem;

constexpr Duration kSayAgain = std::chrono::seconds(5);

std::string config_at(const std::string& run) {
  return fmt::format("configs/{}.yaml", run);
}
std::string topology_at(const std::string& run) {
  return fmt::format("topologies/{}", run);
}
std::string keys_at(const std::string& run) {
  return "keys-" + run;
}

std::string name_of(const RunFolder& folder) {
  return new_run_folder(folder.path()).name;
}

// Does the work of all places at once, since each waits for its own machine. Returns the first
// error.
template <typename Places, typename Work>
Status at_all(const Places& places, const Work& work) {
  std::vector<Status> ends(places.size(), ok_status());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < places.size(); ++i)
      threads.emplace_back([&, i] {
        Thrown thrown;
        if (!thrown.guard("reaching a machine", [&] { ends[i] = work(places[i]); }))
          ends[i] = Error{ErrorCode::kIo, *thrown.text()};
      });
  }
  const auto failed = std::ranges::find_if(ends, [](const Status& end) { return !end.ok(); });
  return failed == ends.end() ? ok_status() : *failed;
}

// A temporary folder for files that are copied, which is removed at the end.
class Staging {
 public:
  static Result<Staging> make(const fs::path& parent) {
    std::string path = (parent / ".kimesh-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr)
      return Error{ErrorCode::kIo, "no temporary folder can be made at " + path};
    return Staging(path);
  }
  ~Staging() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  Staging(Staging&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  Staging& operator=(Staging&&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit Staging(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

Status copy_into(const std::string& from, const fs::path& to) {
  std::error_code code;
  fs::create_directories(to.parent_path(), code);
  if (!code) fs::copy_file(from, to, fs::copy_options::overwrite_existing, code);
  if (!code) return ok_status();
  return Error{ErrorCode::kIo, fmt::format("{} cannot be copied: {}", from, code.message())};
}

// Writes the config, and the topology with its traces beside it, to a folder.
Status stage(const Mesh& mesh, const std::string& run, const fs::path& to) {
  const auto moved = move_topology(mesh.files().topology_path);
  if (!moved) return moved.error();
  const fs::path topologies = to / topology_at(run);
  if (Status s = copy_into(mesh.files().config_path, to / config_at(run)); !s) return s;
  for (const auto& trace : moved->traces)
    if (Status s = copy_into(trace.path, topologies / trace.name); !s) return s;
  std::error_code code;
  fs::create_directories(topologies, code);
  return write_whole((topologies / "topology.yaml").string(), std::string_view(moved->text));
}

std::string this_system() {
  utsname names{};
  ::uname(&names);
  return fmt::format("{} {}", names.sysname, names.machine);
}

// All files in a folder and below it, sorted.
std::vector<fs::path> files_below(const std::string& folder) {
  std::vector<fs::path> files;
  std::error_code code;
  for (fs::recursive_directory_iterator entry(folder, code), end; !code && entry != end;
       entry.increment(code))
    if (std::error_code unknown; entry->is_regular_file(unknown)) files.push_back(entry->path());
  std::ranges::sort(files);
  return files;
}

// Adds a file's bytes to the digest, and returns their number. Errors: Io.
Result<std::uint64_t> add_file(const std::string& path, PiecewiseDigest& digest) {
  auto file = PieceReader::open(path);
  if (!file) return file.error();
  const std::uint64_t bytes = file->left();
  std::vector<std::byte> piece(kFilePieceBytes);
  while (file->left() > 0) {
    const auto part = std::span(piece).first(std::min(file->left(), kFilePieceBytes));
    if (const Status read = file->read(part); !read) return read.error();
    digest.add(part);
  }
  return bytes;
}

// Appends what is left of `from` to the file at `path`.
Status append_rest(PieceReader& from, const std::string& path) {
  std::ofstream out(path, std::ios::binary | std::ios::app);
  std::vector<char> piece(kFilePieceBytes);
  while (out && from.left() > 0) {
    const auto part = std::span(piece).first(std::min(from.left(), piece.size()));
    if (const Status read = from.read(std::as_writable_bytes(part)); !read) return read;
    out.write(part.data(), static_cast<std::streamsize>(part.size()));
  }
  out.close();
  return out ? ok_status() : Status(Error{ErrorCode::kIo, path + " cannot be written"});
}

// Whether what is left of `file` begins with all that is left of `known`. On true, `file` stands
// behind those bytes.
Result<bool> begins_with(PieceReader& file, PieceReader& known) {
  if (file.left() < known.left()) return false;
  std::vector<std::byte> expected(kFilePieceBytes), found(kFilePieceBytes);
  while (known.left() > 0) {
    const std::size_t size = std::min(known.left(), expected.size());
    if (const Status s = known.read(std::span(expected).first(size)); !s) return s.error();
    if (const Status s = file.read(std::span(found).first(size)); !s) return s.error();
    if (!std::equal(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(size),
                    found.begin()))
      return false;
  }
  return true;
}

// Keeps the file at `came` as `path`. Records that are at `path` already grow where they are, so
// that who follows them goes on.
Status keep_file(const fs::path& came, const std::string& path) {
  if (came.extension() == ".jsonl") {
    auto file = PieceReader::open(came.string());
    auto known = PieceReader::open(path);
    if (file && known) {
      const auto grows = begins_with(*file, *known);
      if (!grows) return grows.error();
      if (*grows) return append_rest(*file, path);
    }
  }
  std::error_code code;
  fs::rename(came, path, code);
  if (!code) return ok_status();
  return Error{ErrorCode::kIo, fmt::format("{} cannot be kept: {}", path, code.message())};
}

}  // namespace

Result<RemoteNodes::Bundle> RemoteNodes::read_bundle(const HostsFile& hosts,
                                                     const std::string& path) {
  Bundle bundle{hosts.bundle, "", 0};
  const char* launcher = std::getenv("KIMESH_LAUNCHER");
  if (bundle.folder.empty() && launcher != nullptr)
    bundle.folder = fs::path(launcher).parent_path().string();
  std::error_code code;
  if (!fs::exists(bundle.folder + "/kimesh", code))
    return Error{ErrorCode::kUserInput,
                 fmt::format("{}:{}: there is no program at '{}' that could be copied to other "
                             "machines. Make one with `./dev bundle`, and write bundle: with its "
                             "folder.",
                             path, hosts.places.line("bundle"), bundle.folder)};
  PiecewiseDigest digest;
  for (const fs::path& file : files_below(bundle.folder)) {
    const std::string name = file.lexically_relative(bundle.folder).string() + "\n";
    digest.add(std::as_bytes(std::span(name)));
    const auto bytes = add_file(file.string(), digest);
    if (!bytes) return bytes.error();
    bundle.bytes += *bytes;
  }
  bundle.digest = digest_name(digest.value());
  return bundle;
}

Result<RemoteNodes> RemoteNodes::open(const std::string& path, const TopologyFile& topology) {
  const Loaded<HostsFile> loaded = load_hosts(path);
  for (const Problem& problem : loaded.problems) complain(to_string(problem));
  if (!loaded.ok())
    return Error{ErrorCode::kUserInput, path + " does not say on which machines nodes run"};
  RemoteNodes nodes;
  for (const HostSpec& host : loaded.value.hosts)
    if (!topology.find_node(host.name))
      return Error{ErrorCode::kUserInput,
                   fmt::format("{}:{}: the topology has no node {}. Name its nodes.", path,
                               loaded.value.places.line("hosts." + host.name), host.name)};
  for (NodeIndex i = 0; i < topology.nodes.size(); ++i) {
    const std::string& name = topology.nodes[i].name;
    const auto host = std::ranges::find(loaded.value.hosts, name, &HostSpec::name);
    if (host == loaded.value.hosts.end())
      return Error{ErrorCode::kUserInput,
                   fmt::format("{}: node {} has no machine. Add it to hosts, such as {}: {{ssh: "
                               "anna@192.0.2.7}}.",
                               path, name, name)};
    const Machine machine(*host);
    auto place = std::ranges::find(nodes.places_, machine, &Place::machine);
    if (place == nodes.places_.end()) {
      nodes.places_.push_back({machine, {}});
      place = std::prev(nodes.places_.end());
    }
    place->nodes.push_back(i);
    nodes.names_.push_back(name);
  }
  auto bundle = read_bundle(loaded.value, path);
  if (!bundle) return bundle.error();
  nodes.bundle_ = std::move(*bundle);
  return nodes;
}

const RemoteNodes::Place& RemoteNodes::place_of(NodeIndex node) const {
  return *std::ranges::find_if(places_, [&](const Place& place) {
    return std::ranges::find(place.nodes, node) != place.nodes.end();
  });
}

// Copies the program to a folder of another name first: once a folder has the program's name, it is
// complete.
Status RemoteNodes::copy_program(const Machine& machine) const {
  const std::string name = bundle_.name(), system = this_system();
  const auto answer =
      machine.ask(fmt::format("uname -sm; if [ -d {} ]; then echo has the program; fi", name));
  if (!answer) return answer.error();
  if (!answer->starts_with(system + "\n"))
    return Error{ErrorCode::kUserInput,
                 fmt::format("{} is a machine of '{}', and the bundle is for '{}'. Build a bundle "
                             "on a machine of that kind, and start all nodes of it from there.",
                             machine.name(), answer->substr(0, answer->find('\n')), system)};
  if (answer->find("has the program") != std::string::npos) return ok_status();
  const std::string size = format_bytes(static_cast<double>(bundle_.bytes));
  const TimePoint begun = std::chrono::steady_clock::now();
  TimePoint said = begun;
  say(fmt::format("{}: the program is copied, {} before it is compressed", machine.name(), size));
  const auto passed = [&](std::uint64_t bytes) {
    const TimePoint now = std::chrono::steady_clock::now();
    if (now - said < kSayAgain) return;
    said = now;
    say(fmt::format("{}: {} of {}, {:.0f} s", machine.name(),
                    format_bytes(static_cast<double>(bytes)), size, to_seconds(now - begun)));
  };
  // Where two runs start at once, each copies to a folder of its own, and one of these gets the
  // name. What a copy that failed has left is removed.
  return machine.send({"tar", "-cf", "-", "-C", bundle_.folder, "."},
                      fmt::format("part={0}.$$; mkdir $part || exit 1\n"
                                  "tar -xzf - -C $part || {{ rm -rf $part; exit 1; }}\n"
                                  "mv -T $part {0} 2>/dev/null || rm -rf $part",
                                  name),
                      true, passed);
}

Status RemoteNodes::copy_files(const Place& place, const std::string& staged, const Mesh& mesh,
                               const std::string& run) const {
  const Machine& machine = place.machine;
  const Status copied =
      machine.send({"tar", "-cf", "-", "-C", staged, "configs", "topologies"}, "tar -xf -", false);
  if (!copied || !mesh.topology().is_encrypted()) return copied;
  Command keys{"tar", "-cf", "-", "-C", mesh.topology().keys_folder, kPublicKeysFile};
  for (const NodeIndex node : place.nodes) keys.push_back(secret_key_file(names_[node]));
  const std::string to = shell_word(keys_at(run));
  return machine.send(keys, fmt::format("mkdir -p {0} && tar -xf - -C {0}", to), false);
}

void RemoteNodes::remove_keys(const Mesh& mesh, const RunFolder& folder) const {
  if (!mesh.topology().is_encrypted()) return;
  const std::string words = "rm -rf " + shell_word(keys_at(name_of(folder)));
  static_cast<void>(at_all(places_, [&](const Place& place) {
    const auto answer = place.machine.ask(words);
    return answer ? ok_status() : Status(answer.error());
  }));
}

Status RemoteNodes::prepare(const Mesh& mesh, const RunOptions& options,
                            const RunFolder& folder) const {
  const auto staging = Staging::make(fs::temp_directory_path());
  if (!staging) return staging.error();
  const std::string run = name_of(folder);
  if (const Status staged = stage(mesh, run, staging->path()); !staged) return staged;
  return at_all(places_, [&](const Place& place) {
    if (const Status there = copy_program(place.machine); !there) return there;
    if (const Status copied = copy_files(place, staging->path(), mesh, run); !copied) return copied;
    return options.resume.empty() ? ok_status() : fetch_from(place, folder, "jsonl");
  });
}

Result<Child> RemoteNodes::start(NodeIndex node, const RunOptions& options,
                                 const RunFolder& folder) const {
  const std::string &name = names_[node], run = name_of(folder);
  const Place& place = place_of(node);
  std::string words = fmt::format(
      "{0}/kimesh node --tell-records --name {1} --config {2} --topology {3}/topology.yaml {4} "
      "runs/{5}",
      bundle_.name(), name, shell_word(config_at(run)), shell_word(topology_at(run)),
      options.resume.empty() ? "--run-folder" : "--resume", shell_word(run));
  if (options.digests) words += " --digests";
  if (!options.page.address.empty()) words += " --watched";
  // What comes in are names of signals for the node; where nothing comes any more, whoever started
  // it is gone. The keys were read when the node began.
  const std::string script = fmt::format(
      "keys={0}; if [ -e \"$keys/{1}\" ]; then set -- --keys \"$keys\"; fi\n"
      "exec 3<&0\n"
      "{2} \"$@\" </dev/null &\n"
      "node=$!\n"
      "{{ while read -r signal; do kill -s \"$signal\" $node; done; kill -s HUP $node; }} <&3 "
      ">/dev/null 2>&1 &\n"
      "reader=$!\n"
      "wait $node; code=$?\n"
      "kill $reader 2>/dev/null; rm -f \"$keys/{1}\"\n"
      "exit $code",
      shell_word(keys_at(run)), secret_key_file(name), words);
  return Child::start_elsewhere(place.machine.command(script), place.machine.name(),
                                {folder.events(name), folder.log(name)});
}

// Keeps the files of the machine's own nodes and nothing else, whatever the machine sends.
Status RemoteNodes::fetch_from(const Place& place, const RunFolder& folder,
                               const std::string& suffix) const {
  const auto staging = Staging::make(folder.path());
  if (!staging) return staging.error();
  std::string patterns;
  for (const NodeIndex node : place.nodes)
    patterns += fmt::format(" nodes/{}.*{}", names_[node], suffix);
  // A pattern that nothing fits stands for itself, and such a file is not there.
  const std::string script = fmt::format(
      "cd runs/{} && for file in{}; do [ ! -e \"$file\" ] || echo \"$file\"; done | "
      "tar -cf - -T -",
      shell_word(name_of(folder)), patterns);
  if (const Status came = place.machine.fetch(script, staging->path()); !came) return came;
  std::error_code code;
  fs::directory_iterator entry(staging->path() + "/nodes", code);
  for (; !code && entry != fs::directory_iterator(); entry.increment(code)) {
    const std::string file = entry->path().filename().string();
    const bool is_own = std::ranges::any_of(
        place.nodes, [&](NodeIndex node) { return file.starts_with(names_[node] + "."); });
    std::error_code unknown;
    if (entry->path().extension() == ".lock") continue;  // a node that was killed has left it
    if (!is_own || entry->is_symlink(unknown) || !entry->is_regular_file(unknown)) continue;
    const Status kept = keep_file(entry->path(), folder.path() + "/nodes/" + file);
    if (!kept) return kept;
  }
  if (!code || code == std::errc::no_such_file_or_directory) return ok_status();
  return Error{ErrorCode::kIo,
               fmt::format("{}: what came cannot be kept: {}", folder.path(), code.message())};
}

Status RemoteNodes::fetch(const RunFolder& folder) const {
  return at_all(places_, [&](const Place& place) { return fetch_from(place, folder, ""); });
}

}  // namespace kimesh::cli
