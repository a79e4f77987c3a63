// Checkpoints: when one is made, what it holds of a core, and how a node goes on from it.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "kimesh/round/progress.h"
#include "kimesh/util/check.h"
#include "state.h"

namespace kimesh {

// At the owner of shard 0. Only training rounds end with a checkpoint, and none that is the last
// before a confirmation: these two belong together.
void Core::State::call_checkpoint(Verdict& next, const ControlVector& from_all) {
  next.checkpoint_round = kNoRound;
  if (next.closing_round != kNoRound || next.stop) return;
  const CheckpointOptions& wanted = options.checkpoints;
  const Round coming = round + 1;
  const bool is_due =
      (wanted.every_rounds && coming >= since_checkpoint + *wanted.every_rounds - 1) ||
      (wanted.every && now - checkpoint_called >= *wanted.every) || from_all.checkpoint_wish > 0;
  if (!(replay ? replay->checkpoint(round) : is_due)) return;
  next.checkpoint_round = coming;
  checkpoint_called = now;
  since_checkpoint = coming + 1;  // before it is made: the next verdict comes earlier
  emit(Decided{{Decision::Kind::kCheckpoint, round, 0, {}, next}});
}

// Whether every message of this node is applied at its far side.
bool Core::State::is_drained() const {
  return std::ranges::none_of(outs,
                              [](const OutgoingChannel& out) { return out.busy || out.waiting; });
}

void Core::State::save_state() {
  is_saving = true;
  wants_checkpoint = false;
  SaveState work{{round, lineage}};
  {
    StateWriter writer(work.core);
    save(writer);
  }
  emit(std::move(work));
}

void Core::State::on(const StateSaved& event) {
  KIMESH_CHECK(is_saving && event.round == round, "the state that was to be saved");
  is_saving = saves_state = false;
  last_saved = event.round;
  if (!event.kept) held = event.round;  // who keeps nothing does not hold up others' old ones
  begin_round(round + 1);
}

// The members that are saved as they are, named once for both directions.
template <typename Self>
auto Core::State::plain_state_of(Self& self) {
  return std::tie(self.work_times, self.first_rounds, self.compute_times, self.stretch,
                  self.round_times, self.message_times, self.settled, self.agreement.sum,
                  self.agreement.weight, self.data, self.loss_guard, self.agreed_bits, self.offers,
                  self.delay, self.floor_s, self.smallest_s, self.last_exchange_s,
                  self.last_messages_s, self.offered, self.took_s, self.complained_of_time,
                  self.multiple);
}

namespace {

// Reads objects into those that are there, of which there must be as many.
template <typename T>
void get_each(StateReader& reader, std::vector<T>& objects) {
  std::size_t size = 0;
  reader.get(size);
  reader.require(size == objects.size());
  for (T& object : objects)
    if (reader.ok()) reader.get(object);
}

}  // namespace

Progress Core::State::progress() const {
  return {round,   verdict.to_control(), now - started,    now - checkpoint_called, evaluated,
          trained, steps_taken,          since_checkpoint, accuracy_hits,           loss_hits,
          traffic, options.data_weight};
}

void Core::State::go_on_from(const Progress& from) {
  round = from.round;
  verdict = Verdict::from_control(from.verdict);
  started = now - from.clock;
  checkpoint_called = now - from.since_called;
  evaluated = from.evaluated;
  trained = from.trained;
  steps_taken = from.steps;
  since_checkpoint = from.since_checkpoint;
  accuracy_hits = from.accuracy_hits;
  loss_hits = from.loss_hits;
  traffic = from.traffic;
  for (IncomingChannel& in : ins) in.applied = round;
  for (ShardState& shard : shards) shard.reduced = shard.current = round;
}

// Called at the end of a round whose messages are all applied: what belongs to a message under way,
// or to a round that is over, is left out.
void Core::State::save(StateWriter& writer) const {
  writer.put(progress());
  writer.put(true);              // what follows is of this plan
  writer.put(sum.to_control());  // its length counts in the next round's first budgets
  writer.put(ins);
  writer.put(outs);
  writer.put(shards);
  std::apply([&](const auto&... field) { (writer.put(field), ...); }, plain_state_of(*this));
  links.save(writer);
  policy->save(writer);
}

void Core::State::restore(StateReader& reader) {
  Progress from;
  bool is_of_plan = false;
  reader.get(from);
  reader.get(is_of_plan);
  if (!reader.ok()) return;
  go_on_from(from);
  // Without what was measured in the round before, an offer would know nothing.
  if (!is_of_plan) {
    // No node of this plan has offered a multiple or told the room on its links yet.
    verdict.mean_multiple = 1;
    verdict.even_bits = 0;
    return static_cast<void>(offered = round + 1);
  }
  Control summed{};
  reader.get(summed);
  get_each(reader, ins);
  get_each(reader, outs);
  get_each(reader, shards);
  std::apply([&](auto&... field) { (reader.get(field), ...); }, plain_state_of(*this));
  links.restore(reader);
  policy->restore(reader);
  for (const OutgoingChannel& out : outs) {
    const std::size_t pieces = plan.shards[plan.channels[out.channel].shard].layers.size();
    reader.require(out.curve.empty() || out.curve.size() == pieces);
  }
  sum = ControlVector::from_control(summed);
}

// Messages of the agreement come first on the channels of shard 0. What comes on others is of a
// node that has gone on already, and waits.
bool Core::State::may_apply_while_agreeing(const IncomingChannel& in) {
  const bool is_of_agreement = in.pending->form == Form::kEmpty && in.pending->round == 0;
  if (plan.channels[in.channel].shard != 0) return false;
  if (in.applied == kNoRound && !is_of_agreement) fail(unsuitable(in));
  return !is_saving && is_of_agreement;
}

std::string Core::State::unsuitable(const IncomingChannel& in) const {
  const Channel& channel = plan.channels[in.channel];
  const Link& link = plan.links[channel.link];
  if (agreeing || (round == 0 && channel.phase == Phase::kReduce && !options.checkpoints.resumes))
    return fmt::format("node {} {} a checkpoint and node {} {}: begin all nodes anew, or none",
                       name(link.from), agreeing ? "does not go on from" : "goes on from",
                       name(link.to), agreeing ? "does" : "does not");
  return describe(in.channel) + ": a message that does not suit its round";
}

void Core::State::end_agreement() {
  if (verdict.checkpoint_held == kNoRound && verdict.stop)
    return fail(
        fmt::format(
            "{}, and another node holds none and has no records of the run: bring back its folder, "
            "or make checkpoints for all of those that are there with `kimesh join`; to begin "
            "anew, remove those of all nodes",
            held ? fmt::format("node {} holds the checkpoint of round {}", name(self), *held)
                 : "some nodes hold a checkpoint"),
        HaltKind::kPermanent);
  if (verdict.held_lineage == kMixedLineages)
    return fail(
        fmt::format("the checkpoints of round {} that nodes hold are of different runs, or of one "
                    "run that went on in two ways: bring together those of one",
                    verdict.checkpoint_held),
        HaltKind::kPermanent);
  lineage = verdict.lineage;
  is_saving = true;
  const bool is_new = verdict.checkpoint_held == kNoRound;
  if (is_new)
    emit(Notice{held ? fmt::format("another node has come to the end of the run, or was killed "
                                   "before its first checkpoint: a run begins with round 0, and "
                                   "the checkpoint of round {} is set aside",
                                   *held)
                     : "no node holds a checkpoint: the run begins with round 0"});
  if (!is_new || held) return emit(LoadState{{verdict.checkpoint_held, verdict.held_lineage}});
  on(StateLoaded{kNoRound});
}

void Core::State::on(const StateLoaded& event) {
  KIMESH_CHECK(agreeing && is_saving, "the state that was asked for");
  agreeing = is_saving = false;
  for (IncomingChannel& in : ins) in.applied = kNoRound;
  shards_current = 0;
  verdict = first_verdict();
  started = checkpoint_called = now;
  traffic = 0;
  const Round next = event.round == kNoRound ? 0 : event.round + 1;
  emit(Decided{{Decision::Kind::kResume, next, 0, {}, {}}});
  for (ShardState& shard : shards) shard.reduced = shard.current = kNoRound;
  if (event.round == kNoRound) {
    held.reset();
    return begin_round(0);
  }
  StateReader reader(event.core);
  restore(reader);
  reader.require(round == event.round);
  if (const Status whole = reader.finish(); !whole)
    return fail(fmt::format("node {}: the checkpoint of round {} holds {}", name(self), event.round,
                            whole.error().message));
  held = last_saved = round;
  begin_round(next);
}

Result<Progress> progress_in(std::span<const std::byte> core) {
  Progress progress;
  StateReader reader(core);
  reader.get(progress);
  if (!reader.ok()) return reader.finish().error();
  return progress;
}

std::vector<std::byte> core_state_of(const Progress& progress) {
  std::vector<std::byte> core;
  {
    StateWriter writer(core);
    writer.put(progress);
    writer.put(false);
  }
  return core;
}

}  // namespace kimesh
