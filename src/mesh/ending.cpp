// The end of a mesh and its model file.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "key_files.h"
#include "kimesh/mesh/mesh.h"
#include "kimesh/model_files/node_model.h"
#include "kimesh/records/durable_file.h"
#include "kimesh/records/text_file.h"

namespace kimesh {
namespace {

constexpr std::size_t kModelBytesMax = std::size_t{1} << 36;

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
  const Status written = write_durable(folder.model(), std::as_bytes(std::span(*bytes)));
  if (!written.ok()) return written;
  auto model = read_model(folder.model(), plan.layout, frozen.layout);
  if (!model) return model.error();
  end.model = std::move(*model);
  end.complete = true;
  return ok_status();
}

std::vector<NodeModelFile> models_of(const RunFolder& folder, const Plan& plan) {
  std::vector<NodeModelFile> files;
  for (const std::string& node : plan.view.nodes)
    if (file_exists(folder.node_model(node))) files.push_back({node, folder.node_model(node)});
  return files;
}

Status collect_parts(const RunFolder& folder, const Plan& plan, const NamedValues& frozen,
                     RunEnd& end) {
  auto files = models_of(folder, plan);
  if (files.empty()) return Error{ErrorCode::kIo, "no node left its parameters"};
  const auto joined = join_models(std::move(files), folder.model());
  if (!joined) return joined.error();
  auto model = read_model(folder.model(), plan.layout, frozen.layout);
  if (!model) return model.error();
  end.model = std::move(*model);
  end.complete = joined->complete;
  return ok_status();
}

}  // namespace

RunEnd end_of_mesh(const RunTally& tally) {
  // Done, stopped, failed: the worst counts. A permanent failure is worse than another one, which
  // may be the silence that a node reports where the halt of the first did not reach it.
  const auto badness = [](Outcome outcome, StopReason reason) {
    return std::pair(outcome, reason == StopReason::kPermanent);
  };
  RunEnd end;
  end.outcome = Outcome::kDone;
  for (NodeIndex i = 0; i < tally.nodes().size(); ++i) {
    const auto& node = tally.nodes()[i].end;
    const Outcome outcome = node ? node->outcome : Outcome::kFailed;
    const StopReason reason = node ? node->reason : StopReason::kNone;
    if (badness(outcome, reason) > badness(end.outcome, end.reason) || i == 0) {
      end.outcome = outcome;
      end.reason = reason;
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
  end.complete = false;
  if (end.outcome != Outcome::kDone) return collect_parts(folder, plan, frozen, end);
  const Status collected = collect_equal(folder, plan, frozen, end);
  if (collected) return collected;
  end.outcome = Outcome::kFailed;
  end.text = collected.error().message;
  return ok_status();
}

}  // namespace kimesh
