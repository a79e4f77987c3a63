#include "kimesh/policy/kimad_plus.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kimesh/util/check.h"
#include "src/policy/policies.h"
#include "src/policy/style.h"
#include "src/policy/whole.h"

namespace kimesh {
namespace {

std::size_t size_of(const Curve& curve) {
  return std::accumulate(curve.begin(), curve.end(), std::size_t{0},
                         [](std::size_t sum, const PieceCurve& piece) { return sum + piece.size; });
}

// The messages of a link that share their budgets, in elements that topk keeps for a budget's
// bytes. All take part with this message's overhead, so that their parts sum to all the budgets.
struct Sharing {
  std::vector<const Curve*> curves;
  std::vector<double> floors, most;  // what all of a message costs, or its path has time for
  std::size_t own = 0;
  double per_budget = 0;

  Sharing(std::size_t budget, const MessageContext& message, const Setting& style) {
    per_budget = static_cast<double>(payload_that_fits(budget, message)) / bytes_per_kept(style);
    const double one = least(message), spendable = static_cast<double>(budget) - one;
    for (std::size_t c = 0; c < message.curves.size(); ++c) {
      if (message.curves[c]->empty()) continue;
      if (c == message.own) own = curves.size();
      const std::size_t size = size_of(*message.curves[c]);
      const double whole = static_cast<double>(whole_bytes(dense_bytes(size), message));
      curves.push_back(message.curves[c]);
      floors.push_back(floor_keep(size));
      most.push_back(std::min((whole - one) / spendable, stretch(message)) * per_budget);
    }
  }
  // Bytes of a message with next to nothing in it.
  static double least(const MessageContext& message) {
    return static_cast<double>(message.overhead_bytes + message.chunk_overhead_bytes);
  }

  // How many budgets one message may take: its hops follow one another, and all wait for the
  // longest. A ring has no time to spare.
  static double stretch(const MessageContext& message) {
    return std::max(1.0, static_cast<double>(message.link_hops) / std::max(message.path_hops, 1u));
  }

  // What is kept of this message, at most its `most`.
  [[nodiscard]] double share() const {
    std::vector<std::size_t> open(curves.size());
    std::iota(open.begin(), open.end(), std::size_t{0});
    double total = per_budget * static_cast<double>(curves.size());
    for (;;) {
      const std::vector<double> keep = among(open, total);
      std::vector<std::size_t> still;
      for (std::size_t i = 0; i < open.size(); ++i) {
        if (keep[i] < most[open[i]])
          still.push_back(open[i]);
        else
          total -= most[open[i]];
        if (open[i] == own && keep[i] >= most[own]) return most[own];
      }
      if (still.size() == open.size())
        return keep[static_cast<std::size_t>(std::ranges::find(open, own) - open.begin())];
      open = std::move(still);
    }
  }

 private:
  // By one threshold; and where the last round had nothing more to send, the rest in equal parts.
  [[nodiscard]] std::vector<double> among(const std::vector<std::size_t>& open,
                                          double total) const {
    std::vector<const Curve*> of;
    std::vector<double> least_of;
    for (const std::size_t i : open) {
      of.push_back(curves[i]);
      least_of.push_back(floors[i]);
    }
    std::vector<double> keep = threshold_allocation(of, total, least_of);
    const double rest = total - std::accumulate(keep.begin(), keep.end(), 0.0);
    if (rest > 0)
      for (double& k : keep) k += rest / static_cast<double>(keep.size());
    return keep;
  }
};

class KimadPlus final : public Policy {
 public:
  explicit KimadPlus(const PolicyOptions& options) : options_(options) {}

  Choice choose(const MessageContext& message) const override {
    const std::size_t budget = budget_bytes(*options_.round_time, message, options_.style);
    Choice choice = spend(part(budget, message), message, options_.style);
    Setting& setting = choice.setting;
    // dzq has one step for all layers, and their floors, by itself.
    if (setting.compressor != Compressor::kTopk) return choice;
    const std::uint32_t floor = floor_keep(message.elements);
    if (options_.allocator == PolicyOptions::Allocator::kThreshold) {
      setting.allocation = Allocation::kGlobal;
      setting.floor = floor;
    } else if (has_curve(message)) {
      setting.allocation = Allocation::kListed;
      setting.shares =
          knapsack_shares(*message.curves[message.own], setting.keep, floor, message.round,
                          options_.knapsack_ratios, options_.knapsack_bins);
    }
    return choice;
  }
  bool wants_curves() const override { return true; }

 private:
  static bool has_curve(const MessageContext& message) {
    return message.own < message.curves.size() && !message.curves[message.own]->empty();
  }

  // Bytes for this message out of the budgets of all that the link carries in the phase.
  [[nodiscard]] std::size_t part(std::size_t budget, const MessageContext& message) const {
    if (!has_curve(message) || !message.link.known() || message.link.lower_bound) return budget;
    if (message.curves.size() == 1 || Sharing::stretch(message) <= 1) return budget;
    const Sharing sharing(budget, message, options_.style);
    const double least = Sharing::least(message);
    if (sharing.per_budget < 1) return budget;
    const double keep = sharing.share();
    const double spendable = static_cast<double>(budget) - least;
    const double bytes = least + spendable * keep / sharing.per_budget;
    // All of it is all of it, whatever rounding says.
    const std::size_t whole = whole_bytes(dense_bytes(message.elements), message);
    return std::min(left_of(budget, message), bytes > static_cast<double>(whole) - 1
                                                  ? whole
                                                  : static_cast<std::size_t>(bytes));
  }

  // Curves change between the choices of a round, so parts need not sum to all the budgets: no
  // message takes what those before it have taken, nor the floors of those to come.
  [[nodiscard]] std::size_t left_of(std::size_t budget, const MessageContext& message) const {
    const std::size_t messages = message.curves.size();
    const std::size_t later =
        messages - std::min<std::size_t>(messages, message.phase_messages_sent + 1);
    const std::size_t kept =
        message.phase_spent_bytes + later * floor_bytes(message, options_.style);
    const std::size_t all = budget * messages;
    return std::max(floor_bytes(message, options_.style), all - std::min(all, kept));
  }

  PolicyOptions options_;
};

}  // namespace

std::unique_ptr<Policy> make_kimad_plus(const PolicyOptions& options) {
  KIMESH_CHECK(options.round_time.has_value(), "kimad_plus: a round time");
  return std::make_unique<KimadPlus>(options);
}

}  // namespace kimesh
