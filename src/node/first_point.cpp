#include "first_point.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>

#include "kimesh/util/check.h"
#include "kimesh/util/digest.h"

namespace kimesh {
namespace {

constexpr NodeIndex kFirstNode = 0;

std::uint32_t pieces_of(std::size_t floats) {
  return static_cast<std::uint32_t>((floats + kPieceFloats - 1) / kPieceFloats);
}

}  // namespace

// Every owner's gathers reach all nodes, and the first node's reduce messages reach every owner:
// there is a way to each node.
std::vector<std::optional<LinkIndex>> ways_from_first_node(const Plan& plan) {
  std::vector<std::optional<LinkIndex>> ways(plan.view.nodes.size());
  std::deque<NodeIndex> reached{kFirstNode};
  while (!reached.empty()) {
    const NodeIndex node = reached.front();
    reached.pop_front();
    for (LinkIndex l = 0; l < plan.links.size(); ++l) {
      const Link& link = plan.links[l];
      if (link.from != node || link.to == kFirstNode || ways[link.to]) continue;
      ways[link.to] = l;
      reached.push_back(link.to);
    }
  }
  for (NodeIndex i = 1; i < ways.size(); ++i)
    KIMESH_CHECK(ways[i].has_value(), "a way from the first node to every other");
  return ways;
}

FirstPointExchange::FirstPointExchange(const Plan& plan, NodeIndex self, std::span<float> point)
    : plan_(plan), point_(point), pieces_(pieces_of(point.size())) {
  const auto ways = ways_from_first_node(plan);
  from_ = ways[self];
  for (const auto& way : ways)
    if (way && plan.links[*way].from == self) children_.push_back({*way});
  if (from_) return;
  here_ = pieces_;
  digest_ = digest_floats(point);
}

void FirstPointExchange::begin(Sender send) {
  send_ = std::move(send);
  hand_on();
}

bool FirstPointExchange::takes(LinkIndex link) const {
  return from_ == link && here_ < pieces_;
}

Status FirstPointExchange::arrived(const MessageArrived& event) {
  const Message& message = event.message;
  const std::string& sender = plan_.view.nodes[plan_.links[event.link].from];
  const std::span<float> floats = piece(here_);
  if (message.form != Form::kDense || message.round != here_ ||
      message.payload.size() != floats.size_bytes())
    return Error{ErrorCode::kMalformed,
                 fmt::format("node {} sent a message that is no piece of the first point", sender)};
  std::memcpy(floats.data(), message.payload.bytes().data(), floats.size_bytes());
  if (++here_ == pieces_) {
    digest_ = message.digest;
    if (digest_floats(point_) != digest_)
      return Error{ErrorCode::kMalformed,
                   fmt::format("the parameters of node {} came over node {} with other bits",
                               plan_.view.nodes[kFirstNode], sender)};
  }
  hand_on();
  return ok_status();
}

void FirstPointExchange::acked(LinkIndex link) {
  for (Child& child : children_)
    if (child.link == link) ++child.acked;
  hand_on();
}

void FirstPointExchange::hand_on() {
  if (!send_) return;
  for (Child& child : children_)
    while (child.sent < here_ && child.sent - child.acked < kPiecesUnderWay) {
      const std::span<const std::byte> bytes = std::as_bytes(piece(child.sent));
      Message message;
      message.round = child.sent;
      message.phase = Phase::kGather;
      message.form = Form::kDense;
      if (child.sent + 1 == pieces_) message.digest = digest_;
      message.payload = Payload(std::vector<std::byte>(bytes.begin(), bytes.end()));
      ++child.sent;
      send_({child.link, std::move(message)});
    }
}

std::span<float> FirstPointExchange::piece(std::uint32_t number) const {
  const std::size_t begin = std::size_t{number} * kPieceFloats;
  return point_.subspan(begin, std::min(kPieceFloats, point_.size() - begin));
}

bool FirstPointExchange::done() const {
  return here_ == pieces_ &&
         std::ranges::all_of(children_, [&](const Child& child) { return child.acked == pieces_; });
}

std::uint64_t FirstPointExchange::progress() const {
  std::uint64_t sum = here_;
  for (const Child& child : children_) sum += child.acked;
  return sum;
}

std::string FirstPointExchange::waiting_for() const {
  const std::string& first = plan_.view.nodes[kFirstNode];
  if (here_ < pieces_) return fmt::format("the parameters of node {}", first);
  for (const Child& child : children_)
    if (child.acked < pieces_)
      return fmt::format("node {} to take the parameters of node {}",
                         plan_.view.nodes[plan_.links[child.link].to], first);
  return "nothing";
}

}  // namespace kimesh
