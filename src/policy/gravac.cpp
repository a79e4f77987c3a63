#include "kimesh/policy/gravac.h"

#include <algorithm>

#include "src/policy/gravac_keep.h"
#include "src/policy/policies.h"
#include "src/policy/style.h"

namespace kimesh {
namespace {

// One search for the node, or one for each outgoing link.
class Gravac final : public Policy {
 public:
  explicit Gravac(const PolicyOptions& options)
      : style_(options.style), fresh_(options.gravac, options.nodes) {
    per_link_ = options.gravac.scope == GravacOptions::Scope::kLink;
    if (!per_link_) searches_.push_back(fresh_);
  }

  Choice choose(const MessageContext& message) const override {
    const GravacSearch& search = search_of(message.link_number);
    return {keeping(style_, gravac_keep(search.factor(), message.elements), message), 0};
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

  const Setting style_;
  const GravacSearch fresh_;
  bool per_link_;
  std::vector<GravacSearch> searches_;  // by link, or one
};

}  // namespace

std::unique_ptr<Policy> make_gravac(const PolicyOptions& options) {
  return std::make_unique<Gravac>(options);
}

}  // namespace kimesh
