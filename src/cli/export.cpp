// kimesh export compose|kubernetes TOPOLOGY: files that start that mesh in containers.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "commands.h"
#include "export_text.h"
#include "job.h"
#include "kimesh/mesh/keys.h"
#include "kimesh/objective/plugin_model.h"
#include "kimesh/records/text_file.h"
#include "kimesh/topology/placed_topology.h"
#include "kimesh/util/units.h"
#include "machine.h"
#include "outputs.h"
#include "say.h"

namespace kimesh::cli {
namespace {

constexpr std::size_t kFileBytesMax = 16 << 20;  // far more than the loaders take
// Pods come up minutes apart, and one that has given up is started again after ever longer pauses:
// nodes that wait a minute each may never meet.
constexpr const char* kKubernetesStart = "start_timeout: 3600s\n";
constexpr std::size_t kObjectNameMax = 50;
constexpr std::size_t kConfigMapBytesMax = 1 << 20;  // Kubernetes takes no more in one ConfigMap

// The addresses by which the containers reach each other.
std::vector<NodePlace> places_of(const ExportOptions& options, const TopologyFile& topology) {
  std::vector<NodePlace> places;
  for (std::size_t i = 0; i < topology.nodes.size(); ++i)
    places.push_back({fmt::format("tcp://0.0.0.0:{}", kExportPort),
                      options.target == ExportOptions::Target::kCompose
                          ? fmt::format("tcp://{}:{}", topology.nodes[i].name, kExportPort)
                          : fmt::format("tcp://{0}-{1}.{0}:{2}", options.name, i, kExportPort)});
  return places;
}

Result<ExportedMesh> exported_mesh(const ExportOptions& options, const MeshFiles& files) {
  ExportedMesh mesh;
  mesh.image = options.image;
  mesh.name = options.name;
  mesh.memory_bytes = options.memory_bytes;
  mesh.disk_bytes = options.disk_bytes;
  // Containers reach each other over a network, whatever addresses the topology has.
  mesh.is_encrypted = files.topology.security != Security::kNone;
  if (mesh.is_encrypted && ::geteuid() != 0)
    mesh.user = fmt::format("{}:{}", ::geteuid(), ::getegid());
  for (const NodeSpec& node : files.topology.nodes) mesh.nodes.push_back(node.name);
  const auto placed = place_topology(options.topology, places_of(options, files.topology));
  if (!placed) return placed.error();
  std::string text = placed->text;
  if (!text.ends_with('\n')) text += '\n';
  if (options.target == ExportOptions::Target::kKubernetes &&
      !files.topology.places.is_given("start_timeout"))
    text += kKubernetesStart;
  mesh.files.push_back({"topology.yaml", std::move(text)});
  mesh.inputs.push_back(options.topology);
  std::vector<PlacedTopology::Trace> others = placed->traces;
  others.push_back({options.config, "config.yaml"});
  for (const auto& other : others) {
    auto content = read_whole(other.path, kFileBytesMax);
    if (!content) return content.error();
    mesh.files.push_back({other.name, std::move(*content)});
    mesh.inputs.push_back(other.path);
  }
  return mesh;
}

// What the user has to mount, since the files do not hold it: "data at mnist".
std::vector<std::string> what_is_to_mount(const RunConfig& config) {
  if (const PluginOptions* plugin = config.plugin())
    return {fmt::format("library at {}, with its data", plugin->library)};
  std::vector<std::string> all;
  if (const std::string file = config.model.kind->file(); !file.empty())
    all.push_back("model at " + file);
  if (!config.model.weights.empty()) all.push_back("weights at " + config.model.weights);
  std::vector<std::string> mounted;
  for (const NeededFile& file : config.data.kind->files()) {
    const bool is_below = std::ranges::any_of(mounted, [&](const std::string& folder) {
      return file.path.starts_with((std::filesystem::path(folder) / "").string());
    });
    if (is_below || std::ranges::find(mounted, file.path) != mounted.end()) continue;
    mounted.push_back(file.path);
    all.push_back((file.key == "test" ? "test data at " : "data at ") + file.path);
  }
  return all;
}

// A service's name, which is a label of the DNS, with room for a pod's number behind it.
bool is_object_name(const std::string& name) {
  const auto is_small = [](char c) { return c >= 'a' && c <= 'z'; };
  return !name.empty() && name.size() <= kObjectNameMax && is_small(name.front()) &&
         name.back() != '-' && std::ranges::all_of(name, [&](char c) {
           return is_small(c) || (c >= '0' && c <= '9') || c == '-';
         });
}

// Containers find each other by their nodes' names. A resolver takes such a name for an address,
// and asks no name server.
bool names_no_other_host(const std::string& name) {
  in_addr address{};
  return name == "localhost" || ::inet_aton(name.c_str(), &address) != 0;
}

// A sentence why the mesh cannot be exported; empty: it can be.
std::string refusal(const ExportOptions& options, const MeshFiles& files) {
  if (files.config.quadratic)
    return "a quadratic runs in `kimesh simulate` only. Write model and data instead.";
  const auto is_unprintable = [](char c) { return static_cast<unsigned char>(c) < ' '; };
  if (!is_object_name(options.name))
    return fmt::format(
        "--name {} cannot name Kubernetes' objects. Use up to {} small letters, "
        "digits and '-', with a letter in front and no '-' at the end.",
        options.name, kObjectNameMax);
  if (options.target == ExportOptions::Target::kCompose)
    for (const NodeSpec& node : files.topology.nodes)
      if (names_no_other_host(node.name))
        return fmt::format(
            "no container finds node {} by its name, which is an address of its own to resolvers. "
            "Give it another name in {}.",
            node.name, options.topology);
  if (std::ranges::any_of(options.image, is_unprintable))
    return "--image names no image. Write a name such as kimesh:latest.";
  return "";
}

// Refuses to write over a file that the mesh is made of.
Status spare_inputs(const std::string& folder, const std::vector<ExportedFile>& written,
                    const std::vector<std::string>& inputs) {
  for (const ExportedFile& file : written) {
    const std::string target = folder + "/" + file.name;
    if (!is_one_of(target, inputs)) continue;
    return Error{ErrorCode::kUserInput,
                 fmt::format("{} is one of the files that are exported, and would be written over. "
                             "Name another folder with --output.",
                             target)};
  }
  return ok_status();
}

Status write_files(const std::string& folder, const std::vector<ExportedFile>& files) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed)
    return Error{ErrorCode::kIo,
                 fmt::format("cannot make the folder {}: {}", folder, failed.message())};
  for (const ExportedFile& file : files) {
    const Status written = write_whole(folder + "/" + file.name, std::string_view(file.text));
    if (!written.ok()) return written;
  }
  return ok_status();
}

// Makes those keys of the exported mesh that are not there yet. Compose mounts them as they are, so
// that the containers' user must own them: who exports, or for root the image's.
Status add_keys(const ExportOptions& options, const ExportedMesh& mesh) {
  if (!mesh.is_encrypted) {
    complain(
        "the topology says security: none: whoever reaches the containers can read the training, "
        "change it and end it.");
    return ok_status();
  }
  const std::string folder = fmt::format("{}/{}", options.output, kExportKeys);
  const auto made = make_keys(folder, mesh.nodes);
  if (!made) return made.error();
  for (const std::string& node : mesh.nodes) {
    const std::string path = folder + "/" + secret_key_file(node);
    if (::geteuid() != 0 || ::chown(path.c_str(), kImageUser, kImageUser) == 0) continue;
    return Error{ErrorCode::kIo, fmt::format("{} cannot be given to the user of the image: {}",
                                             path, std::strerror(errno))};
  }
  say(fmt::format("the keys of its nodes are in {}: they are secrets", folder));
  if (options.target == ExportOptions::Target::kKubernetes)
    say(fmt::format("first: kubectl create secret generic {} --from-file={}", mesh.name,
                    shell_word(folder)));
  return ok_status();
}

}  // namespace

int export_mesh(const ExportOptions& options) {
  if (const Status place = check_output_folder("--output", options.output); !place)
    return fail(place.error());
  const auto files = load_copied_files(options.config, options.topology);
  if (!files) return kExitUser;
  if (const Status brought = has_objective(*files); !brought) return fail(brought.error());
  if (const std::string why = refusal(options, *files); !why.empty()) {
    complain(why);
    return kExitUser;
  }
  const auto mesh = exported_mesh(options, *files);
  if (!mesh) return fail(mesh.error());

  std::vector<ExportedFile> written;
  const bool compose = options.target == ExportOptions::Target::kCompose;
  if (compose) {
    written = mesh->files;
    written.push_back({"docker-compose.yml", compose_text(*mesh)});
  } else {
    written.push_back({"kubernetes.yaml", kubernetes_text(*mesh)});
    std::size_t bytes = 0;
    for (const ExportedFile& file : mesh->files) bytes += file.text.size();
    if (bytes > kConfigMapBytesMax)
      return fail({ErrorCode::kUserInput,
                   fmt::format("the files of this mesh take {} bytes, and Kubernetes takes {} in a "
                               "ConfigMap. Shorten the traces.",
                               bytes, kConfigMapBytesMax)});
  }
  if (const Status spared = spare_inputs(options.output, written, mesh->inputs); !spared)
    return fail(spared.error());
  if (const Status done = write_files(options.output, written); !done.ok())
    return fail(done.error());
  if (const Status done = add_keys(options, *mesh); !done.ok()) return fail(done.error());
  const std::string file = shell_word(options.output + "/" + written.back().name);
  say(compose ? fmt::format("start it: docker-compose -f {} up", file)
              : fmt::format("start it: kubectl apply --server-side -f {}", file));
  say(fmt::format("a node may take {} of memory{}: --memory{} changes it",
                  format_bytes(static_cast<double>(options.memory_bytes)),
                  compose ? ""
                          : fmt::format(" and {} of disk",
                                        format_bytes(static_cast<double>(options.disk_bytes))),
                  compose ? "" : " and --disk"));
  for (const std::string& needed : what_is_to_mount(files->config))
    say(
        fmt::format("not in these files: {}. Mount it in each container where mesh/config.yaml "
                    "looks for it",
                    needed));
  return kExitDone;
}

}  // namespace kimesh::cli
