#include "fleet.h"

#include <algorithm>
#include <csignal>

#include "kimesh/round/core.h"

namespace kimesh::cli {
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
  ask_all(interrupted_ ? SIGKILL : SIGINT, now + kTimeToStop);
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
      if (!asked) ask_all(SIGTERM, now + kTimeToStop);
    }
  }
  if (kill_at_ && now >= *kill_at_ && !killed_) {
    killed_ = true;
    ask_all(SIGKILL, now);
  }
}

}  // namespace kimesh::cli
