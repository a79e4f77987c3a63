// The engine: feeds a core with what happens and carries out what it answers. Runs on the caller's
// thread.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine_queue.h"
#include "kimesh/node/live_node.h"
#include "workers.h"

namespace kimesh {

class Engine {
 public:
  Engine(const LiveNodeSetup& setup, const LiveNodeObserver& observer);
  ~Engine();

  // Binds and dials. Errors: Network.
  [[nodiscard]] Status open();
  // Waits for the mesh, runs it, says how it ended.
  [[nodiscard]] LiveNodeEnd run();

 private:
  void wait_for_mesh();
  void say_what_is_missing(Duration waited);
  [[nodiscard]] std::string missing_peers() const;
  void loop();
  void take(Incident& incident);
  void on(NetworkEvent& event);
  void on(MessageReceived& event);
  void on(const AppliedReceived& event);
  void feed(const Event& event);
  void act(Action& action);
  void act(const ApplyMessage& action);
  void act(const SendMessage& action);
  void act(const SendApplied& action);
  void act(const Finish& action);
  void watch(const Status& status);
  void notice(const std::string& text);
  [[nodiscard]] LinkCounterList counters() const;
  void abort(const std::string& why, HaltKind kind = HaltKind::kFailure);
  void close();
  [[nodiscard]] bool stop_wanted() const { return setup_.stop && setup_.stop->load(); }
  [[nodiscard]] TimePoint now() const;
  [[nodiscard]] const std::string& name(NodeIndex node) const { return plan_.view.nodes[node]; }

  const LiveNodeSetup& setup_;
  const LiveNodeObserver& observer_;
  const Plan& plan_;
  Vectors vectors_;
  Core core_;
  EngineQueue engine_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<VectorWorker> worker_;
  std::unique_ptr<TrainerThread> trainer_;

  std::set<LinkIndex> waiting_out_;  // links that are not welcomed yet
  std::set<NodeIndex> waiting_in_;   // peers that have not said hello
  std::unordered_map<PayloadId, std::vector<std::byte>> payloads_;
  PayloadId next_payload_ = 1;
  bool started_ = false, ended_ = false;
  TimePoint begun_{};
  LiveNodeEnd end_;
};

}  // namespace kimesh
