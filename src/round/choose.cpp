// What the policy is told, and what it chooses.
#include <algorithm>
#include <utility>

#include "state.h"

namespace kimesh {
namespace {

// A reduce that starts from 0 has all of the gradient to say again. In one message of the usual
// size the gradient that the owner sees would shrink to what that holds; four times as much bring
// back most of it, and take at most a few rounds' time once.
constexpr std::uint64_t kRestartGrowth = 4;

// The setting with so many times its budget; dense where that is no longer.
Setting enlarged(Setting setting, std::uint64_t factor, std::size_t elements) {
  if (setting.budget.is_dense() || setting.budget.kind == Budget::Kind::kOwn) return setting;
  setting.budget.amount *= factor;
  if (setting.allocation == Allocation::kListed) {  // the shares are those of a smaller message
    setting.allocation = Allocation::kGlobal;
    setting.shares.clear();
  }
  const bool keeps_all =
      setting.budget.kind == Budget::Kind::kKeep && setting.budget.amount >= elements;
  if (keeps_all || bytes_of(setting, elements) >= dense_bytes(elements)) return Setting{};
  return setting;
}

// The setting of a gather. What one gather leaves out the next one sends, whatever `feedback` says
// of reduces, and these errors would grow with a codec that is not contractive.
Setting contractive(Setting setting) {
  if (setting.budget.is_dense() || setting.codec->traits().contractive) return setting;
  setting.codec = setting.codec->contractive_codec();
  return setting.codec == nullptr ? Setting{} : setting;
}

}  // namespace

// What the policy may know of the channel's message of round `of`, whether or not it is to choose
// its setting.
MessageContext Core::State::context_of(const OutgoingChannel& out, Round of) const {
  const Channel& channel = plan.channels[out.channel];
  const bool reduce = channel.phase == Phase::kReduce;
  MessageContext context = links.context(out.link);
  context.phase = channel.phase;
  context.elements = plan.elements(out.channel);
  // A policy that divides the bytes of a link among its messages counts with equal parts.
  context.slots = measures ? plan.slots : channel.slots;
  context.hops = plan.hops;
  context.overhead_bytes = overhead(out, of);
  context.chunk_overhead_bytes = options.chunk_overhead_bytes;
  context.round = of;
  context.round_time = round_time();
  context.compute_time = time_before_messages();
  context.own_step_time = from_seconds(own.compute_s);
  context.encode_s_per_byte = out.coding_time.per_byte();
  context.timed_encodings = static_cast<unsigned>(out.coding_time.count());
  context.curve = out.curve.empty() ? nullptr : &out.curve;
  // With one local step, each round of delay adds the share cost_of_delay() to the rounds that
  // training needs. A message's part in the mesh's delay counts once for each node: all nodes
  // choose alike, and while their delays add up, they code at the same time. Where nodes do not
  // look ahead, data may be unlike, and delay may cost more than that. What agreement adds
  // (kCostOfDelayOfAgreement) only the owner of shard 0 knows.
  if (searches && ahead != Ahead::kNo) {
    const double round_s = std::max(to_seconds(context.round_time), verdict.compute_s);
    const auto nodes = static_cast<double>(plan.view.nodes.size());
    context.delay_cost_s =
        cost_of_delay(ahead, !plan.has_one_hop_each_way()) * round_s * nodes * weight_of(out);
  }
  context.even_bits = even_bits;
  context.encodings = shares_gathers ? plan.hops / 2 + 1 : plan.hops;
  const WorkTimes::OfRound work = work_times.of_round(plan.hops, context.encodings);
  context.work_time = work.work;
  context.encode_time = work.encodings;
  context.encodings_waited_for = encodings_waited_for();
  context.round_time_is_searched = searches && !options.policy.round_time;
  context.is_compressed_again = !plan.has_one_hop_each_way() && !is_shared(channel) &&
                                !(reduce && options.feedback == Feedback::kEf14);
  if (is_shared(channel))
    context.limit_bytes = static_cast<std::size_t>(shards[channel.shard].gather_limit);
  return context;
}

unsigned Core::State::encodings_waited_for() const {
  return plan.reduces_at_once - 1 + (shares_gathers ? 0 : plan.gathers_at_once - 1);
}

// The setting of the channel's next message; nothing: the replayed log has none.
std::optional<Setting> Core::State::choose(OutgoingChannel& out, const MessageRound& of) {
  if (replay) return replay->setting(out.channel, of.round);
  const Channel& channel = plan.channels[out.channel];
  const bool gather = channel.phase == Phase::kGather;
  MessageContext context = context_of(out, of.round);
  if (measures) {
    Group& group = groups[out.group];
    if (group.round != of.round) group = {std::move(group.curves), of.round, 0, 0};
    context.curves = group.curves;
    context.own = out.place;
    context.phase_spent_bytes = group.spent;
    context.phase_messages_sent = group.sent;
  }
  check_round_time(context);
  // A gather is dense, whatever the budget, in the closing round, which makes the models equal, and
  // where it begins a new generation. A shared message belongs to all children: models are equal
  // already, and one child's reset does not make it dense.
  const bool assigns = (of.closing || out.restart) && !is_shared(channel);
  if (gather && assigns) return Setting{};
  const Choice choice = policy->choose(context);
  links.add_budget(out.link, choice.budget_bytes);
  if (measures) {
    groups[out.group].spent += choice.budget_bytes;
    ++groups[out.group].sent;
  }
  if (gather) return contractive(choice.setting);
  const bool begins_at_zero = out.restart && options.feedback == Feedback::kEf21;
  return begins_at_zero ? enlarged(choice.setting, kRestartGrowth, context.elements)
                        : choice.setting;
}

// Keeps the message's curve where it was measured, and tells the policy of the message where that
// wants curves. A channel may be advanced twice between two reports, since a
// gather may end after its round; the later message counts then.
void Core::State::observe(const AdvanceDone& event, OutgoingChannel& out) {
  if (!event.curve.empty()) out.curve = event.curve;
  if (!measures) return;
  const MessageContext context = context_of(out, event.round);
  const MessageObservation observation{
      context.link_number, context.phase,        context.elements,
      event.wanted_energy, event.missing_energy, event.curve.empty() ? nullptr : &out.curve,
      out.budget,          event.kept,           context.is_compressed_again,
      round_cost(context)};
  if (out.observation < observations.size()) {
    observations[out.observation] = observation;
    return;
  }
  out.observation = observations.size();
  observations.push_back(observation);
}

void Core::State::tell_policy(Duration took) {
  if (searches) report.policy_state = search_state();
  if (!measures) return;
  if (!confirming) policy->observe({round, std::max(took, Duration{0}), observations});
  observations.clear();
  for (OutgoingChannel& out : outs) out.observation = OutgoingChannel::kUnobserved;
  report.policy_state = policy->state();
}

}  // namespace kimesh
