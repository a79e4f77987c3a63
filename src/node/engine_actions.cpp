// The actions of the core, and the events of the network.
#include <fmt/format.h>

#include "engine.h"
#include "kimesh/util/overloaded.h"

namespace kimesh {
namespace {

// Whether another node is the cause of the event. Any process can be refused, and may be none.
bool is_of_a_node(const NetworkEvent& event) {
  const auto* refused = std::get_if<PeerRefused>(&event);
  return refused ? refused->is_proven : !std::holds_alternative<NetworkFailed>(event);
}

}  // namespace

// A message or an ack of the first point, which no core gets to see.
bool Engine::takes_first_point(const NetworkEvent& event) {
  if (!first_point_) return false;
  if (const auto* acked = std::get_if<MessageAcked>(&event)) {
    first_point_->acked(acked->link);
    return true;
  }
  const auto* arrived = std::get_if<MessageArrived>(&event);
  if (arrived == nullptr || !first_point_->takes(arrived->link)) return false;
  check(first_point_->arrived(*arrived));
  return true;
}

void Engine::handle(NetworkEvent event) {
  if (is_of_a_node(event)) end_.was_alone = false;
  if (takes_first_point(event)) return;
  const auto to_core = [&](auto& e) { feed(std::move(e)); };
  std::visit(Overloaded{
                 [&](LinkUp& e) {
                   waiting_out_.erase(e.link);
                   feed(e);
                 },
                 [&](LinkDown& e) { started_ ? feed(e) : void(waiting_out_.insert(e.link)); },
                 [&](MessageArrived& e) { to_core(e); },
                 [&](MessageAcked& e) { to_core(e); },
                 [&](MessageApplied& e) { to_core(e); },
                 [&](PeerHeard& e) { to_core(e); },
                 [&](PeerBye& e) {
                   said_bye_.insert(e.node);
                   feed(e);
                 },
                 [&](PeerHalted& e) { started_ ? feed(std::move(e)) : halted(e); },
                 [&](PeerArrived& e) { waiting_in_.erase(e.node); },
                 [&](PeerLeft& e) { started_ ? void() : void(waiting_in_.insert(e.node)); },
                 [&](PeerRefused& e) { refused(e); },
                 [&](LinkRefused& e) { lost(far_node_of(e.link), e.sentence); },
                 [&](PeerRestarted& e) { lost(e.node, e.sentence); },
                 [&](NetworkFailed& e) { abort(e.sentence); },
             },
             event);
}

// Before the mesh is complete. What ends at a node that was there before is an earlier run, for who
// waits for the next one.
void Engine::halted(const PeerHalted& event) {
  if (!setup_.rejoins) return abort(event.reason, event.kind);
  notify(Notice{fmt::format("node {} is ending a run: {}; waiting for it to start again",
                            name(event.node), event.reason)});
  for (LinkIndex l = 0; l < plan_.links.size(); ++l) {
    const Link& link = plan_.links[l];
    if (link.from == setup_.self && link.to == event.node) waiting_out_.insert(l);
    if (link.from == event.node && link.to == setup_.self) waiting_in_.insert(event.node);
  }
}

// Anybody can say a name: the node goes on waiting for the one that this is, and says why it was
// refused should it not come. Where a key proves the name, nobody else is to come.
void Engine::refused(const PeerRefused& event) {
  // Where nodes are started again some may still have the files or the program of before.
  if (event.is_proven && event.node && !started_ && !setup_.rejoins)
    return abort(event.sentence, HaltKind::kPermanent);
  if (event.node && missing().contains(*event.node)) refusals_[*event.node] = event.sentence;
  notify(Notice{event.sentence});
}

// Two nodes that have both said bye need nothing more of each other: who answers at the address of
// one of them may be its next process, of another run. The other one dials it as long as it waits
// for its other peers, since a bye that was lost with its connection is said on the next one.
void Engine::lost(NodeIndex peer, const std::string& why) {
  if (agreed_saved_ && said_bye_.contains(peer)) return;
  abort(why);
}

void Engine::work(VectorWork work) {
  worker_->submit(std::move(work));
}
void Engine::work(TrainerWork work) {
  trainer_->submit(work);
}

void Engine::send(SendMessage action) {
  network_->send(std::move(action));
}
void Engine::send(const SendApplied& action) {
  network_->send(action);
}
// The node has no more to do for the others, and its model is that of the run: who starts it again
// after this sees by its file that the run is over, whatever ends the process meanwhile.
void Engine::send(const SendBye& action) {
  health_told_ = {};
  tell_health(now() + kTimeToSave, "saving the model");
  end_.outcome = Outcome::kDone;
  vectors_.end_training();
  save_model();
  agreed_saved_ = true;
  network_->send(action);
}
void Engine::send(const SendHalt& action) {
  network_->send(action);
}

// What watches the run writes its records, or is a program's own.
template <typename Call>
void Engine::observe(const Call& call) {
  std::optional<Status> told;
  thrown_.guard("writing its records", [&] { told = call(); });
  if (told) check(*told);
}

void Engine::notify(const RoundReport& report) {
  const Round held = report.verdict.checkpoint_held;
  if (setup_.states && held != kNoRound) setup_.states->all_hold(held);
  observe([&] {
    if (observer_.counters) observer_.counters(counters());
    return observer_.report ? observer_.report(now(), report) : ok_status();
  });
}
void Engine::notify(const Decision& decision) {
  if (decision.kind == Decision::Kind::kResume) end_.started = true;
  if (observer_.decision) observe([&] { return observer_.decision(now(), decision); });
}
void Engine::notify(const Notice& notice) {
  if (observer_.notice) observe([&] { return observer_.notice(now(), notice.text); });
}

void Engine::finish(const Finish& end) {
  end_.outcome = end.outcome;
  end_.reason = end.reason;
  end_.text = end.text;
  end_.seconds = to_seconds(now() - begun_);
  ended_ = true;
}

}  // namespace kimesh
