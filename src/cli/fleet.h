// The node processes of one mesh, which end together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "child.h"
#include "kimesh/util/ids.h"

namespace kimesh::cli {

// Destruction kills the processes that still run.
class Fleet {
 public:
  Fleet() = default;
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  void add(Child child) { children_.push_back(std::move(child)); }
  // Checks all processes. When one ends with a failure that was not asked for, it asks the others
  // to end, and kills those that do not end in time.
  void supervise(TimePoint now);
  // Handles a Ctrl-C: the first asks all nodes to end, the second kills them.
  void interrupt(TimePoint now);

  // Sends a signal to all nodes that run.
  void tell(int signal) {
    for (Child& child : children_) child.send(signal);
  }

  [[nodiscard]] bool running() const;
  // The node whose end ended the run. A killed node comes before one that gave up, which may have
  // missed the killed one only.
  [[nodiscard]] std::optional<NodeIndex> failed_node() const { return failed_node_; }
  [[nodiscard]] const Child& child(NodeIndex node) const { return children_[node]; }

 private:
  void ask_all(int signal, TimePoint kill_at);
  std::vector<Child> children_;
  std::optional<NodeIndex> failed_node_;
  std::optional<TimePoint> kill_at_;  // when nodes that were asked to end are killed
  bool interrupted_ = false, killed_ = false;
};

}  // namespace kimesh::cli
