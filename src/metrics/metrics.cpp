#include "kimesh/metrics/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <map>
#include <utility>

namespace kimesh {
namespace {

using Counters = prometheus::Family<prometheus::Counter>;
using Gauges = prometheus::Family<prometheus::Gauge>;

// Raises the counter to a value that is counted elsewhere.
void follow(prometheus::Counter& counter, std::uint64_t value) {
  const double grown = static_cast<double>(value) - counter.Value();
  if (grown > 0) counter.Increment(grown);
}

}  // namespace

// The families, all with the label `node`. They belong to the registry.
struct Metrics::Series {
  Series(const std::string& name, const std::string& version) : node{{"node", name}} {
    gauge("kimesh_info", "Version of this node").Add({{"version", version}}).Set(1);
  }

  Counters& counter(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Labels(node).Register(registry);
  }
  Gauges& gauge(const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Labels(node).Register(registry);
  }

  const prometheus::Labels node;
  prometheus::Registry registry;

  Counters& rounds =
      counter("kimesh_rounds_total", "Rounds that ended, confirmation rounds included");
  Gauges& loss = gauge("kimesh_loss", "Loss of the mesh before the step");
  Gauges& own_loss = gauge("kimesh_own_loss", "Loss of this node's batch");
  Gauges& accuracy = gauge("kimesh_accuracy", "Of the latest evaluation by all nodes");
  Gauges& accuracy_round = gauge("kimesh_accuracy_round", "Round of that evaluation");
  Gauges& test_loss = gauge("kimesh_test_loss", "Mean loss of a sample of that evaluation");
  Gauges& perplexity = gauge("kimesh_perplexity", "Its exponential, of models of text");
  Gauges& round_seconds = gauge("kimesh_round_seconds", "Duration of the latest round");
  Counters& seconds = counter("kimesh_seconds_total", "Time of this node, by what it went to");
  Counters& notices = counter("kimesh_notices_total", "Waits, resets, reconnects and warnings");

  Gauges& rate = gauge("kimesh_link_rate_bits_per_second", "Estimated rate");
  Gauges& rate_error = gauge("kimesh_link_rate_error", "Its relative standard deviation");
  Gauges& budget = gauge("kimesh_link_budget_bytes", "Bytes that the policy allowed in the round");
  Gauges& round_bytes = gauge("kimesh_link_round_bytes", "Bytes that the round's messages took");
  Counters& bytes = counter("kimesh_link_bytes_total", "Bytes that all messages took");
  Gauges& kept = gauge("kimesh_link_kept_ratio", "Share of the values that was sent");
  Gauges& gain = gauge("kimesh_link_gain", "Share of the wanted energy that arrived");
  Counters& wire = counter("kimesh_link_wire_seconds_total", "Time that the link was busy");
  Counters& socket = counter("kimesh_link_socket_bytes_total", "All bytes put on the socket");
  Gauges& queued = gauge("kimesh_link_queued_messages", "Messages that wait for their ack");
  Counters& reconnects = counter("kimesh_link_reconnects_total", "Connections that came back");
};

Result<std::unique_ptr<Metrics>> Metrics::make(const std::string& node,
                                               const std::string& version) {
  return std::unique_ptr<Metrics>(new Metrics(std::make_unique<Series>(node, version)));
}

Metrics::Metrics(std::unique_ptr<Series> series) : series_(std::move(series)) {}
Metrics::~Metrics() = default;

std::string Metrics::text() const {
  return prometheus::TextSerializer().Serialize(series_->registry.Collect());
}

void Metrics::observe(const RoundRecord& round) {
  Series& s = *series_;
  s.rounds.Add({}).Increment();
  s.loss.Add({}).Set(round.loss);
  s.own_loss.Add({}).Set(round.own_loss);
  if (round.accuracy) s.accuracy.Add({}).Set(*round.accuracy);
  if (round.accuracy_round) s.accuracy_round.Add({}).Set(*round.accuracy_round);
  if (round.test_loss) s.test_loss.Add({}).Set(*round.test_loss);
  if (round.perplexity) s.perplexity.Add({}).Set(*round.perplexity);
  s.round_seconds.Add({}).Set(round.round_s);
  for (const auto& [part, seconds] : {std::pair{"compute", round.compute_s},
                                      {"evaluate", round.evaluate_s},
                                      {"encode", round.encode_s},
                                      {"apply", round.apply_s},
                                      {"step", round.step_s},
                                      {"wait", round.wait_s}})
    s.seconds.Add({{"part", part}}).Increment(seconds);
  for (const LinkRecord& link : round.links) {
    const prometheus::Labels to{{"to", link.to}};
    if (link.rate_bits_per_s) s.rate.Add(to).Set(*link.rate_bits_per_s);
    if (link.rate_error) s.rate_error.Add(to).Set(*link.rate_error);
    s.budget.Add(to).Set(static_cast<double>(link.budget_bytes));
    s.round_bytes.Add(to).Set(static_cast<double>(link.bytes));
    s.bytes.Add(to).Increment(static_cast<double>(link.bytes));
    if (link.elements > 0)
      s.kept.Add(to).Set(static_cast<double>(link.kept) / static_cast<double>(link.elements));
    s.gain.Add(to).Set(link.gain);
    s.wire.Add(to).Increment(link.wire_s);
  }
}

void Metrics::observe(const std::vector<LinkTraffic>& links) {
  for (const LinkTraffic& link : links) {
    const prometheus::Labels to{{"to", link.to}};
    follow(series_->socket.Add(to), link.socket_bytes);
    follow(series_->reconnects.Add(to), link.reconnects);
    series_->queued.Add(to).Set(static_cast<double>(link.queued_messages));
  }
}

void Metrics::observe_notice() {
  series_->notices.Add({}).Increment();
}

}  // namespace kimesh
