// hosts.yaml: on which machine each node of a mesh runs, and how ssh reaches it.
//
//   folder: kimesh                       on each machine; a relative path begins at the user's home
//   hosts:
//     a: {ssh: anna@192.0.2.7}
//     b: {ssh: box, folder: /scratch/kimesh, options: [-p, "2222"]}
#pragma once

#include <string>
#include <vector>

#include "kimesh/config/places.h"
#include "kimesh/config/problem.h"

namespace kimesh {

class Complaints;
class Keys;
struct YamlValue;

// The machine of one node.
struct HostSpec {
  std::string name;                  // the node's name
  std::string ssh;                   // destination: HOST, USER@HOST or a name of ssh's config
  std::string folder;                // on that machine
  std::vector<std::string> options;  // of ssh

  void describe(Keys& keys);
};

struct HostsFile {
  std::string folder = "kimesh";     // for hosts that name none
  std::vector<std::string> options;  // of ssh for all hosts; they come before a host's own
  std::string bundle;                // folder of the program's bundle; empty: the running one's
  std::vector<HostSpec> hosts;       // in the file's order, with the two defaults filled in
  Places places;

  void describe(Keys& keys);
};

// Reads and checks the file whole. Errors: in `problems`.
[[nodiscard]] Loaded<HostsFile> load_hosts(const std::string& path);
// The same of a file that was read before: what read_yaml returned (null: nothing) and what it
// complained of.
[[nodiscard]] Loaded<HostsFile> load_hosts(const YamlValue* root, Complaints complaints);

}  // namespace kimesh
