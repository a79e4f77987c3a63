// The live driver: it gives a core its events, and carries out its actions with threads and
// sockets. Its functions are in files by subject: engine.cpp (start and loop), engine_actions.cpp
// (actions of the core, events of the network), engine_end.cpp (how a run ends). Thread: the
// caller's.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine_queue.h"
#include "first_point.h"
#include "kimesh/executor/executor.h"
#include "kimesh/node/live_node.h"
#include "kimesh/util/thrown.h"
#include "workers.h"

namespace kimesh {

class Engine final : private Driver {
 public:
  Engine(const LiveNodeSetup& setup, const LiveNodeObserver& observer);
  ~Engine();

  // Binds and dials. Errors: Network.
  [[nodiscard]] Status open();
  // Waits until the mesh is complete, runs the node, returns how it ended.
  [[nodiscard]] LiveNodeEnd run();

 private:
  void wait_for_mesh();
  void notify_missing_peers(Duration waited);
  void wait_for_first_point();
  [[nodiscard]] bool takes_first_point(const NetworkEvent& event);
  void notify_wait(const CoreWait& wait);
  void tell_health(TimePoint limit, const std::string& what);
  void tell_health_of_wait(TimePoint limit, const std::string& what);
  void halted(const PeerHalted& event);
  [[nodiscard]] std::set<NodeIndex> missing() const;
  [[nodiscard]] std::string missing_peers() const;
  [[nodiscard]] std::string way_to(NodeIndex node) const;
  [[nodiscard]] NodeIndex far_node_of(LinkIndex link) const;
  [[nodiscard]] std::string refusals() const;
  void loop();
  void dispatch(EngineInput input);
  void handle(NetworkEvent event);
  void refused(const PeerRefused& event);
  void lost(NodeIndex peer, const std::string& why);
  void feed(Event event);
  void look_at_states();
  void check(const Status& status);
  template <typename Call>
  void observe(const Call& call);
  [[nodiscard]] bool end_by_thrown();
  [[nodiscard]] bool end_before_start();
  void save_model();

  void work(VectorWork work) override;
  void work(TrainerWork work) override;
  void send(SendMessage action) override;
  void send(const SendApplied& action) override;
  void send(const SendBye& action) override;
  void send(const SendHalt& action) override;
  void notify(const RoundReport& report) override;
  void notify(const Decision& decision) override;
  void notify(const Notice& notice) override;
  void finish(const Finish& end) override;

  [[nodiscard]] LinkCounterList counters() const;
  void abort(const std::string& why, HaltKind kind = HaltKind::kFailure);
  void close();
  void close_parts();
  [[nodiscard]] bool stop_wanted() const { return setup_.stop && setup_.stop->load(); }
  [[nodiscard]] TimePoint now() const;
  [[nodiscard]] const std::string& name(NodeIndex node) const { return plan_.view.nodes[node]; }

  const LiveNodeSetup& setup_;
  const LiveNodeObserver& observer_;
  const Plan& plan_;
  Vectors vectors_;
  Executor executor_;
  EngineQueue engine_;
  Thrown own_thrown_;
  Thrown& thrown_;  // where all threads of the node keep what they throw
  std::unique_ptr<Network> network_;
  std::unique_ptr<VectorWorker> worker_;
  std::unique_ptr<TrainerThread> trainer_;

  std::optional<FirstPointExchange> first_point_;  // before the start, where there is one
  std::set<LinkIndex> waiting_out_;                // outgoing links without a welcome yet
  std::set<NodeIndex> waiting_in_;                 // peers without a hello yet
  std::map<NodeIndex, std::string> refusals_;      // the last between this node and each
  Duration said_wait_{0};  // how long what the core waits for had taken when that was said last
  TimePoint health_told_{};
  bool started_ = false, ended_ = false;
  bool agreed_saved_ = false;     // the model that all nodes agree on at the end, and bye was said
  std::set<NodeIndex> said_bye_;  // peers
  bool closed_ = false;
  std::string not_saved_;  // why an end that was a good one is none
  TimePoint begun_{};
  std::optional<Round> held_;  // the newest checkpoint, as the core knows it
  LiveNodeEnd end_;
};

}  // namespace kimesh
