// Rounds a second of a mesh whose links are full, while strangers attack one of its nodes, beside
// the same mesh in the seconds between. Loopback only. The attacker is a process of its own with
// half a core, by a group of the CPU controller; as root.
//   --json FILE   writes the figures
//   --pairs N     attacks and rests in turn, of which medians are shown (7)
//   --seconds N   of each (5)
//   --only idle | churn | flood | fuzz | ids | names | all   one of them; all: at once
//   --security curve   with keys; none is the default

#include <atomic>
#include <semaphore>
#include <thread>

#include "kimesh/compress/codecs.h"
#include "tests/bench/arguments.h"
#include "tests/bench/figures.h"
#include "tests/bench/half_a_core.h"
#include "tests/link/attacks.h"
#include "tests/node/live_mesh.h"

namespace kimesh::bench {
namespace {

constexpr auto kSettles = std::chrono::milliseconds(1500);  // connections of an attack go
constexpr double kLinkBitsPerS = 2e6;                       // a round waits for its links

test::MeshSpec ring() {
  test::MeshSpec spec;
  spec.dimension = 20'000;
  spec.core.policy = {policy_options("fixed", {{"ratio", "0.05"}}), make_codec("topk")};
  spec.core.stop_rounds = 10'000'000;
  return spec;
}

// A mesh that trains until it is stopped.
class TrainingMesh {
 public:
  explicit TrainingMesh(bool is_encrypted) : mesh_(ring()) {
    options_.rate_bits_per_s = kLinkBitsPerS;
    options_.stops.assign(mesh_.spec.nodes, &stop_);
    if (is_encrypted) options_.curves = test::keys_of(mesh_.spec.nodes);
    options_.on_round = [this](NodeIndex node, Round) {
      if (node == 0 && rounds_++ == 0) trains_.release();
    };
    thread_ = std::thread([this] {
      run_ = test::run_live(mesh_, options_);
      ended_.release();
      trains_.release();
    });
    trains_.acquire();
  }
  TrainingMesh(const TrainingMesh&) = delete;
  TrainingMesh& operator=(const TrainingMesh&) = delete;
  ~TrainingMesh() {
    stop_ = true;
    thread_.join();
  }
  [[nodiscard]] test::Target target() const {
    return test::target_of(mesh_.topology.nodes[0].address, options_.curves);
  }
  // Waits so long. False: the mesh has ended.
  bool goes_on_for(std::chrono::nanoseconds time) {
    if (!ended_.try_acquire_for(time)) return true;
    ended_.release();
    return false;
  }
  [[nodiscard]] std::uint64_t rounds() const { return rounds_; }
  [[nodiscard]] std::string text() const { return run_.text(); }

 private:
  test::Mesh mesh_;
  test::LiveOptions options_;
  std::atomic<bool> stop_ = false;
  std::atomic<std::uint64_t> rounds_ = 0;
  std::counting_semaphore<8> ended_{0}, trains_{0};
  test::LiveRun run_;
  std::thread thread_;
};

struct Span {
  double rounds_per_s = 0, cpu_percent = 0;  // of a core, all nodes together
};

std::optional<Span> watch(TrainingMesh& mesh, std::chrono::seconds time) {
  const TimePoint begin = std::chrono::steady_clock::now();
  const double cpu = cpu_seconds();
  const std::uint64_t before = mesh.rounds();
  if (!mesh.goes_on_for(time)) return std::nullopt;
  const double seconds = to_seconds(std::chrono::steady_clock::now() - begin);
  return Span{static_cast<double>(mesh.rounds() - before) / seconds,
              100 * (cpu_seconds() - cpu) / seconds};
}

struct Plan {
  int pairs;
  std::chrono::seconds time;
  bool is_encrypted;
};

bool under(std::size_t kind, const test::Attacker& attacker, TrainingMesh& mesh, const Plan& plan,
           Figures& figures) {
  std::vector<double> calm, attacked, ratio, calm_cpu, cpu, done;
  for (int pair = 0; pair < plan.pairs; ++pair) {
    if (!mesh.goes_on_for(kSettles)) return false;
    const auto rest = watch(mesh, plan.time);
    attacker.begin(kind, mesh.target());
    const auto span = watch(mesh, plan.time);
    done.push_back(attacker.end().done / static_cast<double>(plan.time.count()));
    if (!rest || !span) return false;
    calm.push_back(rest->rounds_per_s);
    attacked.push_back(span->rounds_per_s);
    ratio.push_back(100 * span->rounds_per_s / rest->rounds_per_s);
    calm_cpu.push_back(rest->cpu_percent);
    cpu.push_back(span->cpu_percent);
  }
  const test::AttackKind& attack = test::kAttacks[kind];
  const std::string name = std::string(attack.name) + ": ";
  figures.add(name + "done", std::string(attack.counted) + "/s", done);
  figures.add(name + "without", "rounds/s", calm);
  figures.add(name + "with", "rounds/s", attacked);
  figures.add(name + "CPU without", "% of a core", calm_cpu);
  figures.add(name + "CPU with", "% of a core", cpu);
  figures.add(name + "with over without", "%", ratio);
  return true;
}

bool run(const test::Attacker& attacker, const std::string& only, const Plan& plan,
         Figures& figures) {
  for (std::size_t kind = 0; kind < std::size(test::kAttacks); ++kind) {
    if (!only.empty() && only != test::kAttacks[kind].key) continue;
    TrainingMesh mesh(plan.is_encrypted);
    if (mesh.goes_on_for(kSettles) && under(kind, attacker, mesh, plan, figures)) continue;
    fmt::print(stderr, "bench: the mesh has ended: {}\n", mesh.text());
    return false;
  }
  return true;
}

}  // namespace
}  // namespace kimesh::bench

int main(int count, char** words) {
  using namespace kimesh::bench;
  const Arguments said(count, words, {"--pairs", "--seconds", "--security", "--only", "--json"});
  const HalfACore half;
  const kimesh::test::Attacker attacker;
  if (!half.take(attacker.process())) {
    fmt::print(stderr,
               "bench: no group of half a core can be made. Run it as root, on a machine "
               "with the CPU controller.\n");
    return 1;
  }
  fmt::print("{}\n", machine());
  Figures figures;
  const auto number = [&](const char* name, const char* otherwise) {
    return std::max(1, std::stoi(said(name, otherwise)));
  };
  const Plan plan{number("--pairs", "7"), std::chrono::seconds(number("--seconds", "5")),
                  said("--security", "none") == "curve"};
  const bool good = run(attacker, said("--only"), plan, figures);
  return figures.write(said("--json")) && good ? 0 : 1;
}
