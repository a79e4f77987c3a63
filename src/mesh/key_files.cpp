#include "key_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "kimesh/config/map_reader.h"
#include "kimesh/config/yaml_tree.h"
#include "kimesh/link/curve.h"
#include "kimesh/records/text_file.h"
#include "kimesh/util/fd.h"
#include "kimesh/util/private_file.h"

namespace kimesh {
namespace {

constexpr std::size_t kSecretBytesMax = 128;  // a key, and the line's end, whatever it is

}  // namespace

bool file_exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

Result<PublicKeys> read_public_keys(const std::string& path) {
  Complaints complaints(path);
  const auto list = read_yaml(path, complaints);
  if (!list) return wrong(to_string(complaints.take().front()));
  PublicKeys keys;
  std::map<std::string, std::string> names;
  for (const YamlMember& member : list->members) {
    const std::string& key = member.value.text;
    if (!is_curve_key(key))
      return wrong(fmt::format("{}:{}: {} has no key. Write 40 characters, as kimesh keygen does.",
                               path, member.line, kimesh::quoted(member.key)));
    if (const auto [other, is_new] = names.emplace(key, member.key); !is_new)
      return wrong(fmt::format("{}:{}: {} and {} have the same key. Renew one of them.", path,
                               member.line, kimesh::quoted(other->second),
                               kimesh::quoted(member.key)));
    if (!keys.emplace(member.key, key).second)
      return wrong(fmt::format("{}:{}: {} stands there twice. Remove one of the lines.", path,
                               member.line, kimesh::quoted(member.key)));
  }
  if (keys.empty())
    return wrong(path +
                 ": it lists no keys. Write NAME: \"KEY\", a line a node, as kimesh keygen "
                 "does.");
  return keys;
}

Status write_public_keys(const std::string& path, const PublicKeys& keys) {
  std::string text =
      "# The public keys of the nodes of a mesh, by `kimesh keygen`: the same list on all machines."
      "\n# It is no secret. A node reads it when it starts.\n";
  for (const auto& [name, key] : keys) text += fmt::format("\"{}\": \"{}\"\n", name, key);
  if (const Status written = write_whole(path, std::string_view(text)); !written) return written;
  std::error_code failed;
  std::filesystem::permissions(path, std::filesystem::perms{0644}, failed);
  if (!failed) return ok_status();
  return Error{ErrorCode::kIo, fmt::format("{}: {}", path, failed.message())};
}

Result<std::string> read_secret_key(const std::string& path) {
  const auto key = read_private_file({path, "secret key",
                                      "Copy it to this machine, or make a new one with kimesh "
                                      "keygen TOPOLOGY --renew NODE.",
                                      kSecretBytesMax});
  if (!key || is_curve_key(*key)) return key;
  return wrong(fmt::format("{} holds no key. Copy the file that kimesh keygen has written.", path));
}

Status write_secret_key(const std::string& path, const std::string& key) {
  const std::string beside = path + ".tmp";
  ::unlink(beside.c_str());  // of an earlier attempt, with whatever mode
  const Fd file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const std::string line = key + "\n";
  const bool written =
      file && ::write(file.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size()) &&
      ::fsync(file.get()) == 0 && ::rename(beside.c_str(), path.c_str()) == 0;
  if (written) return ok_status();
  const int why = errno;
  if (file) ::unlink(beside.c_str());
  return Error{ErrorCode::kIo, fmt::format("{} cannot be written: {}", path, std::strerror(why))};
}

}  // namespace kimesh
