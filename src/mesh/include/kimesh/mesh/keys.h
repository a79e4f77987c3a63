// The key files of a mesh whose links are encrypted, in one folder:
//
//   NAME.secret   the secret key of node NAME, mode 0600: on the machine of that node alone
//   public.yaml   the list of the public keys of all nodes, by name: the same on all machines
//
// A node lets in who holds a key of the list, and dials who holds the key that the list gives to
// its name. Files are read when a node starts: a key that is removed or renewed counts from the
// next start on. Nothing of them goes to a run's folder, a log or a sentence.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kimesh/link/curve.h"
#include "kimesh/topology/topology_file.h"
#include "kimesh/util/ids.h"
#include "kimesh/util/result.h"

namespace kimesh {

inline constexpr const char* kPublicKeysFile = "public.yaml";
[[nodiscard]] std::string secret_key_file(const std::string& node);  // "a.secret"

// What make_keys has done, by the names of nodes; both empty: all had pairs, nothing was written.
struct MadeKeys {
  std::vector<std::string> made;    // have a new pair
  std::vector<std::string> listed;  // had a secret key, and are now in the list
};
// Makes pairs for those of `nodes` that have none, and new ones for those of `renewed`, in
// `folder`, which is made where it is missing. A node whose secret key is there, or that is in the
// list, has a pair; no other pair is replaced. Errors: UserInput (`renewed` names no node; a file
// that is no list or no key; no CURVE), before anything is written; Io.
[[nodiscard]] Result<MadeKeys> make_keys(const std::string& folder,
                                         const std::vector<std::string>& nodes,
                                         const std::vector<std::string>& renewed = {});

// The keys of node `self`, from topology.keys_folder. Nothing: the links are not encrypted. Errors:
// UserInput, a sentence with the remedy: no list, a node without a key, a key of two nodes, no
// secret key, one that others can read, or one that does not belong to the list.
[[nodiscard]] Result<std::optional<CurveKeys>> load_keys(const TopologyFile& topology,
                                                         NodeIndex self);

// Whether the list has keys of all nodes, and those secret keys that lie here are right. Errors: as
// load_keys.
[[nodiscard]] Status check_keys(const TopologyFile& topology);

// What a reader of the topology should know before a start: its links are not encrypted although
// other machines reach them. Empty: nothing.
[[nodiscard]] std::string security_notice(const TopologyFile& topology);

}  // namespace kimesh
