// hosts.yaml: on which machine each node of a mesh runs, and how ssh reaches it.
//
//   folder: kimesh                       on each machine; from the home of who logs in
//   hosts:
//     a: {ssh: anna@192.0.2.7}
//     b: {ssh: box, folder: /scratch/kimesh, options: [-p, "2222"]}
#pragma once

#include <string>
#include <vector>

#include "kimesh/config/places.h"
#include "kimesh/config/problem.h"

namespace kimesh {

class Keys;

// The machine of one node.
struct HostSpec {
  std::string name;                  // of the node
  std::string ssh;                   // what ssh connects to: HOST, USER@HOST, a name of its config
  std::string folder;                // on that machine
  std::vector<std::string> options;  // of ssh

  void describe(Keys& keys);
};

struct HostsFile {
  std::string folder = "kimesh";     // of hosts that name none
  std::vector<std::string> options;  // before those of each host
  std::string bundle;                // folder of the program's bundle; empty: nobody says
  std::vector<HostSpec> hosts;       // in the order of the file; what one leaves out is filled in
  Places places;

  void describe(Keys& keys);
};

// Reads and checks the file whole. Errors: in `problems`.
[[nodiscard]] Loaded<HostsFile> load_hosts(const std::string& path);

}  // namespace kimesh
