#include "kimesh/mesh/keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "key_files.h"

namespace kimesh {
namespace {

std::string path_in(const std::string& folder, const std::string& file) {
  return (std::filesystem::path(folder) / file).string();
}

std::string named(const TopologyFile& topology) {
  return topology.places.file().empty() ? "TOPOLOGY" : topology.places.file();
}

// A list of a mesh of another topology may hold more nodes; their keys are not let in.
Result<PublicKeys> keys_of_all(const TopologyFile& topology) {
  const std::string path = path_in(topology.keys_folder, kPublicKeysFile);
  const std::string remedy =
      fmt::format("kimesh keygen {} --out {}", named(topology), topology.keys_folder);
  if (!file_exists(path))
    return wrong(
        fmt::format("{}: its links are encrypted, and there is no list of keys at {}. "
                    "Make keys with {}, or write security: none if everybody who reaches "
                    "the nodes may read and change the training.",
                    named(topology), path, remedy));
  const auto listed = read_public_keys(path);
  if (!listed) return listed.error();
  PublicKeys keys;
  std::vector<std::string> missing;
  for (const NodeSpec& node : topology.nodes) {
    const auto key = listed->find(node.name);
    if (key == listed->end())
      missing.push_back(node.name);
    else
      keys.insert(*key);
  }
  if (missing.empty()) return keys;
  return wrong(
      fmt::format("{} has no key of {}. Make what is missing with {}, and give the list "
                  "to all machines.",
                  path, fmt::join(missing, ", "), remedy));
}

Result<CurvePair> own_pair(const TopologyFile& topology, NodeIndex self, const PublicKeys& keys) {
  const std::string& name = topology.nodes[self].name;
  const std::string path = path_in(topology.keys_folder, secret_key_file(name));
  auto secret = read_secret_key(path);
  if (!secret) return secret.error();
  auto own = public_key_of(*secret);
  if (!own) return own.error();
  if (*own == keys.at(name)) return CurvePair{std::move(*own), std::move(*secret)};
  return wrong(
      fmt::format("{} is not the secret of the key that {} gives to node {}. Copy the list "
                  "that was written with it to all machines.",
                  path, path_in(topology.keys_folder, kPublicKeysFile), name));
}

// What is to be done. The public keys of nodes that have a secret key only go to `keys`.
Result<MadeKeys> what_is_missing(const std::string& folder, const std::vector<std::string>& nodes,
                                 const std::vector<std::string>& renewed, PublicKeys& keys) {
  MadeKeys wanted;
  for (const std::string& name : renewed)
    if (std::ranges::find(nodes, name) == nodes.end())
      return wrong(
          fmt::format("the topology has no node '{}' whose key could be renewed. Write one "
                      "of: {}.",
                      name, fmt::join(nodes, ", ")));
  for (const std::string& name : nodes) {
    const std::string secret = path_in(folder, secret_key_file(name));
    if (std::ranges::find(renewed, name) != renewed.end()) {
      wanted.made.push_back(name);
    } else if (keys.contains(name)) {
      continue;
    } else if (file_exists(secret)) {
      const auto key = read_secret_key(secret);
      if (!key) return key.error();
      keys[name] = *public_key_of(*key);
      wanted.listed.push_back(name);
    } else {
      wanted.made.push_back(name);
    }
  }
  return wanted;
}

}  // namespace

std::string secret_key_file(const std::string& node) {
  return node + ".secret";
}

Result<MadeKeys> make_keys(const std::string& folder, const std::vector<std::string>& nodes,
                           const std::vector<std::string>& renewed) {
  if (const Status there = has_curve(); !there) return there.error();
  const std::string list = path_in(folder, kPublicKeysFile);
  PublicKeys keys;
  if (file_exists(list)) {
    auto known = read_public_keys(list);
    if (!known) return known.error();
    keys = std::move(*known);
  }
  auto wanted = what_is_missing(folder, nodes, renewed, keys);
  if (!wanted) return wanted;
  if (wanted->made.empty() && wanted->listed.empty()) return wanted;
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed)
    return Error{ErrorCode::kIo,
                 fmt::format("cannot make the folder {}: {}", folder, failed.message())};
  for (const std::string& name : wanted->made) {
    CurvePair pair = make_curve_pair();
    const Status written =
        write_secret_key(path_in(folder, secret_key_file(name)), pair.secret_key);
    if (!written) return written.error();
    keys[name] = std::move(pair.public_key);
  }
  if (const Status written = write_public_keys(list, keys); !written) return written.error();
  return wanted;
}

Result<std::optional<CurveKeys>> load_keys(const TopologyFile& topology, NodeIndex self) {
  if (!topology.is_encrypted()) return std::optional<CurveKeys>();
  if (const Status there = has_curve(); !there) return there.error();
  auto allowed = keys_of_all(topology);
  if (!allowed) return allowed.error();
  auto own = own_pair(topology, self, *allowed);
  if (!own) return own.error();
  return std::optional(CurveKeys{std::move(*own), std::move(*allowed)});
}

Status check_keys(const TopologyFile& topology) {
  if (!topology.is_encrypted()) return ok_status();
  if (const Status there = has_curve(); !there) return there.error();
  const auto keys = keys_of_all(topology);
  if (!keys) return keys.error();
  for (NodeIndex i = 0; i < topology.nodes.size(); ++i) {
    if (!file_exists(path_in(topology.keys_folder, secret_key_file(topology.nodes[i].name))))
      continue;
    if (const auto own = own_pair(topology, i, *keys); !own) return own.error();
  }
  return ok_status();
}

std::string security_notice(const TopologyFile& topology) {
  if (topology.is_encrypted() || !topology.is_reachable()) return "";
  return fmt::format(
      "{} says security: none: whoever reaches the nodes can read the training, "
      "change it and end it",
      named(topology));
}

}  // namespace kimesh
