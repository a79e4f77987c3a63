// The node processes of one mesh, and how they are brought to an end together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "child.h"
#include "kimesh/util/ids.h"

namespace kimesh::cli {

// What is left running when this goes away is killed.
class Fleet {
 public:
  Fleet() = default;
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  void add(Child child) { children_.push_back(std::move(child)); }
  // Looks after all: the first death of a node that was not asked to end stops the others, and who
  // does not end in time is killed.
  void supervise(TimePoint now);
  // Ctrl-C: the first asks all nodes to end, the second kills them.
  void interrupt(TimePoint now);

  [[nodiscard]] bool running() const;
  // The node whose death ended the run; a killed one before one that gave up, for the latter may
  // only have missed the former.
  [[nodiscard]] std::optional<NodeIndex> failed_node() const { return failed_node_; }
  [[nodiscard]] const Child& child(NodeIndex node) const { return children_[node]; }

 private:
  void ask_all(int signal, TimePoint kill_at);
  std::vector<Child> children_;
  std::optional<NodeIndex> failed_node_;
  std::optional<TimePoint> kill_at_;  // asked to end: when patience is over
  bool interrupted_ = false, killed_ = false;
};

}  // namespace kimesh::cli
