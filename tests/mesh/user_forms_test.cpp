// Two programs that added different codecs do not train together: what one sends the other could
// not read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kimesh/codec/payload.h"
#include "kimesh/compress/codecs.h"
#include "kimesh/config/options_of_text.h"
#include "kimesh/link/free_ports.h"
#include "kimesh/mesh/mesh.h"
#include "kimesh/objective/quadratic.h"

namespace kimesh {
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
  const std::vector<int> ports = free_ports(2);
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
  files.config.stop.rounds = 3;
  return files;
}

LiveNodeEnd end_of(const MeshFiles& files, NodeIndex node) {
  auto objective = make_quadratic_mesh(*files.config.quadratic, 2, {}, files.config.seed);
  const auto mesh = Mesh::make(files, std::move(objective.value()));
  return mesh.value()->run_node(node, {}).value().node;
}

// Seen to fail with the version alone in the hello.
TEST(UserForms, NodesWhoseFormsDifferRefuseEachOther) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "a forked process may not start threads under the thread sanitizer";
#endif
  const MeshFiles files = ring_of_two();
  const pid_t child = ::fork();  // no thread runs yet
  ASSERT_GE(child, 0);
  if (child == 0) {
    add_codec({"mine", "nothing of use", make_options<Mine, Codec>});
    ::_exit(end_of(files, 1).started ? 1 : 0);
  }
  const LiveNodeEnd end = end_of(files, 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the other node began to train";
  EXPECT_FALSE(end.started);
  EXPECT_EQ(end.outcome, Outcome::kFailed);
  EXPECT_THAT(end.text, testing::HasSubstr(std::string(version()) + " with 200 mine"));
}

}  // namespace
}  // namespace kimesh
