#include "kimesh/model_files/node_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "kimesh/util/check.h"
#include "kimesh/util/digest.h"
#include "malformed.h"

namespace kimesh {
namespace {

constexpr const char *kMesh = "kimesh_mesh", *kParameters = "kimesh_parameters",
                     *kRound = "kimesh_round", *kLineage = "kimesh_lineage", *kNode = "kimesh_node",
                     *kNodes = "kimesh_nodes", *kOwned = "kimesh_owned";
// A joined model has these two: "NAME:ROUND NAME:ROUND ...", and whether each shard is its owner's.
constexpr const char *kRounds = "kimesh_rounds", *kComplete = "kimesh_complete";

// Nodes end within a round of each other: none begins one before all have gone through the last but
// one.
constexpr Round kRoundsApartMax = 1;

// Nothing: `text` is not a number up to `most`, written in `base`.
std::optional<std::uint64_t> number_in(std::string_view text, std::uint64_t most, int base = 10) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, code] = std::from_chars(text.data(), end, value, base);
  if (code != std::errc() || stopped != end || value > most) return std::nullopt;
  return value;
}

std::string text_of(const std::vector<ModelOrigin::Range>& ranges) {
  std::string text;
  for (const auto& [begin, end] : ranges)
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", begin, end);
  return text;
}

// Nothing: these are no ascending ranges of `parameters` elements.
std::optional<std::vector<ModelOrigin::Range>> ranges_in(std::string_view text,
                                                         std::size_t parameters) {
  std::vector<ModelOrigin::Range> ranges;
  std::size_t least = 0;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const std::size_t colon = word.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const auto begin = number_in(word.substr(0, colon), parameters);
    const auto end = number_in(word.substr(colon + 1), parameters);
    if (!begin || !end || *begin < least || *end <= *begin) return std::nullopt;
    ranges.push_back({*begin, *end});
    least = *end;
  }
  return ranges;
}

struct Opened {
  NodeModelFile file;
  ModelOrigin origin;
  std::uint64_t tensors = 0, values = 0;  // digests: of names and shapes, of values
};

Result<TensorFile> read_model_of(const Opened& opened) {
  return read_safetensors(opened.file.path);
}

std::uint64_t digest_of_tensors(const TensorFile& file) {
  std::string text;
  for (const TensorFile::Tensor& tensor : file.tensors)
    text += fmt::format("{}[{}]\n", tensor.name, fmt::join(tensor.shape, ","));
  return digest_text(text);
}

Result<std::vector<Opened>> open_all(std::vector<NodeModelFile> files) {
  std::vector<Opened> all;
  for (NodeModelFile& file : files) {
    const auto tensors = read_safetensors(file.path);
    if (!tensors) return tensors.error();
    const auto origin = origin_of(*tensors, file.path);
    if (!origin) return origin.error();
    all.push_back(
        {std::move(file), *origin, digest_of_tensors(*tensors), digest_floats(tensors->values)});
  }
  std::ranges::stable_sort(
      all, {}, [](const Opened& o) { return o.origin.unagreed ? o.origin.unagreed->node : 0; });
  return all;
}

std::string described(const Opened& opened) {
  return fmt::format("{} (round {})", opened.file.path, opened.origin.unagreed->place.round);
}

Status check_same_mesh(const std::vector<Opened>& all) {
  for (const Opened& other : all)
    if (other.origin.mesh != all.front().origin.mesh || other.tensors != all.front().tensors ||
        other.origin.parameters != all.front().origin.parameters)
      return malformed(all.front().file.path,
                       "and " + other.file.path + " are of different meshes");
  return ok_status();
}

// Requires models that are not agreed on, by number of their nodes.
Status check_same_end(const std::vector<Opened>& all) {
  const auto round_of = [](const Opened& opened) { return opened.origin.unagreed->place.round; };
  const auto [oldest, newest] = std::ranges::minmax_element(all, {}, round_of);
  if (round_of(*newest) - round_of(*oldest) > kRoundsApartMax)
    return malformed(described(*oldest), "and " + described(*newest) +
                                             " are of different ends: name folders of one end");
  for (const Opened& other : all)
    if (other.origin.unagreed->place.lineage != all.front().origin.unagreed->place.lineage)
      return malformed(all.front().file.path,
                       "and " + other.file.path +
                           " are of different runs, or of one run that went on in two ways: name "
                           "folders of one");
  std::vector<std::pair<ModelOrigin::Range, const Opened*>> owned;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0 && all[i].origin.unagreed->node == all[i - 1].origin.unagreed->node)
      return malformed(all[i - 1].file.path, "and " + all[i].file.path + " are of the same node");
    for (const auto& range : all[i].origin.unagreed->owned) owned.push_back({range, &all[i]});
  }
  std::ranges::sort(owned, {}, [](const auto& one) { return one.first.begin; });
  for (std::size_t i = 1; i < owned.size(); ++i)
    if (owned[i].first.begin < owned[i - 1].first.end)
      return malformed(owned[i - 1].second->file.path,
                       "and " + owned[i].second->file.path + " own the same shard");
  return ok_status();
}

// The file whose copies stand for shards that no owner left.
const Opened& newest_of(const std::vector<Opened>& all) {
  return *std::ranges::max_element(
      all, {}, [](const Opened& opened) { return opened.origin.unagreed->place.round; });
}

Status write_joined(const TensorFile& model, const TensorMetadata& metadata,
                    const std::string& output) {
  std::vector<TensorView> views;
  for (const TensorFile::Tensor& tensor : model.tensors)
    views.push_back({tensor.name, tensor.shape, model.values_of(tensor)});
  return write_safetensors(output, views, metadata);
}

// The model that nodes agree on becomes the joined one.
Result<JoinedModel> take_agreed(const std::vector<Opened>& all, const Opened& agreed,
                                const std::string& output) {
  for (const Opened& other : all)
    if (!other.origin.unagreed && other.values != agreed.values)
      return malformed(agreed.file.path, "and " + other.file.path + " differ, though both say " +
                                             "that all nodes agree on them");
  const auto model = read_model_of(agreed);
  if (!model) return model.error();
  const Status written = write_joined(*model, metadata_of(agreed.origin), output);
  if (!written) return written.error();
  return JoinedModel{{{agreed.file.node, std::nullopt}}, true};
}

Result<JoinedModel> assemble(const std::vector<Opened>& all, const std::string& output) {
  const Opened& newest = newest_of(all);
  auto model = read_model_of(newest);
  if (!model) return model.error();
  JoinedModel joined;
  std::size_t owned = 0;
  std::string rounds;
  for (const Opened& part : all) {
    const ModelOrigin::Unagreed& origin = *part.origin.unagreed;
    const Round round = origin.place.round;
    joined.sources.push_back({part.file.node, round});
    rounds += fmt::format("{}{}:{}", rounds.empty() ? "" : " ", part.file.node, round);
    const auto own = read_model_of(part);
    if (!own) return own.error();
    for (const auto& [begin, end] : origin.owned) {
      owned += end - begin;
      std::copy_n(own->values.begin() + static_cast<std::ptrdiff_t>(begin), end - begin,
                  model->values.begin() + static_cast<std::ptrdiff_t>(begin));
    }
  }
  joined.complete = owned == newest.origin.parameters;
  TensorMetadata metadata = metadata_of({newest.origin.mesh, newest.origin.parameters, {}});
  metadata[kRounds] = rounds;
  metadata[kComplete] = joined.complete ? "true" : "false";
  if (const Status written = write_joined(*model, metadata, output); !written)
    return written.error();
  return joined;
}

}  // namespace

ModelOrigin unagreed_origin(std::uint64_t mesh, const Plan& plan, NodeIndex node,
                            ModelOrigin::Place place) {
  ModelOrigin::Unagreed unagreed{place, node, plan.view.nodes.size(), {}};
  for (const Shard& shard : plan.shards)
    if (shard.owner == node && shard.size > 0)
      unagreed.owned.push_back({shard.begin, shard.begin + shard.size});
  std::ranges::sort(unagreed.owned, {}, &ModelOrigin::Range::begin);
  return {mesh, plan.layout.size(), std::move(unagreed)};
}

TensorMetadata metadata_of(const ModelOrigin& origin) {
  TensorMetadata metadata{{kMesh, digest_name(origin.mesh)},
                          {kParameters, std::to_string(origin.parameters)}};
  if (!origin.unagreed) return metadata;
  metadata[kRound] = std::to_string(origin.unagreed->place.round);
  metadata[kLineage] = digest_name(origin.unagreed->place.lineage);
  metadata[kNode] = std::to_string(origin.unagreed->node);
  metadata[kNodes] = std::to_string(origin.unagreed->nodes);
  metadata[kOwned] = text_of(origin.unagreed->owned);
  return metadata;
}

Result<ModelOrigin> origin_of(const TensorFile& file, const std::string& path) {
  const auto text = [&](const char* key) -> std::string_view {
    const auto found = file.metadata.find(key);
    return found == file.metadata.end() ? std::string_view() : found->second;
  };
  const auto mesh = number_in(text(kMesh), UINT64_MAX, 16);
  const auto parameters = number_in(text(kParameters), file.values.size());
  if (!mesh || !parameters || !file.skipped.empty())
    return malformed(path, "is no model of a node: its metadata does not name its mesh");
  ModelOrigin origin{*mesh, *parameters, std::nullopt};
  if (!file.metadata.contains(kRound)) return origin;
  const auto round = number_in(text(kRound), std::numeric_limits<Round>::max() - 1);
  const auto nodes = number_in(text(kNodes), kNodesMax);
  const auto node = number_in(text(kNode), kNodesMax);
  const auto owned = ranges_in(text(kOwned), *parameters);
  const bool has_lineage = file.metadata.contains(kLineage);  // which older files have not
  const auto lineage = number_in(has_lineage ? text(kLineage) : "0", UINT64_MAX, 16);
  if (!lineage || !round || !nodes || !node || *node >= *nodes || !owned)
    return malformed(path, "says of itself what cannot be (its metadata is damaged)");
  origin.unagreed = ModelOrigin::Unagreed{
      {static_cast<Round>(*round), *lineage}, static_cast<NodeIndex>(*node), *nodes, *owned};
  return origin;
}

Result<JoinedModel> join_models(std::vector<NodeModelFile> files, const std::string& output) {
  KIMESH_CHECK(!files.empty(), "a file to make a model of");
  auto all = open_all(std::move(files));
  if (!all) return all.error();
  if (const Status same = check_same_mesh(*all); !same) return same.error();
  const auto agreed =
      std::ranges::find_if(*all, [](const Opened& o) { return !o.origin.unagreed.has_value(); });
  if (agreed != all->end()) return take_agreed(*all, *agreed, output);
  if (const Status same = check_same_end(*all); !same) return same.error();
  return assemble(*all, output);
}

}  // namespace kimesh
