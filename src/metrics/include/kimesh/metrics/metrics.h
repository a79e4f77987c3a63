// Metrics of a node for Prometheus, as the text that is served at /metrics. Only this layer sees
// prometheus-cpp.
//
// Every series has the label `node`. The names below do not change, since dashboards use them. A
// gauge holds the latest round's value; a counter grows from the node's start.
//
//   kimesh_info                        1; label version
//   kimesh_rounds_total                rounds that ended here, confirmation rounds included
//   kimesh_loss, kimesh_own_loss       the mesh's loss before the step; of this node's batch
//   kimesh_accuracy                    of the latest evaluation with all nodes in it; absent before
//   kimesh_accuracy_round              when that was; absent before
//   kimesh_test_loss                   of that evaluation, mean of a sample (of text: a token);
//                                      absent before
//   kimesh_perplexity                  exp of it, of models of text; absent before, and of others
//   kimesh_round_seconds               what the latest round took
//   kimesh_seconds_total{part}         time by what it went to: compute, evaluate, encode, apply,
//                                      step, wait
//   kimesh_notices_total               sentences in the node's record: waits, resets, reconnects
// and per outgoing link, with the label `to`:
//   kimesh_link_rate_bits_per_second   estimate; absent while unknown
//   kimesh_link_rate_error             its relative standard deviation; absent while unknown
//   kimesh_link_budget_bytes           what the policy allowed, all messages of the round
//   kimesh_link_round_bytes            what they took, headers included
//   kimesh_link_bytes_total            the same, summed
//   kimesh_link_kept_ratio             share of the values that was sent; absent: nothing to send
//   kimesh_link_gain                   α of the messages, weighted by energy
//   kimesh_link_wire_seconds_total     how long the link was busy with messages
//   kimesh_link_socket_bytes_total     all put on the socket, repeated and control frames included
//   kimesh_link_queued_messages        handed over and not acked yet, when the round ended
//   kimesh_link_reconnects_total       how often the connection was lost and came back
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kimesh/records/recorder.h"
#include "kimesh/util/result.h"

namespace kimesh {

// Counters of an outgoing link's socket since the start.
struct LinkTraffic {
  std::string to;
  std::uint64_t socket_bytes = 0, reconnects = 0, queued_messages = 0;
};

class Metrics {
 public:
  // Errors: UserInput, where kimesh was built without prometheus-cpp.
  [[nodiscard]] static Result<std::unique_ptr<Metrics>> make(const std::string& node,
                                                             const std::string& version);
  ~Metrics();

  // Thread: one at a time; text() may be called by another one.
  void observe(const RoundRecord& round);
  void observe(const std::vector<LinkTraffic>& links);
  void observe_notice();

  // All series, as Prometheus reads them.
  [[nodiscard]] std::string text() const;

 private:
  struct Series;
  explicit Metrics(std::unique_ptr<Series> series);
  std::unique_ptr<Series> series_;
};

}  // namespace kimesh
