#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "kimesh/config/map_reader.h"
#include "limits.h"
#include "written.h"

namespace kimesh {
namespace {

constexpr std::string_view kArrow = "->";

// The canonical name of a link: "a->b" for "a -> b".
std::optional<std::string> link_name(std::string_view key) {
  const std::size_t arrow = key.find(kArrow);
  if (arrow == std::string_view::npos) return std::nullopt;
  std::string_view from = key.substr(0, arrow), to = key.substr(arrow + kArrow.size());
  while (from.ends_with(' ')) from.remove_suffix(1);
  while (to.starts_with(' ')) to.remove_prefix(1);
  return fmt::format("{}{}{}", from, kArrow, to);
}

constexpr EntryRule kLinkRule{"link",
                              "FROM->TO",
                              "a->b: {rate: 2Mbit}",
                              "default, or FROM->TO with the names of two nodes",
                              link_name,
                              0,
                              kNodesMax* kNodesMax,
                              "default"};

std::string steps_text(const std::vector<RateTrace::Step>& steps) {
  std::string text;
  for (const RateTrace::Step& step : steps)
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", step.seconds, step.bits_per_s);
  return text;
}

class LinkResolver {
 public:
  LinkResolver(TopologyFile& topology, Findings& findings)
      : topology_(topology), findings_(findings) {}

  void resolve_default(const WrittenLink& link) {
    topology_.default_link = spec_of(link);
    topology_.default_dialled_by = link.dial.value_or(DialledBy::kSender);
    if (!link.address.empty())
      findings_.add("links.default.address",
                    "an address under default would lead all links to one place",
                    "Write it under the link that it is for, or under a node");
  }

  void resolve(const WrittenLink& link) {
    const std::string_view name = link.name;
    const std::string_view from_name = name.substr(0, name.find(kArrow));
    const std::string_view to_name = name.substr(from_name.size() + kArrow.size());
    const auto from = topology_.find_node(from_name), to = topology_.find_node(to_name);
    if (!from || !to)
      return findings_.add(place_of(link),
                           fmt::format("there is no node {}", quoted(from ? to_name : from_name)),
                           fmt::format("Write two of: {}", node_names(topology_)));
    // A rate for a link that carries nothing would be a mistake without an effect.
    if (*from == *to || !topology_.kind->carries(topology_, *from, *to))
      return findings_.add(place_of(link),
                           fmt::format("nothing travels from {} to {}", from_name, to_name),
                           topology_.kind->remedy_for_unused());
    topology_.links.push_back(
        {*from, *to, spec_of(link), {link.dial.value_or(DialledBy::kSender), link.address}});
  }

 private:
  static std::string place_of(const WrittenLink& link) {
    return fmt::format("links.{}", link.name);
  }

  LinkSpec spec_of(const WrittenLink& link) {
    LinkSpec spec;
    spec.delay = link.delay;
    spec.bucket_bytes = link.bucket_bytes.value_or(0);
    if (link.bits_per_s) spec.rate = RateTrace{{{0, *link.bits_per_s}}};
    if (!link.trace.empty())
      spec.rate = trace(link.trace, findings_.line(fmt::format("{}.trace", place_of(link))));
    return spec;
  }

  // Every file is read once, however many links use it.
  std::optional<RateTrace> trace(const std::string& path, int line) {
    const auto full = path_beside(findings_.complaints().file(), path);
    const auto [it, is_new] = traces_.try_emplace(full);
    if (is_new) it->second = load_trace(full, line, findings_.complaints());
    if (std::ranges::find(topology_.traces, path) == topology_.traces.end())
      topology_.traces.push_back(path);
    return it->second;
  }

  TopologyFile& topology_;
  Findings& findings_;
  std::map<std::string, std::optional<RateTrace>> traces_;
};

}  // namespace

void WrittenLink::describe(Keys& keys) {
  keys.rate("rate", bits_per_s, "what the link carries per second (emulated)");
  if (keys.wants_local()) {
    keys.text("trace", trace, "a file of lines SECONDS,RATE: a rate that changes (emulated)");
  } else {  // the file may lie elsewhere on another machine
    std::string text = steps_text(steps);
    keys.text("trace", text, "");
  }
  keys.duration("delay", delay, {0, limits::kDelaySecondsMax}, "one way (emulated)");
  keys.bytes("bucket", bucket_bytes,
             "what an idle link saves up of its rate and then sends at once (emulated)");
  keys.choice(
      "dial", dial, {{"from", DialledBy::kSender}, {"to", DialledBy::kReceiver}},
      "which end opens the connection; `to` where the receiver cannot be reached, as behind "
      "NAT. Default: from");
  if (keys.wants_local()) {
    keys.text("address", address,
              "where the connection is dialled, where that is not the node's own `dial` or "
              "`address`, tcp://HOST:PORT");
    check_dial_address(keys, "address", address);
  }
  const bool rate_given = keys.is_given("rate"), trace_given = keys.is_given("trace");
  keys.check(!rate_given || !trace_given, "trace",
             fmt::format("links.{} has both a rate and a trace", name), "Keep one of them");
  keys.check(!keys.is_given("bucket") || bits_per_s || !trace.empty(), "bucket",
             fmt::format("links.{} has a bucket and no rate that fills it", name),
             "Write a rate, such as rate: 10Mbit, or leave out bucket");
  // A rate or trace of the link itself replaces that of the default.
  if (rate_given) trace.clear();
  if (trace_given) bits_per_s.reset();
}

void describe_links(Keys& keys, Written& written) {
  written.default_link.name = kLinkRule.common;
  keys.entries("links", written.links, written.default_link, kLinkRule,
               "what links are emulated to carry, and who opens them; what one leaves out is as in "
               "`default`");
}

void resolve_links(const Written& written, TopologyFile& topology, Findings& findings) {
  LinkResolver resolver(topology, findings);
  resolver.resolve_default(written.default_link);
  for (const WrittenLink& link : written.links) resolver.resolve(link);
  std::ranges::sort(topology.links, {}, [](const TopologyFile::NamedLink& link) {
    return std::pair(link.from, link.to);
  });
}

}  // namespace kimesh
