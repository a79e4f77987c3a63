// A node's own part of a round: its evaluation, where one is due, and its gradient. Where rounds
// overlap, the gradient of the next round is computed beside the messages of this one.
#include "kimesh/util/check.h"
#include "state.h"

namespace kimesh {
void Core::State::begin_own_part() {
  ahead = way_of_round();
  even_bits = may_send_even_messages() ? verdict.even_bits : 0;
  plan_round();
  links.hold_rates(searches && round > kOfferEvery && data_seem_unlike());
  evaluates = options.has_test_set && !agreeing &&
              (confirming ||
               (options.evaluate_every > 0 && round > 0 && round % options.evaluate_every == 0));
  evaluating = evaluates;
  if (evaluating) {
    evaluation_watch.begin(now);
    emit(Evaluate{round});
  }
  continue_own_part();
}

// Called when something of this node's part has ended.
void Core::State::continue_own_part() {
  if (own_ready || evaluating) return;
  if (confirming) {
    if (!agreeing) ++steps_taken;
    return end_own_part();
  }
  if (!gradient) {
    const bool looks = ahead != Ahead::kNo;
    if (gradient_asked != round)
      ask_gradient(round, looks ? GradientPoint::kAhead : GradientPoint::kParameters);
    return;
  }
  KIMESH_CHECK(gradient->round == round, "a gradient is used in its round");
  own.loss = options.data_weight * gradient->loss;
  round_steps = asked_steps;
  own.compute_s = to_seconds(gradient->took) / round_steps.slowest;
  if (options.chooses_multiples) {
    multiple.add(to_seconds(gradient->took) / round_steps.own());
    own.step_s = multiple.step_s();
  }
  report.own_loss = gradient->loss;
  report.compute += gradient->took;
  gradient.reset();
  end_own_part();
}

void Core::State::end_own_part() {
  own_ready = true;
  own_part_ended = now;
  offer_exchange();
  offer_multiple();
  tell_room();
  if (!confirming && options.look_ahead != Use::kNever) {
    // A closing round is followed by a confirmation round, which has no gradient, and one that ends
    // with a checkpoint by a gradient that this holds nothing of.
    const bool overlap =
        ahead == Ahead::kOverlaps && verdict.closing_round != round && !saves_state;
    next_steps = steps_of_round();
    emit(TakeMovement{round, asked_at != GradientPoint::kParameters, overlap, next_steps.own(),
                      next_steps.scale()});
  }
  for (const ShardIndex s : reduce_order) try_reduce(s);
  for (IncomingChannel& in : ins) apply_pending(in);
}

void Core::State::ask_gradient(Round of, GradientPoint at) {
  gradient_asked = of;
  asked_at = at;
  gradient_watch.begin(now);
  // The point of TakeMovement was made for next_steps. The owner of shard 0 may have a later
  // verdict by now, which the other nodes do not know yet.
  asked_steps = at == GradientPoint::kMade ? next_steps : steps_of_round();
  emit(ComputeGradient{of, at, asked_steps.own(), steps_taken, asked_steps.scale()});
  steps_taken += asked_steps.own();
}

// The local steps of the next gradient, as the latest verdict says. It is called only when a round
// begins and when its gradient has arrived, since the latest verdict is that of the round before
// at every node then.
RoundSteps Core::State::steps_of_round() const {
  if (!options.local_steps_vary) return {};
  if (!options.chooses_multiples || verdict.mean_multiple <= 1) return {verdict.local_steps};
  return {verdict.local_steps, multiple.agreed(), verdict.mean_multiple};
}

// Takes the verdict of this round. The multiple that this node has offered counts from now on.
void Core::State::take_verdict(const Verdict& next) {
  verdict = next;
  multiple.agree();
}

// How this round takes gradients: as the config says, or as the mesh chooses.
Ahead Core::State::way_of_round() const {
  for (const Ahead way : {verdict.ahead, Ahead::kNo, Ahead::kLooks, Ahead::kOverlaps})
    if (allows(options.look_ahead, options.overlap, way)) return way;
  return Ahead::kNo;
}

void Core::State::on(const MovementTaken& event) {
  KIMESH_CHECK(event.round == round, "a round ends after its reduces, which wait for the movement");
  work_times.moved(event.took);
  report.compute += event.took;
  if (event.overlap) ask_gradient(round + 1, GradientPoint::kMade);
}

void Core::State::on(const GradientDone& event) {
  KIMESH_CHECK(event.round == gradient_asked, "the gradient that was asked for");
  gradient_watch.end(now, asked_steps.own());
  gradient = event;
  if (event.round == round) continue_own_part();
}

void Core::State::on(const Evaluated& event) {
  KIMESH_CHECK(evaluating && event.round == round, "the evaluation that was asked for");
  evaluating = false;
  evaluation_watch.end(now);
  own.correct = event.correct;
  own.samples = event.samples;
  own.test_loss = event.loss_sum;
  own.evaluate_s = to_seconds(event.took);
  report.evaluate += event.took;
  continue_own_part();
}

}  // namespace kimesh
