// What a round takes besides its messages, and whether the config's round time has room for it.
#include <fmt/format.h>

#include "state.h"

namespace kimesh {

// The owner of shard 0 tells all nodes the median, so that one slow gradient takes no bytes from
// the next round.
double Core::State::typical_compute_s(double longest_s) {
  compute_times.add(longest_s);
  return compute_times.value();
}

// Says once that rounds will take longer than the config asks for, where that is sure. Where
// gradients alone take longer than that, every node would say so; only the owner of shard 0 does.
void Core::State::check_round_time(const MessageContext& context) {
  const auto& wanted = options.policy.round_time;
  constexpr Round kRoundsToLearn = 20;  // enough for rates, and for times that are not the first's
  const bool plans = options.policy.policy && options.policy.policy->needs_round_time();
  if (complained_of_time || !plans || !wanted || round < kRoundsToLearn) return;
  const auto least = least_round_time(context, *options.policy.codec);
  if (!least || *least <= *wanted) return;
  if (context.compute_time > *wanted && !owns(0)) return;
  complained_of_time = true;
  const Link& link = plan.links[links.link(context.link_number)];
  const auto text = [](Duration time) { return fmt::format("{:.3g} ms", 1e3 * to_seconds(time)); };
  const Duration work = context.compute_time + context.work_time;
  emit(
      Notice{fmt::format("round_time is {}, but a round takes {} or more: {} for gradients and "
                         "other work, {} for {} of "
                         "the smallest messages on link {}->{}, one after another",
                         text(*wanted), text(*least), text(work), text(*least - work),
                         context.slots, name(link.from), name(link.to))});
}

}  // namespace kimesh
