// The nodes of a mesh on other machines: `kimesh up --ssh HOSTS`.
//
// In the folder of each machine (hosts_file.h):
//   bundle-DIGEST/           the program, copied where it is not there yet
//   configs/RUN.yaml         the config: a relative path in it counts from configs/
//   topologies/RUN/          the topology, and traces that it names
//   keys-RUN/                the secret keys of its nodes and the list of public keys, until these
//                            end
//   runs/RUN/                records, checkpoints and models of its nodes
// Records come back line by line as the output of each node, so that the run's folder here grows
// as that of a run on one machine does; the rest comes at the end, checkpoints stay there.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "child.h"
#include "commands.h"
#include "kimesh/mesh/mesh.h"
#include "kimesh/run/hosts_file.h"
#include "machine.h"

namespace kimesh::cli {

class RemoteNodes {
 public:
  // Reads the file of hosts, whose every problem it prints. Errors: UserInput, where a node has no
  // host or there is no bundle.
  [[nodiscard]] static Result<RemoteNodes> open(const std::string& path,
                                                const TopologyFile& topology);

  // Copies to each machine what it does not have: the program, the run's files and keys. Says what
  // takes long. A run that goes on gets the records that are there. Errors: of all machines.
  [[nodiscard]] Status prepare(const Mesh& mesh, const RunOptions& options,
                               const RunFolder& folder) const;
  // Removes the keys that `prepare` has copied, once no node runs. A machine that cannot be reached
  // keeps them.
  void remove_keys(const Mesh& mesh, const RunFolder& folder) const;
  // Starts a node. Its records go to the folder, and so do the words of node and ssh. Errors: Io.
  [[nodiscard]] Result<Child> start(NodeIndex node, const RunOptions& options,
                                    const RunFolder& folder) const;
  // Brings back what the nodes have left. Errors: of all machines.
  [[nodiscard]] Status fetch(const RunFolder& folder) const;

 private:
  struct Bundle {
    std::string folder, digest;
    std::uint64_t bytes = 0;
    [[nodiscard]] std::string name() const { return "bundle-" + digest; }
  };
  // Nodes of one machine share its folder.
  struct Place {
    Machine machine;
    std::vector<NodeIndex> nodes;
  };

  [[nodiscard]] static Result<Bundle> read_bundle(const HostsFile& hosts, const std::string& path);
  [[nodiscard]] const Place& place_of(NodeIndex node) const;
  [[nodiscard]] Status copy_program(const Machine& machine) const;
  [[nodiscard]] Status copy_files(const Place& place, const std::string& staged, const Mesh& mesh,
                                  const std::string& run) const;
  [[nodiscard]] Status fetch_from(const Place& place, const RunFolder& folder,
                                  const std::string& suffix) const;

  Bundle bundle_;
  std::vector<Place> places_;
  std::vector<std::string> names_;  // of nodes
};

}  // namespace kimesh::cli
