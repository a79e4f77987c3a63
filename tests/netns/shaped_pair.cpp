#include "tests/netns/shaped_pair.h"

namespace kimesh::test {
namespace {

constexpr std::size_t kQueueBytes = 256 << 20;
constexpr std::size_t kMessageMax = 64 << 20;

NetworkOptions options_of(NodeIndex self, const ShapedMesh& mesh) {
  NetworkOptions options;
  options.self = self;
  options.listen = "tcp://" + mesh.address(self) + ":*";
  options.hello.from = self == 0 ? "a" : "b";
  options.hello.incarnation = 1u + self;
  options.hello.build = "test";
  return options;
}

void give_keys(NetworkOptions& a, NetworkOptions& b) {
  const CurvePair of_a = make_curve_pair(), of_b = make_curve_pair();
  a.curve = CurveKeys{of_a, {{"a", of_a.public_key}, {"b", of_b.public_key}}};
  b.curve = CurveKeys{of_b, a.curve->allowed};
}

}  // namespace

ShapedPair::ShapedPair(ShapedMesh mesh)
    : mesh_(std::move(mesh)), a_events_(kQueueBytes), b_events_(kQueueBytes) {}
ShapedPair::~ShapedPair() = default;

Result<std::unique_ptr<ShapedPair>> ShapedPair::make(const Bucket& bucket, const LinkSpec& declared,
                                                     bool is_encrypted) {
  auto mesh = ShapedMesh::make(2, [&](NodeIndex, NodeIndex) { return bucket; });
  if (!mesh) return mesh.error();
  std::unique_ptr<ShapedPair> pair(new ShapedPair(std::move(*mesh)));
  NetworkOptions of_b = options_of(1, pair->mesh_), of_a = options_of(0, pair->mesh_);
  of_b.incoming.push_back({kLink, 0, "a", kMessageMax});
  if (is_encrypted) give_keys(of_a, of_b);
  std::optional<Error> error;
  const auto start = [&](NodeIndex node, NetworkOptions options, std::unique_ptr<Network>& network,
                         BoundedQueue<NetworkEvent>& events) {
    pair->mesh_.at(node).inside([&] {
      auto started = Network::start(std::move(options), sink_into(events));
      if (started)
        network = std::move(*started);
      else
        error = started.error();
    });
  };
  start(1, std::move(of_b), pair->b_, pair->b_events_);
  if (error) return *error;
  of_a.outgoing.push_back({kLink, 1, "b", pair->b_->bound_endpoint(), declared});
  start(0, std::move(of_a), pair->a_, pair->a_events_);
  if (error) return *error;
  if (!await<LinkUp>(pair->a_events_))
    return Error{ErrorCode::kNetwork, "the two ends did not meet"};
  return pair;
}

void ShapedPair::send(std::size_t bytes) {
  SendMessage action{kLink, {}, 0};
  action.message.payload = Payload(std::vector<std::byte>(bytes - message_bytes(0, 0)));
  a_->send(std::move(action));
}

std::optional<LinkSample> ShapedPair::sample() {
  const auto acked = await<MessageAcked>(a_events_);
  if (!acked) return std::nullopt;
  return acked->sample;
}

Status ShapedPair::shape(const Bucket& bucket) const {
  for (NodeIndex from = 0; from < 2; ++from)
    if (auto done = mesh_.shape(from, static_cast<NodeIndex>(1 - from), bucket); !done)
      return done.error();
  return ok_status();
}

}  // namespace kimesh::test
