// What a node waits for, and when it gives up: peers that are silent, and what hangs while
// heartbeats go on. Progress is life, and heartbeats are none.
#include <fmt/format.h>

#include <algorithm>

#include "state.h"

namespace kimesh {

namespace {

// So many times the longest one of the run is what a gradient, an evaluation or a wait may take.
constexpr int kTimesLongest = 10;
// A node waits at most so many rounds after the one that another node has not come out of: the next
// one's messages, or with overlap those of the round after.
constexpr Round kRoundsBehind = 2;
// What a wait may take in any run, in parts of dead_after: half an hour with 15 s. Where each node
// knows that its own trainer or vector work hangs, this is for one that knows nothing any more
// but still sends heartbeats, and need not be short.
constexpr int kWaitOfDeadAfter = 120;
// A link that carries less than this is too slow for a run: 100 kbit/s. The dense messages of a
// round may take their time on it, however little the run has waited so far.
constexpr double kSlowestBytesPerS = 12'500;
// What a piece of vector work may take, in parts of dead_after: ten minutes with 15 s. The longest
// are passes over a shard, seconds with 10^9 parameters.
constexpr int kWorkOfDeadAfter = 40;

}  // namespace

void Core::State::hear_all() {
  for (LinkLife& life : lives) life.heard = now;
  for (TrainerWatch* watch : {&gradient_watch, &evaluation_watch})
    if (watch->since) watch->since = now;
  wait_watch.begin_again(now);
  vector_watch.begin_again(now);
}

void Core::State::on(const Tick&) {
  // The process itself was stopped for a while, so that the silence of the peers proves nothing.
  const bool overslept = now - last_tick > options.dead_after / 2;
  last_tick = now;
  if (overslept) hear_all();
  if (begun) wait_watch.look(now, round, waiting_for());
  if (begun) check_peers();
  if (begun) check_trainer();
  if (begun) check_vector_work();
  if (begun) check_wait();
  try_end();
}

std::string Core::State::waiting_for() const {
  if (finished) return "nothing: the run is over";
  if (!begun) return "the links";
  if (agreeing)
    return is_saving ? "its checkpoint to be read"
                     : "the other nodes to say which checkpoint they hold";
  if (is_saving)
    return fmt::format("its state of round {} to be copied, or an earlier one to be written",
                       round);
  if (ending) {
    for (const Peer& peer : peers)
      if (!peer.bye) return fmt::format("{}'s bye", name(peer.node));
    return "messages to be applied";
  }
  if (!own_ready) {
    std::string what =
        fmt::format("its own {} of round {}", evaluating ? "evaluation" : "gradient", round);
    const TrainerWatch& watch = evaluating ? evaluation_watch : gradient_watch;
    if (watch.longest == Duration(0))
      what +=
          fmt::format(", the first, which may take {:.0f} s", to_seconds(options.first_gradient));
    return what;
  }
  for (const IncomingChannel& in : ins) {
    // A reduce of the next round may have been applied already: see may_apply().
    const bool is_served = in.applied != kNoRound && in.applied >= round;
    if (is_served || (confirming && plan.channels[in.channel].shard != 0)) continue;
    if (!in.pending) return fmt::format("{} (round {})", describe(in.channel), round);
  }
  for (const OutgoingChannel& out : outs)
    if (out.busy && !out.encoding && (out.waiting || saves_state))
      return fmt::format("{} (round {}) to be applied", describe(out.channel), out.sent.round);
  return fmt::format("vector work of round {}", round);
}

// A node is silent where all its links are. One silent link ends the run as well: messages would
// wait for it for ever.
void Core::State::check_peers() {
  if (ending && said_bye) return;  // try_end leaves without them
  for (const Peer& peer : peers) {
    if (peer.bye || finished) continue;
    const LinkLife *first = nullptr, *last = nullptr;
    for (const LinkLife& life : lives) {
      if (life.far != peer.node) continue;
      if (!first || life.heard < first->heard) first = &life;
      if (!last || life.heard > last->heard) last = &life;
    }
    const Duration silent = now - first->heard;
    if (silent <= options.dead_after) continue;
    const Link& link = plan.links[first->link];
    if (now - last->heard > options.dead_after / 2)
      fail(fmt::format("node {} has been silent for {:.1f} s (dead_after is {:.1f} s)",
                       name(peer.node), to_seconds(silent), to_seconds(options.dead_after)));
    else
      fail(
          fmt::format("link {}->{} has been silent for {:.1f} s (dead_after is {:.1f} s), while "
                      "node {} is heard over another link; see what is between the two",
                      name(link.from), name(link.to), to_seconds(silent),
                      to_seconds(options.dead_after), name(peer.node)));
  }
}

Duration Core::State::trainer_limit(const TrainerWatch& watch) const {
  if (watch.longest == Duration(0)) return options.first_gradient;
  const Duration steps = asked_steps.own() * gradient_watch.longest;
  return kTimesLongest * (steps + evaluation_watch.longest) + options.dead_after;
}

// What writing a state may add. A node that copies its state waits until the one before is written,
// while all others wait for its next messages.
Duration Core::State::disk_limit() const {
  const bool may_wait_for_disks =
      agreeing || ending || saves_state || (last_saved && round <= *last_saved + kRoundsBehind);
  return may_wait_for_disks ? kTimeToSave : Duration(0);
}

// The node may wait for another one's gradient or evaluation, too: verdicts tell how long these
// take, and nothing tells of the first ones.
Duration Core::State::wait_limit() const {
  const Duration of_others = from_seconds(verdict.compute_s + verdict.evaluate_s);
  Duration of_trainers = trainer_limit(gradient_watch) + kTimesLongest * of_others;
  if (evaluates) of_trainers = std::max(of_trainers, options.first_gradient);
  return std::max({of_trainers, kTimesLongest * wait_watch.longest(),
                   kWaitOfDeadAfter * options.dead_after + slowest_round}) +
         disk_limit();
}

// Of the longest chain of messages, all dense, on links that are as slow as a run bears.
Duration Core::State::slowest_round_time() const {
  double seconds = 0;
  for (ChannelIndex c = 0; c < plan.channels.size(); ++c)
    seconds =
        std::max(seconds, plan.channels[c].slots * static_cast<double>(payload_bytes_max(plan, c)) /
                              kSlowestBytesPerS);
  return from_seconds(seconds);
}

// A node may be heard that does nothing any more. Where its own checks do not end the run, this
// does.
void Core::State::check_wait() {
  if (finished || said_bye) return;  // who has said bye leaves by itself
  const Duration waited = wait_watch.waited(now);
  if (waited <= wait_limit()) return;
  fail(fmt::format(
      "node {} has waited for {} for {:.0f} s, and for nothing before for more than "
      "{:.1f} s, though the nodes that it needs for that are heard: one of them hangs",
      name(self), wait_watch.what(), to_seconds(waited), to_seconds(wait_watch.longest())));
}

void Core::State::check_vector_work() {
  const Duration took = vector_watch.without_progress(now);
  const Duration limit =
      kWorkOfDeadAfter * options.dead_after + (is_saving ? kTimeToSave : Duration(0));
  if (finished || took <= limit) return;
  fail(fmt::format("node {} has worked on the vectors of round {} for {:.0f} s: its thread hangs",
                   name(self), round, to_seconds(took)));
}

// Progress is life: a node whose trainer hangs sends heartbeats for ever. Nothing is known of the
// first gradient and the first evaluation: the topology file says what these may take.
void Core::State::check_trainer() {
  const auto check = [&](const TrainerWatch& watch, const char* what, const char* first) {
    if (finished || !watch.since) return;
    const bool is_first = watch.longest == Duration(0);
    const Duration taken = now - *watch.since;
    if (taken <= trainer_limit(watch)) return;
    if (is_first)
      return fail(fmt::format(
          "node {} has worked on {} for {:.1f} s, and first_gradient in the topology is {:.1f} s: "
          "its trainer hangs, or the machine is too slow for that limit",
          name(self), first, to_seconds(taken), to_seconds(options.first_gradient)));
    fail(
        fmt::format("node {} has worked on {} for {:.1f} s, and on none before for more than "
                    "{:.1f} s: its trainer hangs",
                    name(self), what, to_seconds(taken), to_seconds(watch.longest)));
  };
  check(gradient_watch, "a gradient", "its first gradient");
  check(evaluation_watch, "an evaluation", "its first evaluation");
}

}  // namespace kimesh
