// Machines for tests: sshd's on this one's loopback, each with a home of its own, that let in one
// key. They run in mount namespaces, where /etc/passwd and /run are of their own, so that nothing
// of the machine's own sshd is needed or touched. Needs root, and the package openssh-server, which
// `./dev test` unpacks into build/sshd without installing it.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/command.h"
#include "tests/e2e/program.h"

namespace kimesh::test {

inline constexpr const char* kSshd = KIMESH_SOURCE_DIR "/build/sshd";

// $1: folder of the machine, $2: where it listens, $3: folder of the keys, $4: the unpacked package
inline constexpr const char* kServeSsh = R"(set -e
mkdir -p "$1/home/.ssh"
cp "$3/user.pub" "$1/home/.ssh/authorized_keys"
{ echo "root:x:0:0::$1/home:/bin/sh"; echo "sshd:x:101:65534::/run/sshd:/bin/false"; } >"$1/passwd"
mount --make-rprivate /
mount --bind "$1/passwd" /etc/passwd
mount -t tmpfs tmpfs /run
mkdir -p /run/sshd
export LD_LIBRARY_PATH="$4/usr/lib/x86_64-linux-gnu:$4/lib/x86_64-linux-gnu"
exec "$4/usr/sbin/sshd" -D -e -f /dev/null -o ListenAddress="$2" -o HostKey="$3/host" \
  -o PidFile=none -o StrictModes=no -o UsePAM=no
)";

class SshServers {
 public:
  // Makes the keys. `missing` says which program is not there.
  explicit SshServers(const Scratch& scratch) : scratch_(scratch), keys_(scratch.path() + "/keys") {
    if (!std::filesystem::exists(std::string(kSshd) + "/usr/sbin/sshd"))
      missing = "no sshd: `./dev test` unpacks one into build/sshd";
    if (!missing.empty()) return;
    std::filesystem::create_directory(keys_);
    scratch.write("serve.sh", kServeSsh);
    for (const char* key : {"host", "user"})
      if (run_command({"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", keys_ + "/" + key})
              .code != 0)
        missing = "no ssh-keygen: install openssh-client";
  }

  // Starts a further machine. Returns its number, from 0. `why_not` says why it does not run.
  int start() {
    const int number = static_cast<int>(servers_.size());
    const std::string folder = scratch_.path() + "/machine" + std::to_string(number);
    std::filesystem::create_directory(folder);
    servers_.push_back(std::make_unique<Command>(
        std::vector<std::string>{"unshare", "--mount", "sh", scratch_.path() + "/serve.sh", folder,
                                 own_host() + ":" + std::to_string(port(number)), keys_, kSshd}));
    if (!servers_.back()->says("Server listening"))
      why_not = "no sshd runs here: " + servers_.back()->said();
    return number;
  }
  void stop_all() { servers_.clear(); }

  // What a file of hosts says of a node on that machine.
  [[nodiscard]] std::string host(int number) const {
    return "{ssh: " + own_host() + ", options: [-p, \"" + std::to_string(port(number)) + "\"]}";
  }
  [[nodiscard]] std::string options() const {
    return "options: [-F, /dev/null, -i, " + keys_ +
           "/user, -o, StrictHostKeyChecking=no, -o, UserKnownHostsFile=/dev/null, -o, "
           "LogLevel=ERROR]\n";
  }
  // The home folder of the user who logs in there.
  [[nodiscard]] std::string home(int number) const {
    return scratch_.path() + "/machine" + std::to_string(number) + "/home";
  }

  std::string missing, why_not;

 private:
  [[nodiscard]] static int port(int number) { return 2201 + number; }
  const Scratch& scratch_;
  std::string keys_;
  std::vector<std::unique_ptr<Command>> servers_;
};

}  // namespace kimesh::test
