#include "kimesh/doctor/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <set>

#include "kimesh/util/digest.h"
#include "kimesh/util/overloaded.h"
#include "kimesh/util/units.h"
#include "measured_link.h"
#include "reach.h"

namespace kimesh {
namespace {

constexpr Duration kTick = std::chrono::milliseconds(100);  // how soon Ctrl-C is seen
constexpr Duration kSayAgain = std::chrono::seconds(5);     // between sentences of one who waits
constexpr Duration kConnectMax = std::chrono::seconds(2);   // more than a satellite needs
// How long others may take to read the last word.
constexpr Duration kFlush = std::chrono::seconds(1);
// Events that wait for the doctor: a few messages of the largest size.
constexpr std::size_t kQueueBytes = 8 * kProbePayloadMax;
constexpr const char* kSilent = " has not connected either";

TimePoint now() {
  return std::chrono::steady_clock::now();
}

double clock_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Bytes that nothing on the way can make shorter.
Payload payload_of(std::size_t size) {
  std::vector<std::byte> bytes(size);
  std::uint64_t state = 1;
  for (std::byte& byte : bytes) {
    state = state * 6364136223846793005u + 1442695040888963407u;  // Knuth's generator
    byte = static_cast<std::byte>(state >> 56);
  }
  return Payload(std::move(bytes));
}

class Doctor {
 public:
  Doctor(const DoctorOptions& options, const std::function<void(const std::string&)>& say)
      : options_(options), say_(say), events_(kQueueBytes) {
    for (const bool outgoing : {true, false})
      for (LinkIndex l = 0; l < options.plan->links.size(); ++l) {
        const Link& link = options.plan->links[l];
        if ((outgoing ? link.from : link.to) != options.self) continue;
        Examined examined;
        examined.finding = {outgoing ? link.to : link.from, outgoing, {}, {}, {}};
        links_.emplace(l, std::move(examined));
        order_.push_back(l);
      }
  }

  [[nodiscard]] Status open() {
    auto network = Network::start(network_options(), sink_into(events_));
    if (!network) return network.error();
    network_ = std::move(*network);
    return ok_status();
  }

  Diagnosis run() {
    say_(fmt::format("node {} answers at {}; start `kimesh doctor` for the other nodes, too",
                     name(options_.self), options_.topology->nodes[options_.self].address));
    last_news_ = last_said_ = now();
    while (!is_done() && !(options_.stop != nullptr && options_.stop->load())) {
      measure();
      if (auto event = events_.pop_for(kTick)) take(*event);
      const Duration waited = now() - last_news_;
      if (waited >= options_.patience) break;
      if (now() - last_said_ >= kSayAgain && waited >= kSayAgain) say_whom_we_wait_for(waited);
    }
    Diagnosis diagnosis;
    for (const LinkIndex l : order_) diagnosis.links.push_back(found(l));
    network_->send(SendBye{});
    network_->flush(kFlush);
    return diagnosis;
  }

 private:
  struct Examined {
    LinkFinding finding;
    MeasuredLink measured;   // outgoing
    bool up = false;         // a handshake was made
    bool told = false;       // outgoing: the far node holds our result
    bool under_way = false;  // outgoing: a message is not acked yet
    std::string refusal;     // the last one between the two nodes, since it was up
    [[nodiscard]] bool is_done() const {
      return finding.outgoing ? told : finding.speed.has_value();
    }
  };

  [[nodiscard]] const std::string& name(NodeIndex node) const {
    return options_.topology->nodes[node].name;
  }

  NetworkOptions network_options() const {
    const TopologyFile& topology = *options_.topology;
    NetworkOptions network;
    network.self = options_.self;
    network.listen = topology.nodes[options_.self].address;
    network.hello.from = name(options_.self);
    network.hello.build = options_.version;
    network.curve = options_.curve;
    network.hello.incarnation = new_incarnation();
    network.hello.topology_digest = digest_text(topology.canonical());
    network.hello.config_digest = doctors_config_digest();
    for (const LinkIndex l : order_) {
      const LinkFinding& link = links_.at(l).finding;
      const std::string endpoint = is_dialled_here(l) ? dial_address(l) : "";
      if (link.outgoing)
        network.outgoing.push_back({l, link.far, name(link.far), endpoint, {}, endpoint.empty()});
      else
        network.incoming.push_back({l, link.far, name(link.far),
                                    message_bytes(kProbePayloadMax, kOptionalBytesMax),
                                    !endpoint.empty(), endpoint});
    }
    return network;
  }

  // Whether this node opens the connection of the link; and where the one who does dials.
  [[nodiscard]] bool is_dialled_here(LinkIndex l) const {
    const Link& link = options_.plan->links[l];
    const bool by_sender = options_.topology->dialled_by(link.from, link.to) == DialledBy::kSender;
    return by_sender == (link.from == options_.self);
  }
  [[nodiscard]] const std::string& dial_address(LinkIndex l) const {
    const Link& link = options_.plan->links[l];
    return options_.topology->dial_address(link.from, link.to);
  }

  [[nodiscard]] bool is_done() const {
    return std::ranges::all_of(links_, [](const auto& link) { return link.second.is_done(); });
  }

  // One link at a time, so that they do not take each other's bytes.
  void measure() {
    for (const LinkIndex l : order_) {
      Examined& link = links_.at(l);
      if (!link.finding.outgoing || !link.up || link.told) continue;
      if (!link.under_way) send_next(l, link);
      return;
    }
  }

  void send_next(LinkIndex l, Examined& link) {
    const auto size = link.measured.next_payload();
    ProbeContent content{clock_s(), {}};
    if (!size) content.speed = link.finding.speed = link.measured.speed();
    SendMessage send{l, {}, 0};
    send.message.control = content.to_control();
    if (size) {
      send.message.form = Form::kDense;
      send.message.payload = payload_of(*size);
      link.measured.sent();
    }
    link.under_way = true;
    network_->send(std::move(send));
  }

  void take(NetworkEvent& event) {
    std::visit(Overloaded{[&](const LinkUp& e) { came_up(links_.at(e.link)); },
                          [&](const PeerArrived& e) { arrived(e.node); },
                          [&](const MessageAcked& e) { acked(e); },
                          [&](const MessageArrived& e) { received(e); },
                          [&](const LinkRefused& e) { links_.at(e.link).refusal = e.sentence; },
                          [&](const PeerRefused& e) { refused(e); },
                          [&](const NetworkFailed& e) { say_(e.sentence); }, [](const auto&) {}},
               event);
  }

  void came_up(Examined& link) {
    link.up = true;
    link.refusal.clear();
    last_news_ = now();
  }

  void arrived(NodeIndex node) {
    for (auto& [l, link] : links_)
      if (!link.finding.outgoing && link.finding.far == node) came_up(link);
  }

  void acked(const MessageAcked& event) {
    Examined& link = links_.at(event.link);
    link.measured.acked(event.sample);
    link.under_way = false;
    link.told = link.finding.speed.has_value();
    last_news_ = now();
  }

  void received(const MessageArrived& event) {
    Examined& link = links_.at(event.link);
    const ProbeContent content = ProbeContent::from_control(event.message.control);
    if (!link.finding.clock_ahead_s) link.finding.clock_ahead_s = content.sent_s - clock_s();
    if (content.speed) {
      link.finding.speed = content.speed;
      *link.finding.clock_ahead_s += to_seconds(content.speed->round_trip) / 2;
    }
    last_news_ = now();
  }

  void refused(const PeerRefused& event) {
    for (auto& [l, link] : links_)
      if (event.node && link.finding.far == *event.node) link.refusal = event.sentence;
    say_(event.sentence);
  }

  void say_whom_we_wait_for(Duration waited) {
    std::set<std::string> missing;
    for (const auto& [l, link] : links_)
      if (!link.is_done()) missing.insert(name(link.finding.far));
    last_said_ = now();
    say_(fmt::format("waiting for {}: {:.0f} s of {:.0f} s", fmt::join(missing, ", "),
                     to_seconds(waited), to_seconds(options_.patience)));
  }

  [[nodiscard]] LinkFinding found(LinkIndex l) const {
    const Examined& link = links_.at(l);
    LinkFinding finding = link.finding;
    if (finding.outgoing && !link.told) finding.speed.reset();
    if (!link.is_done()) finding.trouble = trouble_of(l, link);
    const double apart = finding.clock_ahead_s.value_or(0);
    if (finding.trouble.empty() && std::abs(apart) > kClocksApartMax)
      finding.trouble = fmt::format(
          "its clock is {:.0f} s {} this one: set both by NTP, or their logs cannot be "
          "compared",
          std::abs(apart), apart > 0 ? "ahead of" : "behind");
    return finding;
  }

  // Where this node dials the other one, over any link; nothing: it does not.
  [[nodiscard]] const std::string* dialled_at(NodeIndex far) const {
    for (const LinkIndex l : order_)
      if (links_.at(l).finding.far == far && is_dialled_here(l)) return &dial_address(l);
    return nullptr;
  }

  [[nodiscard]] std::string trouble_of(LinkIndex l, const Examined& link) const {
    const std::string& far = name(link.finding.far);
    if (!link.refusal.empty()) return link.refusal;
    if (link.up)
      return link.finding.outgoing
                 ? "the link broke, or is too slow to be measured: nothing was acked lately"
                 : fmt::format(
                       "{} has not told what it measured: it was stopped, or the link broke", far);
    if (is_dialled_here(l)) {
      const std::string& endpoint = dial_address(l);
      const std::string why = why_unreachable(endpoint, kConnectMax);
      if (!why.empty()) return why;
      return fmt::format("{} accepts connections, but does not answer as a doctor of node {}",
                         endpoint, far);
    }
    return why_not_connected(l, link);
  }

  // Whether the topology has the node open a connection that another one would by default: nobody
  // may reach it.
  [[nodiscard]] bool may_be_hidden(NodeIndex far) const {
    return std::ranges::any_of(order_, [&](LinkIndex l) {
      const LinkFinding& link = links_.at(l).finding;
      return link.far == far && link.outgoing && !is_dialled_here(l);
    });
  }

  // Of a link whose far node opens the connection.
  [[nodiscard]] std::string why_not_connected(LinkIndex l, const Examined& link) const {
    const std::string& far = name(link.finding.far);
    const std::string* tried = dialled_at(link.finding.far);
    const bool hidden = may_be_hidden(link.finding.far);
    const std::string& endpoint =
        tried != nullptr ? *tried : options_.topology->nodes[link.finding.far].dial_address();
    const std::string why = hidden ? "" : why_unreachable(endpoint, kConnectMax);
    if (!why.empty()) return tried != nullptr ? far + kSilent : why;
    return fmt::format(
        "{} has not connected to {}: start `kimesh doctor` for {} there, or check that this "
        "address "
        "leads here from there",
        hidden ? "node " + far : endpoint + " can be reached, but", dial_address(l), far);
  }

  const DoctorOptions& options_;
  const std::function<void(const std::string&)>& say_;
  BoundedQueue<NetworkEvent> events_;
  std::map<LinkIndex, Examined> links_;
  std::vector<LinkIndex> order_;  // outgoing ones first
  std::unique_ptr<Network> network_;
  TimePoint last_news_{}, last_said_{};
};

std::string speed_text(const LinkSpeed& speed) {
  const std::string rate = format_rate(8 * speed.bytes_per_s);
  std::string text = speed.lower_bound
                         ? "at least " + rate
                         : fmt::format("{} ± {:.0f} %", rate, 100 * speed.relative_error);
  if (speed.round_trip > Duration{0}) text += ", round trip " + format_duration(speed.round_trip);
  return text;
}

}  // namespace

bool Diagnosis::is_healthy() const {
  return std::ranges::all_of(links, [](const LinkFinding& link) { return link.trouble.empty(); });
}

Result<Diagnosis> examine_links(const DoctorOptions& options,
                                const std::function<void(const std::string&)>& say) {
  Doctor doctor(options, say);
  if (const Status opened = doctor.open(); !opened) return opened.error();
  return doctor.run();
}

std::string diagnosis_text(const Diagnosis& diagnosis, const TopologyFile& topology,
                           NodeIndex self) {
  std::string text;
  const std::string& own = topology.nodes[self].name;
  for (const LinkFinding& link : diagnosis.links) {
    const std::string& far = topology.nodes[link.far].name;
    const std::string direction = link.outgoing ? own + "->" + far : far + "->" + own;
    std::string what = link.speed ? speed_text(*link.speed) : "";
    if (!link.trouble.empty()) what += (what.empty() ? "" : "; ") + link.trouble;
    text += fmt::format("  {:<14}{:<8}{}\n", direction, link.speed ? "reached" : "NOT", what);
  }
  return text;
}

}  // namespace kimesh
