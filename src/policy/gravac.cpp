// policy: gravac. See gravac.h.
#include "kimesh/policy/gravac.h"

#include <fmt/format.h>

#include <algorithm>

#include "gravac_keep.h"
#include "kimesh/policy/policy_options.h"
#include "sized_settings.h"

namespace kimesh {
namespace {

// One search for the node, or one for each outgoing link.
class Gravac final : public Policy {
 public:
  Gravac(const GravacOptions& options, const PolicySetup& setup)
      : codec_(setup.codec), fresh_(options, setup.nodes) {
    per_link_ = options.scope == GravacOptions::Scope::kLink;
    if (!per_link_) searches_.push_back(fresh_);
  }

  Choice choose(const MessageContext& message) const override {
    const GravacSearch& search = search_of(message.link_number);
    const std::uint32_t keep = gravac_keep(search.factor(), message.elements);
    return {sized(codec_, Budget::keep(keep), message), 0};
  }
  bool wants_curves() const override { return true; }

  void observe(const RoundObservation& round) override {
    if (!per_link_) return searches_[0].observe(round.took, round.messages);
    for (const MessageObservation& message : round.messages)
      while (searches_.size() <= message.link_number) searches_.push_back(fresh_);
    for (std::size_t link = 0; link < searches_.size(); ++link) {
      std::vector<MessageObservation> of_link;
      std::ranges::copy_if(
          round.messages, std::back_inserter(of_link),
          [&](const MessageObservation& message) { return message.link_number == link; });
      if (!of_link.empty()) searches_[link].observe(round.took, of_link);
    }
  }

  std::string state() const override {
    std::string text =
        per_link_ ? R"({"scope":"link","searches":[)" : R"({"scope":"node","searches":[)";
    for (std::size_t i = 0; i < searches_.size(); ++i)
      text += (i > 0 ? "," : "") + searches_[i].state();
    return text + "]}";
  }

 private:
  const GravacSearch& search_of(unsigned link) const {
    if (!per_link_) return searches_[0];
    return link < searches_.size() ? searches_[link] : fresh_;
  }

  const CodecPtr codec_;
  const GravacSearch fresh_;
  bool per_link_;
  std::vector<GravacSearch> searches_;  // by link, or one
};

constexpr double kFactorMax = 1000;  // every channel sends a thousandth of its elements
constexpr double kOmegaMax = 0.5;    // gains further apart are not nearly equal

class GravacKind final : public PolicyOptions {
 public:
  void describe(Keys& keys) override;
  void check(const Codec& codec, Keys& keys) const override {
    check_fills_budgets(codec, keys);
    const CodecTraits traits = codec.traits();
    keys.check(!traits.meets_budgets || (traits.keeps_elements && traits.has_curves), "compressor",
               "policy: gravac searches how many elements topk keeps",
               "Write compressor: topk, or policy: kimad");
  }
  std::unique_ptr<Policy> make(const PolicySetup& setup) const override {
    return make_gravac(options_, setup);
  }

 private:
  GravacOptions options_;
};

void GravacKind::describe(Keys& keys) {
  using Scaling = GravacOptions::Scaling;
  using Scope = GravacOptions::Scope;
  GravacOptions& own = options_;
  keys.number("theta_min", own.theta_min, {1, kFactorMax},
              "smallest factor by which elements are cut");
  keys.number("theta_max", own.theta_max, {1, kFactorMax}, "largest factor that is tried");
  keys.check(own.theta_min < own.theta_max, keys.is_given("theta_min") ? "theta_min" : "theta_max",
             fmt::format("there is no factor to search from theta_min {} to theta_max {}",
                         own.theta_min, own.theta_max),
             "Write a theta_max that is larger than theta_min");
  keys.number("epsilon", own.epsilon, {0, 1, true}, "gain that a factor must keep");
  keys.number("omega", own.omega, {0, kOmegaMax, true},
              "two gains that differ by no more than this share are equal");
  keys.whole("window", own.window, {1, kRoundsMax}, "rounds between two looks at the factors");
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
