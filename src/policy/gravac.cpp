// policy: gravac. See gravac.h.
#include "kimesh/policy/gravac.h"

#include <fmt/format.h>

#include <algorithm>

#include "kimesh/policy/policy_options.h"
#include "sized_settings.h"

namespace kimesh {
namespace {

// The weight of a round in what is learnt of the codec.
constexpr double kFilledWeight = 0.1;

// One search for the node, or one for each outgoing link.
class Gravac final : public Policy {
 public:
  Gravac(const GravacOptions& options, const PolicySetup& setup)
      : codec_(setup.codec),
        fresh_(options, setup.nodes),
        rules_{*codec_, options.gain, setup.nodes} {
    per_link_ = options.scope == GravacOptions::Scope::kLink;
    if (!per_link_) searches_.push_back(fresh_);
    for (const GravacStep& step : fresh_.steps()) thetas_.push_back(step.theta);
  }

  Choice choose(const MessageContext& message) const override {
    const double theta = search_of(message.link_number).factor();
    const Budget budget =
        gravac_budget(gravac_factor(theta, message.phase, rules_), message.elements, *codec_);
    return {budget.is_dense() ? Setting{} : sized(codec_, budget, message), 0};
  }
  bool wants_curves() const override { return true; }

  void observe(const RoundObservation& round) override {
    learn_filled(round.messages);
    if (!per_link_)
      return searches_[0].observe(round.took, view_factors(thetas_, round.messages, rules_));
    for (const MessageObservation& message : round.messages)
      while (searches_.size() <= message.link_number) searches_.push_back(fresh_);
    for (std::size_t link = 0; link < searches_.size(); ++link) {
      std::vector<MessageObservation> of_link;
      std::ranges::copy_if(
          round.messages, std::back_inserter(of_link),
          [&](const MessageObservation& message) { return message.link_number == link; });
      if (!of_link.empty())
        searches_[link].observe(round.took, view_factors(thetas_, of_link, rules_));
    }
  }

  std::string state() const override {
    std::string text =
        per_link_ ? R"({"scope":"link","searches":[)" : R"({"scope":"node","searches":[)";
    for (std::size_t i = 0; i < searches_.size(); ++i)
      text += (i > 0 ? "," : "") + searches_[i].state();
    return text + "]}";
  }

  void save(StateWriter& writer) const override {
    writer.put(rules_.filled);
    writer.put(searches_.size());
    for (const GravacSearch& search : searches_) search.save(writer);
  }
  void restore(StateReader& reader) override {
    std::size_t searches = 0;
    reader.get(rules_.filled);
    reader.get(searches);
    reader.require(per_link_ ? searches <= kLinksMax : searches == 1);
    if (!reader.ok()) return;
    searches_.assign(searches, fresh_);
    for (GravacSearch& search : searches_) search.restore(reader);
  }

 private:
  static constexpr std::size_t kLinksMax = 0xffff;  // of a node: one to each other node at most

  const GravacSearch& search_of(unsigned link) const {
    if (!per_link_) return searches_[0];
    return link < searches_.size() ? searches_[link] : fresh_;
  }

  // Compares what messages carried with what they were given room for. A message that had fewer
  // elements than room tells nothing.
  void learn_filled(std::span<const MessageObservation> messages) {
    double kept = 0, given = 0;
    for (const MessageObservation& message : messages) {
      if (message.budget.kind != Budget::Kind::kKeep || message.curve == nullptr) continue;
      double to_send = 0;
      for (const PieceCurve& piece : *message.curve)
        to_send += piece.points.empty() ? 0 : piece.points.back().kept;
      if (to_send < static_cast<double>(message.budget.elements())) continue;
      kept += static_cast<double>(message.kept);
      given += static_cast<double>(message.budget.elements());
    }
    if (given > 0) rules_.filled += kFilledWeight * (std::min(kept / given, 1.0) - rules_.filled);
  }

  const CodecPtr codec_;
  const GravacSearch fresh_;
  GravacRules rules_;
  std::vector<double> thetas_;  // of the steps
  bool per_link_;
  std::vector<GravacSearch> searches_;  // by link, or one
};

constexpr double kFactorMax = 1000;             // every channel sends a thousandth of its elements
constexpr Range kWindowSeconds{0.001, 86'400};  // from one short round to a day
constexpr double kOmegaMax = 0.5;               // gains further apart are not nearly equal

class GravacKind final : public PolicyOptions {
 public:
  void describe(Keys& keys) override;
  void check(const Codec& codec, Keys& keys) const override {
    check_fills_budgets(codec, keys);
    const CodecTraits traits = codec.traits();
    keys.check(!traits.meets_budgets || traits.keeps_largest || traits.has_curves, "compressor",
               fmt::format("policy: gravac predicts what messages leave out, and compressor: {} "
                           "has no error curves",
                           codec.kind_name()),
               "Write compressor: topk, dgc, redsync or dzq, or policy: kimad");
  }
  Place place() const override {
    if (options_.gain == GravacOptions::Gain::kContraction) return {};
    return {"gain", "gain: paper", Feedback::kEf14, true};
  }
  std::unique_ptr<Policy> make(const PolicySetup& setup) const override {
    return make_gravac(options_, setup);
  }

 private:
  GravacOptions options_;
};

void GravacKind::describe(Keys& keys) {
  using Gain = GravacOptions::Gain;
  using Scaling = GravacOptions::Scaling;
  using Scope = GravacOptions::Scope;
  GravacOptions& own = options_;
  keys.number("theta_min", own.theta_min, {1, kFactorMax},
              "smallest factor by which messages shrink: their elements, with dzq their bytes");
  keys.number("theta_max", own.theta_max, {1, kFactorMax}, "largest factor that is tried");
  keys.check(own.theta_min < own.theta_max, keys.is_given("theta_min") ? "theta_min" : "theta_max",
             fmt::format("there is no factor to search from theta_min {} to theta_max {}",
                         own.theta_min, own.theta_max),
             "Write a theta_max that is larger than theta_min");
  keys.number("epsilon", own.epsilon, {0, 1, true}, "gain that a factor must keep");
  keys.number("omega", own.omega, {0, kOmegaMax, true},
              "two gains that differ by no more than this share are equal");
  keys.duration("window", own.window, kWindowSeconds, "time between two looks at the factors");
  keys.choice("gain", own.gain, {{"contraction", Gain::kContraction}, {"paper", Gain::kPaper}},
              "what of reduces and gathers arrives of what there was to send; or the paper's: "
              "that of reduces, while a gather shrinks by theta / nodes");
  keys.choice("scaling", own.scaling,
              {{"exponential", Scaling::kExponential}, {"geometric", Scaling::kGeometric}},
              "how fast the factors that are tried grow");
  keys.choice("scope", own.scope, {{"node", Scope::kNode}, {"link", Scope::kLink}},
              "who has a factor of its own");
}

}  // namespace

std::unique_ptr<Policy> make_gravac(const GravacOptions& options, const PolicySetup& setup) {
  return std::make_unique<Gravac>(options, setup);
}

Kind<PolicyOptions> gravac_policy() {
  return {"gravac", "the compression factor whose gain holds, searched (Tyagi, Swany, 2023)",
          make_options<GravacKind, PolicyOptions>};
}

}  // namespace kimesh
