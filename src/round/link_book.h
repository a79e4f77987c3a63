// The core's outgoing links: their estimates and budgets, and the figures of the round's report.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "kimesh/bandwidth/estimator.h"
#include "kimesh/bandwidth/sending_pace.h"
#include "kimesh/bandwidth/steady_rate.h"
#include "kimesh/bandwidth/sustained_rate.h"
#include "kimesh/policy/policy.h"
#include "kimesh/round/action.h"
#include "kimesh/topology/plan.h"
#include "kimesh/util/state_bytes.h"
#include "shared_uplink.h"

namespace kimesh {

class LinkBook {
 public:
  // `keeps_pace`: messages are as large as links are believed to carry, so that a pace costs no
  // time.
  LinkBook(const Plan& plan, NodeIndex self, std::optional<double> uplink_bytes_per_s,
           bool keeps_pace);

  // Notes that a message is sent, and returns the pace that it is to keep to, in bytes/s; 0: none.
  // Only links that were found to share an uplink have one.
  [[nodiscard]] double send(LinkIndex link);
  // Called once for each message that was sent; an ack may tell nothing of the rate.
  void acked(LinkIndex link, const std::optional<LinkSample>& sample, TimePoint now);
  // The link's position among the node's outgoing links.
  [[nodiscard]] unsigned number(LinkIndex link) const { return link - first_; }
  [[nodiscard]] LinkIndex link(unsigned number) const { return first_ + number; }
  // The link's part of the input of a policy. The caller adds what belongs to the message and the
  // round.
  [[nodiscard]] MessageContext context(LinkIndex link) const;
  // Limits the messages of the next rounds, on each link to `times` the size of the largest message
  // of this round, or the present limit where it sent none. A factor over 1 counts from the present
  // limit where that is larger. 0: removes the limits.
  void limit_growth(double times);
  // Sets whether contexts and paces use the SteadyRate of each link in place of the rate that the
  // link is believed to have at present.
  void hold_rates(bool steady) { holds_rates_ = steady; }
  // Whether this node sent a message in this round that was too large for its wire.
  [[nodiscard]] bool sent_too_large() const { return sent_too_large_; }
  void add_budget(LinkIndex link, std::size_t budget_bytes);
  // `channel` is that of the message.
  void add_message(const AdvanceDone& done, const Channel& channel, std::size_t elements,
                   std::size_t bytes);
  // Counts a shared message that is sent on this link. `elements` is the size of its shard where
  // the message carries all of them, and 0 where this node does not know how many it carries or has
  // counted them with add_message.
  void add_forwarded(LinkIndex link, std::size_t elements, std::size_t bytes);

  // The figures since the last call, by outgoing link; called at the end of a round.
  [[nodiscard]] std::vector<LinkReport> take_reports();
  [[nodiscard]] LinkEstimate estimate(LinkIndex link) const;

  // Between two rounds, when the messages of the last one are acked.
  void save(StateWriter& writer) const;
  void restore(StateReader& reader);

 private:
  struct Entry {
    LinkIndex link = 0;
    LinkEstimator estimator;
    LinkEstimate estimate;
    SustainedRate sustained;
    SteadyRate steady;
    SendingPace pace;
    std::deque<double> paces;  // of the messages that are not acked yet
    double share = 0;          // bytes/s of the node's cap
    double proven = 0;         // bytes of the largest messages acked lately
    double largest = 0;        // bytes of the largest message that was carried in time
    unsigned unfilled = 0;     // acked messages in a row that did not fill the pipe
    double sent = 0;           // bytes of the largest message of this round
    double limit = 0;          // bytes of the largest message that is allowed; 0: any
    LinkReport report;
    double wanted = 0, missing = 0;
    template <typename Self>
    static auto state_of(Self& self) {
      return std::tie(self.estimator, self.sustained, self.steady, self.pace, self.share,
                      self.proven, self.largest, self.unfilled, self.limit);
    }
    [[nodiscard]] bool is_sound() const;
    // The rate that the link may have in the long run: its share of the node's cap, at most what it
    // sustains. Infinite: neither is known.
    [[nodiscard]] double long_run_bytes_per_s() const;
    // The rate that the link is believed to have at present. An estimate that is a guess does not
    // count.
    [[nodiscard]] double believed_bytes_per_s() const;
  };
  Entry& entry(LinkIndex link);
  const Entry& entry(LinkIndex link) const;
  void add(Entry& entry, const LinkSample& sample);
  void share_uplink();
  void prove(Entry& entry, const LinkSample& sample);
  [[nodiscard]] static bool was_too_large(const LinkEstimate& estimate, const LinkSample& sample);

  std::vector<Entry>
      entries_;  // outgoing links of the node: contiguous in the plan, from first_ on
  LinkIndex first_ = 0;
  SharedUplink found_{0};
  std::optional<double> uplink_;
  bool keeps_pace_;
  bool holds_rates_ = false;
  bool sent_too_large_ = false;  // sent_too_large()
};

}  // namespace kimesh
