#include "kimesh/doctor/doctor.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <thread>

#include "kimesh/link/free_ports.h"
#include "kimesh/util/digest.h"

namespace kimesh::doctor_test {
namespace {

using testing::HasSubstr;

// Nodes a, b, ... on free ports of this machine.
struct Mesh {
  TopologyFile topology;
  Plan plan;

  Mesh(const char* kind, std::size_t nodes) {
    const auto ports = free_ports(nodes);
    for (const int port : *ports) {
      NodeSpec node;
      node.name = std::string(1, static_cast<char>('a' + topology.nodes.size()));
      node.address = "tcp://127.0.0.1:" + std::to_string(port);
      topology.nodes.push_back(node);
    }
    EXPECT_TRUE(set_kind(topology, kind).empty());
    lay();
  }
  void lay() { plan = make_plan(topology, Layout::vector(1024)).value(); }
  [[nodiscard]] DoctorOptions options(NodeIndex self) const {
    DoctorOptions options;
    options.plan = &plan;
    options.topology = &topology;
    options.self = self;
    options.version = "test";
    return options;
  }
};

void ignore(const std::string&) {}

// The diagnoses of doctors that run at once.
std::vector<Diagnosis> examine(const std::vector<DoctorOptions>& all) {
  std::vector<Diagnosis> diagnoses(all.size());
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < all.size(); ++i)
    threads.emplace_back([&, i] {
      auto diagnosis = examine_links(all[i], ignore);
      ASSERT_TRUE(diagnosis.ok()) << diagnosis.error().message;
      diagnoses[i] = std::move(*diagnosis);
    });
  threads.clear();
  return diagnoses;
}

// Seen to fail where nobody told the far node what was measured.
TEST(Doctor, KnowsBothDirectionsOfEveryLinkWhereAllIsWell) {
  for (const char* kind : {"ring", "parameter_server"}) {
    const Mesh mesh(kind, 3);
    const std::vector<Diagnosis> all = examine({mesh.options(0), mesh.options(1), mesh.options(2)});
    for (NodeIndex i = 0; i < 3; ++i) {
      EXPECT_TRUE(all[i].is_healthy()) << diagnosis_text(all[i], mesh.topology, i);
      EXPECT_EQ(all[i].links.size(), kind == std::string("ring") ? 2u : 4u);
      for (const LinkFinding& link : all[i].links) {
        ASSERT_TRUE(link.speed.has_value());
        EXPECT_GT(link.speed->bytes_per_s, 1e6) << "loopback";
      }
    }
    const auto from_a = std::ranges::find_if(
        all[1].links, [](const LinkFinding& link) { return !link.outgoing && link.far == 0; });
    EXPECT_EQ(all[0].links[0].speed->bytes_per_s, from_a->speed->bytes_per_s)
        << "what a measured of a->b is what b says of it";
  }
}

// Node c is behind NAT.
TEST(Doctor, TriesLinksAsTheTopologyHasThemDialled) {
  Mesh mesh("parameter_server", 3);
  for (const NodeIndex far : {0, 1})
    mesh.topology.links.push_back({far, 2, {}, {DialledBy::kReceiver, {}}});
  mesh.topology.nodes[2].dial = "tcp://127.0.0.1:1";  // nobody listens there
  const std::vector<Diagnosis> all = examine({mesh.options(0), mesh.options(1), mesh.options(2)});
  for (NodeIndex i = 0; i < 3; ++i)
    EXPECT_TRUE(all[i].is_healthy()) << diagnosis_text(all[i], mesh.topology, i);
  DoctorOptions alone = mesh.options(0);
  alone.patience = std::chrono::seconds(1);
  const std::vector<Diagnosis> one = examine({alone});
  for (const LinkFinding& link : one[0].links) {
    if (link.far == 2) {
      EXPECT_THAT(link.trouble, HasSubstr("node c has not connected to")) << link.outgoing;
    }
  }
}

// Seen to fail with the sentence of a node that nobody can reach left out.
TEST(Doctor, SaysWhoDoesNotAnswerAndWhatToDo) {
  const Mesh mesh("parameter_server", 3);
  DoctorOptions a = mesh.options(0), b = mesh.options(1);
  a.patience = b.patience = std::chrono::seconds(3);
  const std::vector<Diagnosis> all = examine({a, b});
  EXPECT_FALSE(all[0].is_healthy());
  for (const LinkFinding& link : all[0].links) {
    EXPECT_EQ(link.speed.has_value(), link.far == 1);
    if (link.far == 1)
      EXPECT_EQ(link.trouble, "");
    else
      EXPECT_THAT(link.trouble, link.outgoing ? HasSubstr("nobody listens at 127.0.0.1:")
                                              : HasSubstr("c has not connected either"));
  }
}

// Seen to fail with the handshake's sentence dropped.
TEST(Doctor, SaysWhatDiffersBetweenTwoMachines) {
  const Mesh mesh("ring", 2);
  Mesh other = mesh;
  other.topology.dead_after = std::chrono::seconds(7);
  other.lay();
  DoctorOptions a = mesh.options(0), b = other.options(1);
  a.patience = b.patience = std::chrono::seconds(3);
  b.version = "later";
  const std::vector<Diagnosis> all = examine({a, b});
  EXPECT_THAT(all[0].links[0].trouble, HasSubstr("the versions differ"));
  EXPECT_THAT(all[0].links[0].trouble, HasSubstr("the topologies differ"));
}

// A doctor of node b whose machine's clock is 100 s ahead. Seen to fail with the sign turned.
TEST(Doctor, SaysThatClocksAreApart) {
  const Mesh mesh("ring", 2);
  NetworkOptions b;
  b.self = 1;
  b.listen = mesh.topology.nodes[1].address;
  b.hello.from = "b";
  b.hello.build = "test";
  b.hello.incarnation = 1;
  b.hello.topology_digest = digest_text(mesh.topology.canonical());
  b.hello.config_digest = digest_text("kimesh doctor");
  const LinkIndex out = mesh.plan.links[0].from == 1 ? 0 : 1;
  b.outgoing.push_back({out, 0, "a", mesh.topology.nodes[0].address, {}});
  b.incoming.push_back({1 - out, 0, "a", 8 << 20});
  BoundedQueue<NetworkEvent> events(64 << 20);
  auto network = Network::start(std::move(b), sink_into(events));
  ASSERT_TRUE(network.ok()) << network.error().message;
  const auto clock = std::chrono::system_clock::now().time_since_epoch();
  SendMessage word{out, {}, 0};
  word.message.control = {std::chrono::duration<double>(clock).count() + 100, 1, 1e6, 0.01};
  (*network)->send(std::move(word));
  const auto diagnosis = examine_links(mesh.options(0), ignore);
  ASSERT_TRUE(diagnosis.ok()) << diagnosis.error().message;
  EXPECT_EQ(diagnosis->links[0].trouble, "");
  EXPECT_EQ(diagnosis->links[1].speed->bytes_per_s, 1e6);
  EXPECT_THAT(diagnosis->links[1].trouble, HasSubstr("s ahead of this one"));
  EXPECT_NEAR(diagnosis->links[1].clock_ahead_s.value_or(0), 100, 40) << "machines are busy";
}

// Seen to fail where the node was said to answer before it listened.
TEST(Doctor, ListensWhereItsNodeDoes) {
  Mesh mesh("ring", 2);
  mesh.topology.nodes[0].address = "tcp://192.0.2.1:7101";  // of no machine (RFC 5737)
  std::vector<std::string> said;
  const auto diagnosis =
      examine_links(mesh.options(0), [&](const std::string& text) { said.push_back(text); });
  ASSERT_FALSE(diagnosis.ok());
  EXPECT_EQ(diagnosis.error().code, ErrorCode::kNetwork);
  EXPECT_TRUE(said.empty());
}

// Seen to fail where nothing was said.
TEST(Doctor, SaysWhereItListensOnceItDoes) {
  const Mesh mesh("ring", 2);
  const std::atomic<bool> stop = true;
  DoctorOptions options = mesh.options(0);
  options.stop = &stop;
  std::vector<std::string> said;
  ASSERT_TRUE(examine_links(options, [&](const std::string& text) { said.push_back(text); }).ok());
  ASSERT_FALSE(said.empty());
  EXPECT_THAT(said.front(), HasSubstr("node a answers at " + mesh.topology.nodes[0].address));
}

TEST(Doctor, StopsWhenItIsAskedTo) {
  const Mesh mesh("ring", 2);
  const std::atomic<bool> stop = true;
  DoctorOptions options = mesh.options(0);
  options.stop = &stop;
  const auto diagnosis = examine_links(options, ignore);
  ASSERT_TRUE(diagnosis.ok());
  EXPECT_FALSE(diagnosis->is_healthy());
}

}  // namespace
}  // namespace kimesh::doctor_test
