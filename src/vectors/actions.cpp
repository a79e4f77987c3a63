// The core's actions on vectors.
#include <algorithm>
#include <cmath>
#include <utility>

#include "kimesh/codec/payload.h"
#include "kimesh/ef21/channel.h"
#include "kimesh/kernels/blocks.h"
#include "kimesh/util/check.h"
#include "store.h"

namespace kimesh {

using kernels::ConstMemorySpan;
using kernels::MemorySpan;

// While a movement is under way w lacks it, and what it predicts of the next one is known with the
// noise of one node's batch: the point goes all of the way to the first, and half of the way to the
// second. Of 1, 1.5, 1.9 and 2.5 movements together 1.5 took fewest rounds (docs/experiments.md).
constexpr double kMovementUnderWay = 1, kNextMovement = 0.5;

namespace {

// The floats of a dense payload that begins where floats may lie.
ConstMemorySpan floats_of(std::span<const std::byte> payload) {
  const auto floats = floats_in_place(payload);
  KIMESH_CHECK(floats, "a payload that begins where floats may lie");
  return ConstMemorySpan(*floats);
}

}  // namespace

ConstMemorySpan Vectors::Store::brought_by(ChannelIndex channel) const {
  const auto found = brought_.find(channel);
  return found == brought_.end() ? ConstMemorySpan{} : floats_of(found->second.bytes());
}

const Arrivals* Vectors::Store::arrivals_of(BufferId term) const {
  if (!sums_arrivals() || term.kind != BufferId::Kind::kEstimate) return nullptr;
  const auto found = arrivals_.find(plan_.channels[term.index].shard);
  return found == arrivals_.end() ? nullptr : &found->second;
}

Vectors::Store::Scaled Vectors::Store::wish(Round round) const {
  if (is_sum_) return {sum_scale_, is_sum_apart_ ? sent_ : moved_};
  return last_step(round);
}

Vectors::Store::Scaled Vectors::Store::last_step(Round round) const {
  if (worker_optimizer_) return {-1, step_};
  const double rate = sends_movements() ? options_.optimizer.learning_rate(round) : 1;
  return {rate, is_in_velocity_ ? velocity_ : gradient_};
}

Vectors::Store::Scaled Vectors::Store::contribution(Round round) const {
  const auto [factor, vector] = wish(round);
  KIMESH_CHECK(!vector.empty(), "a movement, before training has ended");
  return {options_.data_weight * factor, vector};
}

Status Vectors::Store::take_movement(const TakeMovement& action) {
  if (!allocated_) return allocated_;
  KIMESH_CHECK(options_.looks_ahead, "a node that looks ahead");
  const bool next_sums = sums_steps(action.next_steps, action.next_scale);
  made_for_ = action.next_steps;
  if (!sums_) {
    kernels::Memory& memory = moves_with_gradient() ? gradient_memory_ : memory_;
    make_movement(action.round, memory, action.taken_ahead);
    if (Status made = memory.finish(); !made) return made;
    KIMESH_CHECK(!action.overlap || is_in_velocity_ || worker_optimizer_,
                 "a movement that the next gradient leaves alone");
  }
  // The next gradient's steps change what this movement is in, before it is sent.
  is_sum_apart_ = action.overlap && next_sums;
  if (is_sum_apart_) {
    if (Status made = make(sent_, memory_); !made) return made;
    if (sums_) {
      std::swap(moved_, sent_);
    } else {
      const auto [factor, step] = last_step(action.round);
      memory_.scale(static_cast<float>(factor), step.floats(), sent_.floats());
    }
  }
  is_sum_ = sums_ || is_sum_apart_;
  sum_scale_ = scale_;
  // The parameters do not hold this movement yet.
  if (action.overlap)
    look_ahead(kMovementUnderWay, kNextMovement * share_of_next_step(), next_sums, memory_);
  return memory_.finish();
}

Vectors::Store::Term Vectors::Store::term_of(BufferId term, ShardIndex shard, Round round) const {
  if (term.kind == BufferId::Kind::kContribution) {
    KIMESH_CHECK(term.index == shard, "a contribution of the action's shard");
    const auto [factor, vector] = contribution(round);
    return {shard_of(vector, shard), static_cast<float>(factor)};
  }
  const Arrivals* const arrivals = arrivals_of(term);
  const ConstMemorySpan source = arrivals != nullptr ? arrivals->sum() : readable(term);
  KIMESH_CHECK(source.size == plan_.shards[shard].size,
               "a term that this node holds, of the shard's size");
  return {source, std::nullopt};
}

void Vectors::Store::add_term(const Term& term, std::size_t begin, MemorySpan out, bool first) {
  const ConstMemorySpan source = term.floats.subspan(begin, out.size);
  if (!term.factor) return first ? memory_.copy(source, out) : memory_.add(source, out);
  return first ? memory_.scale(*term.factor, source, out)
               : memory_.add_scaled(*term.factor, source, out);
}

ConstMemorySpan Vectors::Store::readable(BufferId term) const {
  switch (term.kind) {
    case BufferId::Kind::kParameters:
      return shard_of(parameters_, term.index);
    case BufferId::Kind::kOwned:
      return owned_of(term.index);
    case BufferId::Kind::kEstimate:
      return reads_payloads() ? brought_by(term.index) : estimate_of(term.index);
    case BufferId::Kind::kContribution:
      break;
  }
  KIMESH_CHECK(false, "a contribution has a factor");
  return {};
}

std::vector<Vectors::Store::Term> Vectors::Store::terms_of(std::span<const BufferId> terms,
                                                           ShardIndex shard, Round round) const {
  std::vector<Term> found;
  for (const BufferId term : terms) {
    const Arrivals* const arrivals = arrivals_of(term);  // one sum for all children
    if (arrivals != nullptr && !arrivals->is_first(term.index)) continue;
    found.push_back(term_of(term, shard, round));
  }
  return found;
}

bool Vectors::Store::is_in_place(std::span<const BufferId> terms) {
  return terms.size() == 1 &&
         (terms[0].kind == BufferId::Kind::kParameters || terms[0].kind == BufferId::Kind::kOwned);
}

MemorySpan Vectors::Store::sum(std::span<const BufferId> terms, ShardIndex shard, Round round) {
  KIMESH_CHECK(!terms.empty(), "a sum has a term");
  if (is_in_place(terms))
    return terms[0].kind == BufferId::Kind::kOwned ? owned_of(terms[0].index)
                                                   : shard_of(parameters_, terms[0].index);
  const std::vector<Term> found = terms_of(terms, shard, round);
  const MemorySpan whole = target_.floats().subspan(0, plan_.shards[shard].size);
  kernels::for_each_block(memory_, whole.size, [&](std::size_t begin, std::size_t size) {
    const MemorySpan out = whole.subspan(begin, size);
    for (const Term& term : found) add_term(term, begin, out, &term == &found.front());
  });
  return whole;
}

Result<Advanced> Vectors::Store::send_sum(const AdvanceChannel& action) {
  std::vector<kernels::SumTerm> terms;
  const ShardIndex shard = plan_.channels[action.channel].shard;
  for (const Term& term : terms_of(action.terms, shard, action.round))
    terms.push_back({memory_.view(term.floats), term.factor});
  return advance_sum(terms);
}

Result<Advanced> Vectors::Store::send(const AdvanceChannel& action, MemorySpan target,
                                      MemorySpan estimate) {
  const ChannelEnd sender{memory_, estimate};
  const ChannelMessage message{pieces_of(plan_.channels[action.channel].shard), action.setting,
                               action.restart, action.curve};
  if (action.feedback != Feedback::kEf14 || estimate.empty())
    return advance_channel(sender, target, message, scratch_);
  // The sum of a reduce is made in `target_`, which nobody reads after this.
  KIMESH_CHECK(target.data == target_.floats().data, "what a reduce wants is a sum");
  return advance_residual(sender, target, message, scratch_);
}

Result<AdvanceDone> Vectors::Store::advance(const AdvanceChannel& action) {
  if (!allocated_) return allocated_.error();
  const ShardIndex shard = plan_.channels[action.channel].shard;
  const MemorySpan estimate = writable(action.estimate, shard);
  if (Status there = check_brought(action.terms, action.round); !there) return there.error();
  const bool only_sends = memory_.on_host() && estimate.empty() && !is_in_place(action.terms);
  MemorySpan target;
  if (!only_sends) target = sum(action.terms, shard, action.round);
  auto made = only_sends ? send_sum(action) : send(action, target, estimate);
  if (!made && made.error().code == ErrorCode::kNotFinite) {
    if (only_sends) target = sum(action.terms, shard, action.round);
    const auto bad = memory_.first_not_finite(target);
    return bad ? not_finite(*bad, shard) : bad.error();
  }
  if (!made) return made.error();
  release(action.terms);
  if (action.estimate.kind == BufferId::Kind::kParameters) host_is_behind_ = true;
  const ConstMemorySpan sent = only_sends ? floats_of(made->bytes) : target;
  const auto digest = action.digest ? channel_digest({memory_, estimate}, sent) : finish();
  if (!digest) return digest.error();
  AdvanceDone done;
  done.channel = action.channel;
  done.round = action.round;
  done.form = made->form;
  done.wanted_energy = made->wanted_energy;
  done.energy_to_send = made->energy_to_send;
  done.missing_energy = made->missing_energy;
  done.digest = *digest;
  done.curve = std::move(made->curve);
  done.kept = made->kept;
  done.piece_kept = std::move(made->piece_kept);
  done.payload = Payload(std::move(made->bytes));
  return done;
}

Status Vectors::Store::hold(const ApplyMessage& action) {
  const std::size_t size = plan_.shards[plan_.channels[action.channel].shard].size;
  if (action.form != Form::kDense) return malformed("a part of the elements, where all are sent");
  const std::span<const std::byte> bytes = action.payload.bytes();
  if (Status valid = validate(action.form, bytes, size); !valid) return valid;
  brought_[action.estimate.index] =
      floats_in_place(bytes) ? action.payload.share()
                             : Payload(std::vector<std::byte>(bytes.begin(), bytes.end()));
  return ok_status();
}

// A peer that breaks the protocol may have said a round early that it sends nothing, or have sent
// what another round was to bring.
Status Vectors::Store::check_brought(std::span<const BufferId> terms, Round round) const {
  for (const BufferId term : terms) {
    if (term.kind != BufferId::Kind::kEstimate) continue;
    if (reads_payloads() && !brought_.contains(term.index))
      return malformed("nothing, where all elements are sent");
    const Arrivals* const arrivals = arrivals_of(term);
    if (arrivals != nullptr && !arrivals->are_all_of(round))
      return malformed("nothing of a child for this round, where all bring a part of the sum");
  }
  return ok_status();
}

void Vectors::Store::release(std::span<const BufferId> terms) {
  for (const BufferId term : terms) {
    if (term.kind != BufferId::Kind::kEstimate) continue;
    brought_.erase(term.index);
    const auto arrivals = arrivals_.find(plan_.channels[term.index].shard);
    if (arrivals != arrivals_.end()) arrivals->second.clear();
  }
}

Result<std::uint64_t> Vectors::Store::apply(const ApplyMessage& action) {
  if (!allocated_) return allocated_.error();
  if (reads_payloads() && action.estimate.kind == BufferId::Kind::kEstimate) {
    if (Status held = hold(action); !held) return held.error();
    return action.digest ? memory_.digest(brought_by(action.estimate.index)) : finish();
  }
  const ShardIndex shard = plan_.channels[action.channel].shard;
  if (arrivals_of(action.estimate) != nullptr)
    return arrivals_.at(shard).take(action, memory_,
                                    target_.floats().subspan(0, plan_.shards[shard].size));
  const MemorySpan estimate = writable(action.estimate, shard);
  KIMESH_CHECK(!estimate.empty(), "a receiver holds its estimate");
  const Status applied =
      apply_to_channel({memory_, estimate}, action.form, action.payload.bytes(), action.restart);
  if (!applied) return applied.error();
  if (action.estimate.kind == BufferId::Kind::kParameters) host_is_behind_ = true;
  return action.digest ? memory_.digest(estimate) : finish();
}

Result<double> Vectors::Store::energy_of(BufferId term, ShardIndex shard, Round round) const {
  if (const Arrivals* const arrivals = arrivals_of(term)) return arrivals->energy(term.index);
  if (term.kind != BufferId::Kind::kContribution) return memory_.energy(readable(term));
  const auto [factor, vector] = contribution(round);
  const auto energy = memory_.energy(shard_of(vector, shard));
  if (!energy) return energy.error();
  return factor * factor * *energy;
}

// From three energies, without the terms' products: ‖Σ a‖² is Σ ‖a‖² and the products of all pairs.
Result<Agreement> Vectors::Store::agreement(const StepShard& action,
                                            kernels::ConstMemorySpan whole) const {
  const auto of_sum = memory_.energy(whole);
  if (!of_sum) return of_sum.error();
  double of_terms = 0, lengths = 0;
  for (const BufferId term : action.terms) {
    const auto energy = energy_of(term, action.shard, action.round);
    if (!energy) return energy.error();
    of_terms += *energy;
    lengths += std::sqrt(*energy);
  }
  const double weight = std::max(lengths * lengths - of_terms, 0.0);
  return Agreement{std::clamp(*of_sum - of_terms + weight, 0.0, 2 * weight), weight};
}

Result<StepDone> Vectors::Store::step(const StepShard& action) {
  if (!allocated_) return allocated_.error();
  if (Status there = check_brought(action.terms, action.round); !there) return there.error();
  const MemorySpan direction = sum(action.terms, action.shard, action.round);
  const auto bad = memory_.first_not_finite(direction);
  if (!bad) return bad.error();
  if (*bad) {
    release(action.terms);  // the next messages may be there before the run ends by this
    return not_finite(*bad, action.shard);
  }
  StepDone done{action.shard, action.round};
  if (action.agreement) {
    const auto agreement = this->agreement(action, direction);
    if (!agreement) return agreement.error();
    done.agreement = *agreement;
  }
  const MemorySpan parameters = owned_of(action.shard);
  if (!owned_.contains(action.shard)) host_is_behind_ = true;
  if (sends_movements())
    step_by_movement(options_.optimizer, memory_, action.round,
                     {direction, options_.local_steps.of_mesh * action.local_steps}, parameters);
  else
    optimizers_.at(action.shard).step(action.round, parameters, direction);
  release(action.terms);
  const auto digest = action.digest ? memory_.digest(parameters) : finish();
  if (!digest) return digest.error();
  done.digest = *digest;
  return done;
}

Result<std::uint64_t> Vectors::Store::finish() {
  if (Status done = memory_.finish(); !done) return done.error();
  return std::uint64_t{0};
}

}  // namespace kimesh
