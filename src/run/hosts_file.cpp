#include "kimesh/run/hosts_file.h"

#include <fmt/format.h>

#include "kimesh/config/key_reader.h"
#include "kimesh/config/keys.h"
#include "kimesh/config/map_reader.h"
#include "kimesh/config/yaml_tree.h"
#include "kimesh/topology/topology_file.h"

namespace kimesh {
namespace {

constexpr ListRule kOptionsRule{0, 32, "options of ssh", "[-p, \"2222\"]"};

constexpr EntryRule kHostRule{
    "host", "NODE", "a: {ssh: anna@192.0.2.7}", "names of nodes", nullptr, 1, kNodesMax};

// ssh takes a word that begins with '-' for an option.
bool is_destination(const std::string& text) {
  return !text.empty() && text.front() != '-';
}

// Refuses ~, which no shell resolves, since the folder's name is quoted.
void check_folder(Keys& keys, const std::string& folder) {
  keys.check(!folder.starts_with('~'), "folder",
             fmt::format("folder {} begins with ~, which nothing resolves", quoted(folder)),
             "Leave ~/ out: a relative path begins at the home of who logs in");
}

}  // namespace

void HostSpec::describe(Keys& keys) {
  keys.require("ssh", "ssh: with what ssh connects to, such as anna@192.0.2.7");
  keys.text("ssh", ssh, "what ssh connects to: HOST, USER@HOST or a name of ssh's own config");
  keys.check(!keys.is_given("ssh") || keys.is_wrong("ssh") || is_destination(ssh), "ssh",
             ssh.empty() ? "ssh is empty"
                         : fmt::format("ssh takes {} for an option of its own", quoted(ssh)),
             "Write what it connects to, such as anna@192.0.2.7; options go to `options`");
  keys.text("folder", folder, "where the program, keys and runs go on that machine");
  check_folder(keys, folder);
  keys.texts("options", options, kOptionsRule, "of ssh, for this machine");
}

void HostsFile::describe(Keys& keys) {
  keys.text("folder", folder,
            "where the program, keys and runs go on each machine; relative: from the home of who "
            "logs in");
  check_folder(keys, folder);
  keys.texts("options", options, kOptionsRule, "of ssh, for all machines, such as [-i, mesh_key]");
  keys.path("bundle", bundle,
            "the program as `./dev bundle` makes it; without it, the one that is running");
  HostSpec defaults;
  keys.require("hosts", "hosts: with one line per node");
  keys.entries("hosts", hosts, defaults, kHostRule, "the machine of each node");
}

Loaded<HostsFile> load_hosts(const std::string& path) {
  Complaints complaints(path);
  const auto root = read_yaml(path, complaints);
  return load_hosts(root ? &*root : nullptr, std::move(complaints));
}

Loaded<HostsFile> load_hosts(const YamlValue* root, Complaints complaints) {
  Loaded<HostsFile> loaded;
  HostsFile& file = loaded.value;
  file.places = Places(complaints.file());
  if (root != nullptr) {
    read_keys(*root, "", complaints, file.places, [&](Keys& keys) { file.describe(keys); });
  }
  for (HostSpec& host : file.hosts) {
    if (host.folder.empty()) host.folder = file.folder;
    host.options.insert(host.options.begin(), file.options.begin(), file.options.end());
  }
  loaded.problems = complaints.take();
  return loaded;
}

}  // namespace kimesh
