// What RunWatch knows of a run. Private to the layer.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "course.h"
#include "kimesh/records/record_follower.h"
#include "kimesh/records/run_folder.h"
#include "kimesh/records/tally.h"
#include "kimesh/report/history.h"
#include "kimesh/report/measures.h"
#include "kimesh/web/run_watch.h"

namespace kimesh {

inline constexpr std::size_t kEventsToldMax = 200;
// Means are of so many rounds, and so many are shown of what was picked.
inline constexpr std::size_t kMeanRounds = 20, kRecentRounds = 100;
// Of a mesh with more links only the last kMeanRounds are kept: 100 rounds would be 50 MB.
inline constexpr std::size_t kManyLinks = 10'000;

// One round of a node.
struct NodeRound {
  Round round = 0;
  TimeSplit split;
};
struct LinkRound {
  Round round = 0;
  double bytes = 0, budget_bytes = 0, gain = 0, busy = 0;
  std::optional<double> rate_bits_per_s, true_rate_bits_per_s;
};

struct Event {
  double time_s = 0;
  NodeIndex node = 0;
  std::string text;
};

struct RunWatch::Run {
  Run(RunHistory run, std::uint64_t life);
  // Reads a record; false: there is no further one now.
  bool read_record(NodeIndex node, std::size_t& bytes);
  void add(NodeIndex node, const NodeRecord& record);
  void add_round(NodeIndex node, const RoundRecord& round);
  void add_event(double time_s, NodeIndex node, std::string text);
  void forget_from(NodeIndex node, Round round);
  [[nodiscard]] const NodeTally* over() const;

  const std::uint64_t life;  // of the watch
  const RunHistory history;  // its nodes are empty
  RunTally tally;
  std::vector<RecordFollower> files;
  // Of each node: whether it has records; whether they cannot be read on.
  std::vector<bool> known, broken;
  bool reading = false;
  Course course;
  std::optional<NodeIndex> teller;  // of the course: the first node that recorded a round
  std::vector<std::deque<NodeRound>> node_rounds;
  std::vector<std::deque<LinkRound>> link_rounds;
  // By LinkIndex, of the last round with a gradient: others have no messages to speak of.
  std::vector<LinkRecord> latest;
  std::deque<Event> events;
  std::size_t first_event = 0;                    // number of the oldest one that is kept
  std::vector<std::optional<Round>> checkpoints;  // by node, the newest
  // Rows that other pages tell, as they stand in the state.
  struct Heard {
    std::size_t page = 0;
    nlohmann::ordered_json row;
  };
  std::map<NodeIndex, Heard> heard_nodes;
  std::map<LinkIndex, Heard> heard_links;
};

// Rows of the state's columns.
[[nodiscard]] nlohmann::ordered_json node_row(const RunWatch::Run& run, NodeIndex node);
[[nodiscard]] nlohmann::ordered_json link_row(const RunWatch::Run& run, LinkIndex link);
// At most kLinksToldMax of these links, those with most bytes, in the order of the run.
[[nodiscard]] std::vector<LinkIndex> told_links(const RunWatch::Run& run,
                                                std::vector<LinkIndex> links);

}  // namespace kimesh
