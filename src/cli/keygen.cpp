// kimesh keygen TOPOLOGY: the keys of a mesh's nodes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "commands.h"
#include "job.h"
#include "kimesh/mesh/keys.h"
#include "outputs.h"
#include "say.h"

namespace kimesh::cli {

int keygen(const KeygenOptions& options) {
  const auto topology = load_topology_alone(options.topology);
  if (!topology) return kExitUser;
  std::vector<std::string> names;
  for (const NodeSpec& node : topology->nodes) names.push_back(node.name);
  const std::string folder = options.folder.empty() ? topology->keys_folder : options.folder;
  const std::string option = options.folder.empty() ? options.topology + ": keys" : "--out";
  if (const Status place = check_output_folder(option, folder); !place) return fail(place.error());
  const auto keys = make_keys(folder, names, options.renewed);
  if (!keys) return fail(keys.error());
  if (keys->made.empty() && keys->listed.empty())
    return fail(
        {ErrorCode::kUserInput,
         fmt::format("{} has keys of all nodes already ({}), and nothing was written. Write "
                     "--renew NODE for each node that shall have a new one.",
                     folder, fmt::join(names, ", "))});
  if (!keys->made.empty())
    say(fmt::format("new keys in {}: {}", folder, fmt::join(keys->made, ", ")));
  if (!keys->listed.empty())
    say(fmt::format("keys that were there, now in the list: {}", fmt::join(keys->listed, ", ")));
  say(
      fmt::format("give {} to all machines, and each secret to the machine of its node alone, by a "
                  "way that nobody else reads; nodes take new keys when they start",
                  kPublicKeysFile));
  if (!topology->is_encrypted())
    say(fmt::format("{} does not use them: write security: curve there", options.topology));
  return kExitDone;
}

}  // namespace kimesh::cli
