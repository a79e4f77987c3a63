// What pages of different nodes tell each other, rows of the state: {nodes: [[index, row]],
// links: [row]}.
#include <algorithm>
#include <functional>

#include "kimesh/records/parse_json.h"
#include "run_state.h"

namespace kimesh {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kOutcomeCharsMax = 16;  // "stopped"

// What may stand in a row: nothing that could take space, or that a page would not expect.
bool is_plain(const Json& value) {
  if (value.is_string()) return value.get_ref<const std::string&>().size() <= kOutcomeCharsMax;
  return value.is_number() || value.is_boolean() || value.is_null();
}

bool is_row(const Json& row, const Json& like) {
  return row.is_array() && row.size() == like.size() && std::ranges::all_of(row, is_plain);
}

std::optional<std::uint32_t> index_of(const Json& value, std::size_t below) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= below) return std::nullopt;
  return value.get<std::uint32_t>();
}

const Json& list(const Json& digest, const char* name) {
  static const Json none = Json::array();
  if (!digest.is_object() || !digest.contains(name)) return none;
  return digest[name].is_array() ? digest[name] : none;
}

}  // namespace

std::string RunWatch::digest() const {
  const Run& run = *run_;
  Json json{{"nodes", Json::array()}, {"links", Json::array()}};
  std::size_t bytes = json.dump().size();
  const auto add = [&](const char* list, const Json& row) {
    bytes += row.dump().size() + 1;  // with its comma
    if (bytes <= kDigestBytesMax) json[list].push_back(row);
    return bytes <= kDigestBytesMax;
  };
  for (NodeIndex node = 0; node < run.known.size(); ++node)
    if (run.known[node] && !add("nodes", Json::array({node, node_row(run, node)}))) break;
  std::vector<LinkIndex> links;
  for (LinkIndex link = 0; link < run.latest.size(); ++link)
    if (run.known[run.history.plan.links[link].from]) links.push_back(link);
  const auto sent = [&](LinkIndex link) { return run.tally.links()[link].bytes; };
  std::ranges::stable_sort(links, std::greater{}, sent);
  for (const LinkIndex link : links)
    if (!add("links", link_row(run, link))) break;
  return json.dump();
}

void RunWatch::hear(std::size_t page, const std::string& digest) {
  Run& run = *run_;
  const auto is_of_page = [page](const auto& heard) { return heard.second.page == page; };
  std::erase_if(run.heard_nodes, is_of_page);
  std::erase_if(run.heard_links, is_of_page);
  const Json json = parse_json<Json>(digest);
  for (const Json& item : list(json, "nodes")) {
    if (!item.is_array() || item.size() != 2) continue;
    const auto node = index_of(item[0], run.known.size());
    if (node && is_row(item[1], node_row(run, *node))) run.heard_nodes[*node] = {page, item[1]};
  }
  for (const Json& row : list(json, "links")) {
    if (!row.is_array() || row.empty()) continue;
    const auto link = index_of(row[0], run.latest.size());
    if (link && is_row(row, link_row(run, *link))) run.heard_links[*link] = {page, row};
  }
}

}  // namespace kimesh
