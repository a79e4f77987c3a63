// Two programs that added different codecs do not train together: what one sends the other could
// not read.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "kimesh/codec/payload.h"
#include "kimesh/compress/codecs.h"
#include "kimesh/config/options_of_text.h"
#include "kimesh/link/free_ports.h"
#include "kimesh/mesh/mesh.h"
#include "kimesh/objective/quadratic.h"
#include "kimesh/util/digest.h"
#include "kimesh/wire/frame.h"

namespace kimesh::user_forms_test {
namespace {

constexpr Form kMine = static_cast<Form>(200);

Result<Content> decode_nothing(std::span<const std::byte>, std::size_t) {
  return malformed("a codec that is never used");
}

class Mine final : public HostCodec {
 public:
  CodecTraits traits() const override { return {}; }
  std::span<const WireForm> forms() const override {
    static const WireForm kForms[] = {{kMine, "mine", decode_nothing}};
    return kForms;
  }
  std::size_t bytes_max(std::size_t, std::size_t size) const override { return dense_bytes(size); }
  Form encode(std::span<const float>, const Setting&, std::vector<std::byte>&) const override {
    return kMine;
  }
};

MeshFiles ring_of_two() {
  MeshFiles files;
  const std::vector<int> ports = *free_ports(2);
  for (const char* name : {"a", "b"}) {
    NodeSpec node;
    node.name = name;
    node.address = "tcp://127.0.0.1:" + std::to_string(ports[files.topology.nodes.size()]);
    files.topology.servers.push_back(static_cast<NodeIndex>(files.topology.nodes.size()));
    files.topology.nodes.push_back(node);
  }
  files.topology.kind = topology_kinds().make("ring");
  files.config.quadratic.emplace();
  files.config.optimizer = options_of_text<OptimizerOptions>("{kind: sgd, lr: 0.1}");
  files.topology.start_timeout = std::chrono::seconds(5);  // longer than a refusal takes
  files.config.stop.rounds = 3;
  return files;
}

// Node b as a program without codecs of its own begins it. It dials a, and cannot be dialled: it
// may be gone before a has dialled it.
NetworkOptions plain_b(const Mesh& mesh) {
  NetworkOptions options;
  options.self = 1;
  options.listen = "tcp://127.0.0.1:*";
  options.hello.from = "b";
  options.hello.incarnation = 1;
  options.hello.topology_digest = digest_text(mesh.topology().canonical());
  options.hello.config_digest = mesh.config_digest();
  options.hello.build = version();
  for (LinkIndex link = 0; link < mesh.plan().links.size(); ++link)
    if (mesh.plan().links[link].from == 1)
      options.outgoing.push_back({link, 0, "a", mesh.topology().nodes[0].address, {}});
  return options;
}

std::string answer(BoundedQueue<NetworkEvent>& events) {
  while (const auto event = events.pop_for(std::chrono::seconds(30))) {
    if (const auto* refused = std::get_if<LinkRefused>(&*event)) return refused->sentence;
    if (std::holds_alternative<LinkUp>(*event)) return "welcome";
  }
  return "none";
}

// Seen to fail with the version alone in the hello.
TEST(UserForms, NodesWhoseFormsDifferRefuseEachOther) {
  static const bool once = (add_codec({"mine", "of no use", make_options<Mine, Codec>}), true);
  ASSERT_TRUE(once);
  MeshFiles files = ring_of_two();
  auto objective = make_quadratic_mesh(*files.config.quadratic, 2, {}, files.config.seed);
  const auto mesh = Mesh::make(std::move(files), std::move(objective.value()));
  ASSERT_TRUE(mesh.ok()) << mesh.error().message;
  auto running = std::async(std::launch::async, [&] { return mesh.value()->run_node(0, {}); });
  BoundedQueue<NetworkEvent> events(1 << 20);
  const auto b = Network::start(plain_b(**mesh), sink_into(events));
  ASSERT_TRUE(b.ok()) << b.error().message;
  const std::string sentence = fmt::format(
      "node a refuses node b: the versions differ (b: kimesh {0}, wire {1}; a: kimesh {0} with 200 "
      "mine, wire {1}); install the same version on both",
      version(), kWireVersion);
  EXPECT_THAT(answer(events), testing::StartsWith(sentence));
  const auto a = running.get();
  ASSERT_TRUE(a.ok()) << a.error().message;
  EXPECT_FALSE(a->node.started);
  EXPECT_EQ(a->node.outcome, Outcome::kFailed);
  EXPECT_THAT(a->node.text, testing::HasSubstr(sentence));
}

}  // namespace
}  // namespace kimesh::user_forms_test
