// policy: kimad_plus. See kimad_plus.h.
#include "kimesh/policy/kimad_plus.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kimesh/policy/policy_options.h"
#include "kimesh/util/check.h"
#include "message_size.h"
#include "sized_settings.h"

namespace kimesh {
namespace {

std::size_t size_of(const Curve& curve) {
  return std::accumulate(curve.begin(), curve.end(), std::size_t{0},
                         [](std::size_t sum, const PieceCurve& piece) { return sum + piece.size; });
}

// The messages of a link that share their budgets, counted in the codec's units (Codec::divide) of
// their payloads. All take part with this message's overhead, so that their parts sum to all the
// budgets.
struct Sharing {
  const Codec& codec;
  Rounding rounding;
  std::vector<const Curve*> curves;
  std::vector<std::uint32_t> floors;  // elements
  std::vector<double> most;           // cost of all elements, or what its way has time for
  std::size_t own = 0;
  double per_budget = 0;

  Sharing(std::size_t budget, const MessageContext& message, const Codec& its_codec)
      : codec(its_codec), rounding(rounding_on(message)) {
    per_budget = static_cast<double>(payload_that_fits(budget, message)) / codec.unit_bytes();
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
  // Bytes of a message without a payload.
  static double least(const MessageContext& message) {
    return static_cast<double>(message.overhead_bytes + message.chunk_overhead_bytes);
  }

  // The number of budgets that one message may take. Its hops follow one another, and all messages
  // wait for the longest way: a ring has no time to spare.
  static double stretch(const MessageContext& message) {
    return std::max(1.0, static_cast<double>(message.slots) / std::max(message.hops, 1u));
  }

  // The least budget that can be divided: one element, or the smallest message of a codec that
  // divides bytes.
  [[nodiscard]] double least_per_budget(std::size_t elements) const {
    return codec.unit_bytes() > 1 ? 1 : static_cast<double>(codec.bytes_min(elements));
  }

  // This message's part, at most its `most`.
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
  // Divides as the codec does. A rest that the last round had nothing to send for is divided
  // equally.
  [[nodiscard]] std::vector<double> among(const std::vector<std::size_t>& open,
                                          double total) const {
    std::vector<const Curve*> of;
    std::vector<std::uint32_t> floors_of;
    for (const std::size_t i : open) {
      of.push_back(curves[i]);
      floors_of.push_back(floors[i]);
    }
    std::vector<double> parts = codec.divide({of, floors_of, total, rounding});
    const double rest = total - std::accumulate(parts.begin(), parts.end(), 0.0);
    if (rest > 0)
      for (double& part : parts) part += rest / static_cast<double>(parts.size());
    return parts;
  }
};

enum class Allocator { kThreshold, kKnapsack };
constexpr Range kRatiosRange{2, 256};     // at least floor and all; 256 are finer than curves
constexpr Range kBinsRange{100, 10'000};  // a layer wastes up to a bin; 15 ms at 500 layers

class KimadPlusOptions final : public PolicyOptions {
 public:
  void describe(Keys& keys) override {
    keys.choice("allocator", allocator,
                {{"threshold", Allocator::kThreshold}, {"knapsack", Allocator::kKnapsack}},
                "how layers share a message: the largest elements anywhere, or a menu of ratios");
    if (allocator == Allocator::kThreshold && !keys.wants_all())
      return keys.refuse({"ratios", "bins"}, "an allocator other than knapsack");
    keys.whole("ratios", ratios, kRatiosRange, "ratios in each layer's menu");
    keys.whole("bins", bins, kBinsRange, "parts of the byte budget");
  }
  void check(const Codec& codec, Keys& keys) const override;
  RoundTimeUse round_time_use() const override { return RoundTimeUse::kNeeds; }
  std::unique_ptr<Policy> make(const PolicySetup& setup) const override;

  Allocator allocator = Allocator::kThreshold;
  unsigned ratios = 20;  // K
  unsigned bins = 1000;  // D
};

void KimadPlusOptions::check(const Codec& codec, Keys& keys) const {
  check_fills_budgets(codec, keys);
  check_has_curves(codec, keys, "policy: kimad_plus shares a message among its layers",
                   "Write compressor: dzq or topk, or policy: kimad");
  const CodecTraits traits = codec.traits();
  const bool counts = traits.keeps_elements && traits.element_bytes > 0;
  keys.check(!traits.has_curves || allocator == Allocator::kThreshold || counts, "allocator",
             "the knapsack counts elements of 8 bytes: topk with float32 values and raw indices",
             "Write allocator: threshold");
}

class KimadPlus final : public Policy {
 public:
  KimadPlus(const KimadPlusOptions& options, const PolicySetup& setup)
      : allocator_(options.allocator),
        ratios_(options.ratios),
        bins_(options.bins),
        codec_(setup.codec) {}

  std::size_t budget(const MessageContext& message) const override {
    return budget_bytes(message.round_time, message, *codec_);
  }
  Choice choose(const MessageContext& message) const override {
    Choice choice = spend(part(budget(message), message), message, codec_);
    Setting& setting = choice.setting;
    // A codec that does not count elements divides a message among the layers by itself.
    if (setting.budget.is_dense() || !codec_->traits().keeps_elements) return choice;
    const std::uint32_t floor = floor_keep(message.elements);
    if (allocator_ == Allocator::kThreshold) {
      setting.allocation = Allocation::kGlobal;
      setting.floor = floor;
    } else if (has_curve(message)) {
      setting.allocation = Allocation::kListed;
      setting.shares = knapsack_shares(*message.curves[message.own], setting.budget.elements(),
                                       floor, message.round, ratios_, bins_);
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
    const Sharing sharing(budget, message, *codec_);
    const double least = Sharing::least(message);
    if (sharing.per_budget < sharing.least_per_budget(message.elements)) return budget;
    const double own_part = sharing.share();
    const double spendable = static_cast<double>(budget) - least;
    const double bytes = least + spendable * own_part / sharing.per_budget;
    // A part that is a byte short of the whole message by rounding is the whole message.
    const std::size_t whole = whole_bytes(dense_bytes(message.elements), message);
    return std::min(left_of(budget, message), bytes > static_cast<double>(whole) - 1
                                                  ? whole
                                                  : static_cast<std::size_t>(bytes));
  }

  // The bytes that are left of all budgets of the phase. Curves change between the choices of a
  // round, so that parts may sum to more than the budgets: what earlier messages took and the
  // floors of later ones are kept back.
  [[nodiscard]] std::size_t left_of(std::size_t budget, const MessageContext& message) const {
    const std::size_t messages = message.curves.size();
    const std::size_t later =
        messages - std::min<std::size_t>(messages, message.phase_messages_sent + 1);
    const std::size_t kept = message.phase_spent_bytes + later * floor_bytes(message, *codec_);
    const std::size_t all = budget * messages;
    return std::max(floor_bytes(message, *codec_), all - std::min(all, kept));
  }

  Allocator allocator_;
  unsigned ratios_, bins_;
  CodecPtr codec_;
};

std::unique_ptr<Policy> KimadPlusOptions::make(const PolicySetup& setup) const {
  return std::make_unique<KimadPlus>(*this, setup);
}

}  // namespace

Kind<PolicyOptions> kimad_plus_policy() {
  return {"kimad_plus", "as kimad, and layers and messages share bytes by what is worth sending",
          make_options<KimadPlusOptions, PolicyOptions>};
}

}  // namespace kimesh
