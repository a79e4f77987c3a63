// A run that goes on under another topology: checkpoints for the nodes that there are, from those
// of the nodes that there were. And a replay that begins with a checkpoint.
#include "kimesh/executor/carry_over.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "kimesh/mesh/mesh.h"
#include "kimesh/run/options.h"
#include "kimesh/util/digest.h"
#include "lineage.h"
#include "replay_states.h"

namespace kimesh {
namespace {

Error nothing_to_go_on_from(const std::string& where) {
  return {ErrorCode::kUserInput, where + ": there is nothing to go on from"};
}

Status write_state(const RunFolder& folder, const CheckpointOwner& owner, Round round,
                   std::span<const std::byte> state) {
  const std::string path = folder.checkpoints(owner.node);
  std::error_code code;
  std::filesystem::create_directories(path, code);
  if (code) return Error{ErrorCode::kIo, path + " cannot be made: " + code.message()};
  return write_checkpoint(checkpoint_path(path, round), owner, round, state);
}

}  // namespace

Result<CarriedOver> Mesh::carry_over(const OldRun& old, const NewRunFolder& to,
                                     const std::vector<std::string>& command) const {
  const auto plan = make_plan(old.topology, objective_->layout(), shard_elements_max(config()));
  if (!plan) return plan.error();
  const std::uint64_t topology_digest = digest_text(old.topology.canonical());
  CarriedOver carried;
  std::vector<CheckpointPlace> places;
  for (const std::string& name : plan->view.nodes) {
    const auto found = std::ranges::find_if(old.folders, [&](const RunFolder& folder) {
      return !checkpoint_rounds(folder.checkpoints(name)).empty();
    });
    if (found == old.folders.end())
      carried.lost.push_back(name);
    else
      places.push_back({found->checkpoints(name),
                        {std::string(version()), name, config_digest(), topology_digest}});
  }
  const std::string& path = old.folders.front().path();
  if (places.empty()) return nothing_to_go_on_from(path + " holds no checkpoint of a node");
  const auto round = kimesh::common_checkpoint(places);
  if (!round) return round.error();
  if (!*round)
    return nothing_to_go_on_from(path + " has no checkpoint that is sound at all its nodes");
  carried.round = **round;

  CarryOver over(*plan);
  for (const CheckpointPlace& place : places)
    if (const Status added = add_old_node(old.topology, place, carried.round, over); !added)
      return added.error();
  carried.loses_moments = over.loses_moments();
  auto folder = make_folder(to, command);
  if (!folder) return folder.error();
  carried.folder = *folder;
  const std::uint64_t lineage = new_lineage();
  for (NodeIndex node = 0; node < nodes(); ++node) {
    const auto options = kimesh::vectors_options(config(), topology(), node, objective_->weights());
    const auto state = over.state_for(*plan_, node, options);
    if (!state) return state.error();
    CheckpointOwner owner = checkpoint_owner(node);
    owner.lineage = lineage;
    const Status written = write_state(*folder, owner, carried.round, *state);
    if (!written) return written.error();
  }
  return carried;
}

Status Mesh::add_old_node(const TopologyFile& before, const CheckpointPlace& place, Round round,
                          CarryOver& over) const {
  const auto source = open_checkpoint(checkpoint_path(place.folder, round), place.owner, round);
  if (!source) return Error{ErrorCode::kUserInput, source.error().message};
  StateReader reader(**source);
  const std::vector<double> weights(before.nodes.size(), 1);  // a checkpoint holds its node's own
  const NodeIndex node = *before.find_node(place.owner.node);
  return over.add(node, kimesh::vectors_options(config(), before, node, weights), reader);
}

Result<std::optional<TopologyFile>> Mesh::topology_before(const RunFolder& folder) const {
  std::error_code ignored;
  if (!std::filesystem::exists(folder.topology(), ignored)) return std::optional<TopologyFile>();
  Loaded<TopologyFile> before = load_topology(folder.topology());
  if (!before.ok()) return Error{ErrorCode::kUserInput, to_string(before.problems.front())};
  if (before.value.canonical() == topology().canonical()) return std::optional<TopologyFile>();
  return std::optional(std::move(before.value));
}

Result<std::unique_ptr<ReplayStates>> ReplayStates::open(const Mesh& mesh, const RunFolder& folder,
                                                         Round first_round) {
  std::vector<CheckpointPlace> places = mesh.checkpoint_places(folder);
  const auto round = oldest_common_checkpoint(places, first_round - 1);
  if (!round) return round.error();
  if (!*round)
    return Error{ErrorCode::kUserInput,
                 fmt::format("the decisions in {} begin with round {}, and there is no checkpoint "
                             "of all nodes to begin a replay with",
                             folder.path(), first_round)};
  std::unique_ptr<ReplayStates> states(new ReplayStates);
  states->round_ = **round;
  for (CheckpointPlace& place : places)
    states->nodes_.push_back(std::make_unique<OfNode>(std::move(place)));
  return states;
}

void ReplayStates::begin(std::vector<SimulatedNode>& nodes) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].states = nodes_[i].get();
    nodes[i].core.checkpoints.resumes = true;
    nodes[i].core.checkpoints.newest = round_;
  }
}

Result<std::unique_ptr<StateSource>> ReplayStates::OfNode::load(StateId id) {
  return open_checkpoint(checkpoint_path(place_.folder, id.round), place_.owner, id.round);
}

}  // namespace kimesh
