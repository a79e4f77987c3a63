// A topology file as it is written, with names where a TopologyFile has indices of nodes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kimesh/config/findings.h"
#include "kimesh/config/keys.h"
#include "kimesh/topology/topology_file.h"

namespace kimesh {

struct WrittenLink {
  std::string name;                    // "a->b", or "default"
  std::optional<double> bits_per_s;    // a constant rate
  std::string trace;                   // a changing rate: a file beside the topology's
  std::vector<RateTrace::Step> steps;  // of the trace, once it is read
  Duration delay{0};
  std::optional<std::uint64_t> bucket_bytes;
  std::optional<DialledBy> dial;
  std::string address;
  void describe(Keys& keys);
};

struct Written {
  std::vector<std::string> servers;  // empty: all
  WrittenLink default_link;
  std::vector<WrittenLink> links;
};

// The declaration of a topology file's keys, those of its kind included.
void describe(Keys& keys, TopologyFile& topology, Written& written);
// The written form of `topology`. Links that repeat the default are left out.
[[nodiscard]] Written written(const TopologyFile& topology);

// The sections of describe() that have files of their own.
void describe_nodes(Keys& keys, std::vector<NodeSpec>& nodes);
void describe_links(Keys& keys, Written& written);

// Complains about a text under `key` that is no address which can be dialled. Empty is none.
void check_dial_address(Keys& keys, std::string_view key, const std::string& text);

// Checks what concerns several nodes: places, weights, security.
void check_nodes(const TopologyFile& topology, Findings& findings);
// Checks shard weights, once the servers are known.
void check_shard_weights(const TopologyFile& topology, Findings& findings);
// Looks up names and reads traces. Requires that topology.kind is resolved.
void resolve_servers(const Written& written, TopologyFile& topology, Findings& findings);
void resolve_links(const Written& written, TopologyFile& topology, Findings& findings);

[[nodiscard]] bool serves(const TopologyFile& topology, NodeIndex node);
// The nodes' names, "a, b, c"; the first few of many.
[[nodiscard]] std::string node_names(const TopologyFile& topology);

}  // namespace kimesh
