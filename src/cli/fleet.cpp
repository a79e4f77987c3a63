#include "fleet.h"

#include <algorithm>
#include <csignal>

namespace kimesh::cli {
namespace {

// A node that is asked to end tells its peers, saves its model, and ends its gradient. Models of a
// few GB are saved in this time; a process that is still there then hangs, and is killed.
constexpr Duration kTimeToEnd = std::chrono::seconds(60);

}  // namespace

Fleet::~Fleet() {
  for (Child& child : children_) {
    child.update();
    child.send(SIGKILL);
    child.wait();
  }
}

bool Fleet::running() const {
  return std::ranges::any_of(children_, &Child::running);
}

void Fleet::ask_all(int signal, TimePoint kill_at) {
  for (Child& child : children_) {
    child.send(signal);
    child.send(SIGCONT);  // one that was stopped hears it now
  }
  kill_at_ = kill_at_ ? std::min(*kill_at_, kill_at) : kill_at;
}

void Fleet::interrupt(TimePoint now) {
  ask_all(interrupted_ ? SIGKILL : SIGINT, now + kTimeToEnd);
  killed_ = killed_ || interrupted_;
  interrupted_ = true;
}

void Fleet::supervise(TimePoint now) {
  for (Child& child : children_) child.update();
  if (!failed_node_ && !killed_) {
    // A node that was asked to end may be killed by that, and has not failed then.
    const bool asked = kill_at_.has_value();
    const auto failed = [&](const Child& c) {
      return !c.running() && !c.succeeded() && !(asked && c.was_killed());
    };
    auto found = std::ranges::find_if(children_, &Child::was_killed);
    if (asked || found == children_.end()) found = std::ranges::find_if(children_, failed);
    if (found != children_.end()) {
      failed_node_ = static_cast<NodeIndex>(found - children_.begin());
      if (!asked) ask_all(SIGTERM, now + kTimeToEnd);
    }
  }
  if (kill_at_ && now >= *kill_at_ && !killed_) {
    killed_ = true;
    ask_all(SIGKILL, now);
  }
}

}  // namespace kimesh::cli
