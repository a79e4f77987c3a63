// The end of a mesh and its model file.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "kimesh/mesh/mesh.h"
#include "kimesh/model_files/model_files.h"
#include "kimesh/records/text_file.h"

namespace kimesh {
namespace {

constexpr std::size_t kModelBytesMax = std::size_t{1} << 36;

bool is_there(const std::string& path) {
  std::error_code code;
  return std::filesystem::exists(path, code);
}

// The bytes of the nodes' model files, which must be equal.
Result<std::string> equal_models(const RunFolder& folder, const std::vector<std::string>& nodes) {
  const auto first = read_whole(folder.node_model(nodes.front()), kModelBytesMax);
  if (!first) return first.error();
  for (const std::string& node : nodes) {
    const auto model = read_whole(folder.node_model(node), kModelBytesMax);
    if (!model) return model.error();
    if (*model != *first)
      return Error{ErrorCode::kMalformed,
                   fmt::format("the models of nodes {} and {} differ", nodes.front(), node)};
  }
  return *first;
}

Status collect_equal(const RunFolder& folder, const Plan& plan, const NamedValues& frozen,
                     RunEnd& end) {
  const auto bytes = equal_models(folder, plan.view.nodes);
  if (!bytes) return bytes.error();
  const Status written = write_whole(folder.model(), std::string_view(*bytes));
  if (!written.ok()) return written;
  auto model = read_model(folder.model(), plan.layout, frozen.layout);
  if (!model) return model.error();
  end.model = std::move(*model);
  return ok_status();
}

// Reads the shards of `owner`, from its file of shards or its whole model.
Status add_shards(const RunFolder& folder, const Plan& plan, const NamedValues& frozen,
                  NodeIndex owner, std::vector<float>& model) {
  const std::string& name = plan.view.nodes[owner];
  if (!is_there(folder.node_model(name)))
    return read_shards(folder.node_shards(name), plan, owner, model);
  const auto whole = read_model(folder.node_model(name), plan.layout, frozen.layout);
  if (!whole) return whole.error();
  for (const Shard& shard : plan.shards)
    if (shard.owner == owner)
      std::ranges::copy(std::span(*whole).subspan(shard.begin, shard.size),
                        model.begin() + static_cast<std::ptrdiff_t>(shard.begin));
  return ok_status();
}

Status collect_shards(const RunFolder& folder, const Plan& plan, const NamedValues& frozen,
                      RunEnd& end) {
  std::vector<float> model(plan.layout.size());
  for (NodeIndex owner = 0; owner < plan.view.nodes.size(); ++owner) {
    if (std::ranges::find(plan.shards, owner, &Shard::owner) == plan.shards.end()) continue;
    const std::string& name = plan.view.nodes[owner];
    if (!is_there(folder.node_model(name)) && !is_there(folder.node_shards(name)))
      return Error{ErrorCode::kIo, fmt::format("node {} left no shard", name)};
    const Status added = add_shards(folder, plan, frozen, owner, model);
    if (!added.ok()) return added;
  }
  const Status written = write_model(folder.model(), plan.layout, model, frozen);
  if (written.ok()) end.model = std::move(model);
  return written;
}

}  // namespace

RunEnd end_of_mesh(const RunTally& tally) {
  RunEnd end;
  end.outcome = Outcome::kDone;
  for (NodeIndex i = 0; i < tally.nodes().size(); ++i) {
    const auto& node = tally.nodes()[i].end;
    const Outcome outcome = node ? node->outcome : Outcome::kFailed;
    if (outcome > end.outcome || i == 0) {  // done, stopped, failed: the worst counts
      end.outcome = outcome;
      end.reason = node ? node->reason : StopReason::kNone;
      end.text =
          node ? node->text : fmt::format("node {} left no word", tally.plan().view.nodes[i]);
    }
  }
  return end;
}

Status collect_model(const RunFolder& folder, const Mesh& mesh, RunEnd& end) {
  const Plan& plan = mesh.plan();
  const NamedValues& frozen = mesh.objective().frozen();
  end.model.clear();
  if (end.outcome != Outcome::kDone) return collect_shards(folder, plan, frozen, end);
  const Status collected = collect_equal(folder, plan, frozen, end);
  if (collected) return collected;
  end.outcome = Outcome::kFailed;
  end.text = collected.error().message;
  return ok_status();
}

}  // namespace kimesh
