// The state of a core. Its functions are in files by subject: core.cpp (events), gradients.cpp
// (gradients and evaluations), exchange.cpp (shards and channels), agree.cpp (control vector,
// closing, end), offer.cpp (what a node says of its messages), round_time.cpp (how long a round
// takes), checkpoint.cpp (saving and resuming), liveness.cpp (waiting, and giving up).
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "agreed_bits.h"
#include "channels.h"
#include "data_likeness.h"
#include "first_rounds.h"
#include "kimesh/policy/loss_guard.h"
#include "kimesh/round/core.h"
#include "kimesh/round/progress.h"
#include "kimesh/util/state_bytes.h"
#include "link_book.h"
#include "recent_median.h"
#include "step_multiple.h"
#include "stretch_watch.h"
#include "wait_watch.h"
#include "work_times.h"

namespace kimesh {

// Whether messages are as large as their links carry in a round's time.
[[nodiscard]] inline bool fills_rounds(const CoreOptions& options) {
  return options.policy.policy && options.policy.policy->round_time_use() != RoundTimeUse::kNone;
}

// Events that report the end of vector work, and the actions that ask for it.
template <typename E>
inline constexpr bool kEndsVectorWork =
    std::is_same_v<E, AdvanceDone> || std::is_same_v<E, ApplyDone> || std::is_same_v<E, StepDone> ||
    std::is_same_v<E, MovementTaken> || std::is_same_v<E, StateSaved> ||
    std::is_same_v<E, StateLoaded>;
template <typename A>
inline constexpr bool kIsVectorWork = std::is_constructible_v<VectorWork, A>;

class Core::State {
 public:
  State(const Plan& plan, NodeIndex self, CoreOptions options, const DecisionSource* replay);

  void start();
  void on(const LinkUp&) {}
  void on(const LinkDown& event);
  void on(MessageArrived event);
  void on(const MessageAcked& event);
  void on(const MessageApplied& event);
  void on(const PeerHeard& event);
  void on(const PeerBye& event);
  void on(const PeerHalted& event);
  void on(const GradientDone& event);
  void on(const Evaluated& event);
  void on(AdvanceDone event);
  void on(const ApplyDone& event);
  void on(const StepDone& event);
  void on(const MovementTaken& event);
  void on(const WorkFailed& event);
  void on(const Tick&);
  void on(const StopNow& event);
  void on(const SaveNow&) { wants_checkpoint = true; }
  void on(const StateSaved& event);
  void on(const StateLoaded& event);
  void on(const StateHeld& event) { held = event.round; }

  [[nodiscard]] std::string waiting_for() const;

  // Valid during one call of start() or handle().
  std::vector<Action>* actions = nullptr;
  TimePoint now{};

  bool finished = false;
  Round round = 0;
  std::uint64_t lineage = 0;
  LinkBook links;
  WaitWatch wait_watch;
  WorkWatch vector_watch;
  [[nodiscard]] Duration wait_limit() const;

 private:
  friend class Core;

  // Values of ControlVector::stop_wish and checkpoint_wish, of which the mesh takes the largest; in
  // the agreement on a checkpoint they are kMayHaveLost and kHasEnded.
  static constexpr double kTimeIsOver = 1, kTrafficIsSpent = 2;
  static constexpr double kMayHaveLost = 1;
  static constexpr double kCheckpointIsWanted = 1, kHasEnded = 1;

  struct Peer {
    NodeIndex node = 0;
    bool bye = false;
  };
  // Of a link from or to this node: when its far node was heard over it.
  struct LinkLife {
    LinkIndex link = 0;
    NodeIndex far = 0;
    TimePoint heard{};
  };

  // core.cpp
  void prepare_curves();
  void order_reduces();

  // gradients.cpp
  void begin_own_part();
  void continue_own_part();
  void end_own_part();
  void ask_gradient(Round of, GradientPoint at);
  [[nodiscard]] Ahead way_of_round() const;
  [[nodiscard]] RoundSteps steps_of_round() const;
  void take_verdict(const Verdict& next);

  // exchange.cpp
  void begin_round(Round next);
  void try_reduce(ShardIndex shard);
  void send_gathers(ShardIndex shard);
  void make_due(OutgoingChannel& out);
  void send_when_free(OutgoingChannel& out);
  void begin_message(OutgoingChannel& out);
  [[nodiscard]] unsigned encodings_waited_for() const;
  void begin_encoding(OutgoingChannel& out, Round of, const Setting& setting);
  void time_encoding(OutgoingChannel& out, const AdvanceDone& event, std::size_t bytes);
  [[nodiscard]] bool restarts(const OutgoingChannel& out, Round of) const;
  void advance(OutgoingChannel& out);
  void send_confirmation(OutgoingChannel& out);
  void apply_pending(IncomingChannel& in);
  [[nodiscard]] bool may_apply(const IncomingChannel& in, Round message_round) const;
  void applied(IncomingChannel& in, ApplyOutcome outcome);
  void shard_is_current(ShardIndex shard);
  void try_finish_round();
  void finish_round();

  // checkpoint.cpp
  [[nodiscard]] Verdict first_verdict() const;
  [[nodiscard]] bool is_drained() const;
  void call_checkpoint(Verdict& next, const ControlVector& from_all);
  void save_state();
  template <typename Self>
  static auto plain_state_of(Self& self);
  [[nodiscard]] Progress progress() const;
  void go_on_from(const Progress& from);
  void save(StateWriter& writer) const;
  void restore(StateReader& reader);
  [[nodiscard]] bool may_apply_while_agreeing(const IncomingChannel& in);
  [[nodiscard]] std::string unsuitable(const IncomingChannel& in) const;
  // Whether this node holds a checkpoint, or has never had one.
  [[nodiscard]] bool holds_nothing_lost() const {
    return held.has_value() || options.checkpoints.never_held;
  }
  void end_agreement();

  // shared_gather.cpp
  [[nodiscard]] bool is_shared(const Channel& channel) const {
    return shares_gathers && channel.phase == Phase::kGather;
  }
  void limit_gather(ShardIndex shard);
  void make_shared_message(ShardIndex shard);
  void shared_message_made(AdvanceDone event);
  void begin_shared_message(OutgoingChannel& out);
  void send_shared_message(OutgoingChannel& out);
  void assign_parameters(OutgoingChannel& out);

  // choose.cpp
  [[nodiscard]] MessageContext context_of(const OutgoingChannel& out, Round of) const;
  void report_layers(const AdvanceDone& event);
  void observe(const AdvanceDone& event, OutgoingChannel& out);
  void tell_policy(Duration took);
  [[nodiscard]] double stop_wish() const;
  [[nodiscard]] double checkpoint_wish() const;
  [[nodiscard]] bool owns(ShardIndex shard) const { return plan.shards[shard].owner == self; }
  // Whether this node keeps x[s] apart from its w[s], which moves by what it sends.
  [[nodiscard]] bool keeps_owned_apart(ShardIndex shard) const {
    return compresses && options.one_point && owns(shard) &&
           !plan.node_channels[shard][self].gather_out.empty();
  }
  // The channel that stands for a shared message, and whose messages move w[s] where
  // keeps_owned_apart. Requires an owner with children.
  [[nodiscard]] ChannelIndex lead_of(ShardIndex shard) const {
    return plan.node_channels[shard][self].gather_out.front();
  }
  [[nodiscard]] std::optional<Setting> choose(OutgoingChannel& out, const MessageRound& of);
  [[nodiscard]] bool digest_is_due(Round of) const;
  [[nodiscard]] bool has_digest(const Channel& channel, Round of) const;
  [[nodiscard]] std::size_t overhead(const OutgoingChannel& out, Round of) const;
  [[nodiscard]] std::size_t wire_bytes_of(const Message& message) const;
  [[nodiscard]] Control control_for(const Channel& channel) const;
  IncomingChannel& incoming(ChannelIndex channel);
  OutgoingChannel& outgoing(ChannelIndex channel);

  // offer.cpp
  // The sums over this node's messages whose size it chooses: bytes of payloads and of frames, and
  // elements.
  struct MessageBytes {
    double payload = 0, frames = 0, elements = 0;
  };
  [[nodiscard]] bool wants_curve(Round of) const;
  [[nodiscard]] bool wants_agreement(Round of) const;
  [[nodiscard]] bool is_own_choice(const OutgoingChannel& out) const;
  [[nodiscard]] double weight_of(const OutgoingChannel& out) const;
  void offer_exchange();
  void offer_multiple();
  [[nodiscard]] bool data_seem_unlike() const;
  [[nodiscard]] bool may_send_even_messages() const;
  void tell_room();
  [[nodiscard]] MessageBytes bytes_of_last_round() const;
  [[nodiscard]] double time_of_smallest_messages() const;
  [[nodiscard]] double room_by_last_round() const;

  // round_time.cpp
  [[nodiscard]] Duration round_time() const;
  void plan_round();
  [[nodiscard]] double over_plan(Duration took) const;
  [[nodiscard]] Duration time_besides_bytes() const;
  [[nodiscard]] Duration time_of_round_trips() const;
  [[nodiscard]] Duration time_before_messages() const;
  [[nodiscard]] std::optional<RoundsOfSize> rounds_of_even_messages() const;
  [[nodiscard]] double agree_on_bits(double room);
  [[nodiscard]] std::string search_state() const;
  void choose_pace(const ControlVector& from_all, Verdict& next);
  [[nodiscard]] Ahead first_way() const;
  [[nodiscard]] unsigned steps_within(double seconds, unsigned most) const;
  [[nodiscard]] bool may_begin_with_steps() const;
  [[nodiscard]] unsigned first_steps() const;
  [[nodiscard]] Pace next_pace(const Pace& present, const ExchangeOffer& offer);
  [[nodiscard]] double measured_messages_s() const;
  [[nodiscard]] bool gradients_hide_messages(double round_s) const;
  void learn_smallest(double offered_s);
  void learn_floor(const ExchangeOffer& offer, double exchange_s, double messages_s);
  void check_round_time(const MessageContext& context);

  // agree.cpp
  [[nodiscard]] Verdict decide_verdict(const ControlVector& sum);
  [[nodiscard]] Verdict choose_verdict(const ControlVector& sum);
  void count_hits(const Verdict& latest);
  [[nodiscard]] bool reached(StopReason target, const Verdict& latest) const;
  void call_closing(Verdict& next, const ControlVector& sum);
  void end_confirmation(Verdict& next, const ControlVector& from_all);
  [[nodiscard]] Duration run_clock() const;
  [[nodiscard]] bool may_still_leave(const Peer& peer) const;
  void try_end();
  void fail(std::string why, HaltKind kind = HaltKind::kFailure);
  void halt(HaltKind kind, const std::string& why);
  void finish(Outcome outcome, StopReason reason, std::string text);

  // liveness.cpp
  void check_peers();
  void check_trainer();
  void check_vector_work();
  void check_wait();
  void hear_all();
  [[nodiscard]] Duration trainer_limit(const TrainerWatch& watch) const;
  [[nodiscard]] Duration disk_limit() const;
  [[nodiscard]] Duration slowest_round_time() const;

  [[nodiscard]] Message message_for(const OutgoingChannel& out) const;
  // Nothing follows Finish: what a handler still asks for behind a failure is left out.
  template <typename T>
  void emit(T action) {
    if (finished) return;
    if constexpr (kIsVectorWork<T>) vector_watch.begin(now);
    actions->push_back(std::move(action));
  }
  [[nodiscard]] const std::string& name(NodeIndex node) const { return plan.view.nodes[node]; }
  [[nodiscard]] std::string describe(ChannelIndex channel) const;

  const Plan& plan;
  const NodeIndex self;
  const CoreOptions options;
  const DecisionSource* const replay;
  const bool compresses;      // some messages are not dense
  const bool shares_gathers;  // owners' messages are forwarded: Gather::kShared, or all are dense
  std::unique_ptr<Policy> policy;
  const bool searches;  // for the round time (round_time.cpp)
  const Duration slowest_round;

  std::vector<IncomingChannel> ins;
  std::vector<OutgoingChannel> outs;
  std::unordered_map<ChannelIndex, std::uint32_t> in_position, out_position;
  std::vector<ShardState> shards;
  std::vector<ShardIndex> reduce_order;  // of shards whose reduces could begin at once
  std::vector<Peer> peers;
  std::vector<LinkLife> lives;

  bool begun = false;        // start() was called
  bool agreeing = false;     // on the checkpoint to go on from; `round` is 0 meanwhile
  bool saves_state = false;  // this round ends with a checkpoint
  bool is_saving = false;    // its state is being copied, or an earlier one brought back
  bool confirming = false;   // this round is a confirmation round
  // This round's gradient (or confirming evaluation) is there; w is read only until then.
  bool own_ready = false;
  bool evaluating = false, evaluates = false;  // now; in this round
  TrainerWatch gradient_watch, evaluation_watch;
  Ahead ahead = Ahead::kNo;  // how this round takes gradients
  double even_bits = 0;      // of its messages; 0: each link has its own
  // How long this round was to take before its messages, and for them, as of its begin: the verdict
  // that ends it tells the next round's. plan_round() sets both.
  Duration planned_before{0}, planned_exchange{0};
  Round gradient_asked = kNoRound;  // the last one
  GradientPoint asked_at = GradientPoint::kParameters;
  RoundSteps asked_steps;  // local steps of the last gradient
  RoundSteps next_steps;   // local steps for which the last point was made
  RoundSteps round_steps;  // local steps of this round's gradient
  StepMultiple multiple;
  std::uint64_t steps_taken = 0;  // before the next gradient; a round without one counts as one
  std::optional<GradientDone> gradient;   // of this round or the next one, until it is used
  bool ending = false, said_bye = false;  // the last round is over; and peers know
  TimePoint started{}, ended_at{}, last_tick{};
  Duration evaluated{0};  // time of evaluations, which the run's clock leaves out
  std::size_t shards_current = 0;
  WorkTimes work_times;
  FirstRounds first_rounds;
  RecentMedian compute_times;  // T_comp by round, of one local step; at the owner of shard 0
  StretchWatch stretch;        // at the owner of shard 0
  RecentMedian round_times;    // evaluation left out; of rounds from `settled` on, with one pace
  RecentMedian message_times;  // of the same rounds, from the end of this node's own part on
  Round settled = 0;
  TimePoint own_part_ended{};  // in this round
  double took_s = 0;           // by the last round, evaluation left out
  Agreement agreement;         // of owners' sums since the last offer
  DataLikeness data;           // at the owner of shard 0, as the next six
  LossGuard loss_guard;
  AgreedBits agreed_bits;
  RecentOffers offers;
  double delay = 0;       // present_delay() of their mean
  double floor_s = 0;     // PaceRules::floor_s
  double smallest_s = 0;  // ExchangeOffer::smallest_s, as learnt
  // When the time of messages was measured last: the exchange, and that time.
  double last_exchange_s = 0, last_messages_s = 0;
  Round offered = kNoRound;         // last round in which offer_exchange said something
  bool complained_of_time = false;  // check_round_time has

  ControlVector own;                          // of this round
  ControlVector sum;                          // of this round, with the children's
  Verdict verdict;                            // the owner's latest
  unsigned accuracy_hits = 0, loss_hits = 0;  // in a row; at the owner of shard 0
  Round trained = 0;                          // rounds with a gradient so far, this one included
  StopReason stop_reason = StopReason::kNone;

  bool wants_checkpoint = false;    // a user of this node does
  std::optional<Round> held;        // the newest checkpoint that this node holds
  std::optional<Round> last_saved;  // the round whose state this process copied last, or began with
  Round since_checkpoint = 0;       // at the owner of shard 0: the first round after the last one
  TimePoint checkpoint_called{};    // when the owner of shard 0 called the last one

  RoundReport report;
  std::uint64_t traffic = 0;          // bytes of all messages so far
  std::uint64_t traffic_reserve = 0;  // bytes kept free for an orderly end

  // Input of the policy: curves by group (outgoing link and phase), and the messages of the round.
  bool measures = false;
  struct Group {
    std::vector<const Curve*> curves;
    Round round = kNoRound;  // the round that `spent` and `sent` count
    std::size_t spent = 0;   // bytes that the policy gave to messages of this round
    unsigned sent = 0;
  };
  std::vector<Group> groups;
  std::vector<MessageObservation> observations;
};

}  // namespace kimesh
