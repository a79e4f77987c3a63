// The lookup of a name in a thread of its own. In the network's thread, or ZeroMQ's, all links of
// the node would stop while a name server does not answer.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fd.h"
#include "kimesh/link/resolve.h"

namespace kimesh {

// Thread: the network's. A lookup runs in a thread of its own, for which nothing waits: what it
// finds after the end of this object is dropped.
class NameLookup {
 public:
  struct Shared {
    Resolver resolve;
    const WakeEvent& answered;  // signalled when take() has something; outlives the object
  };
  NameLookup(std::string name, const Shared& shared);
  ~NameLookup();
  NameLookup(const NameLookup&) = delete;
  NameLookup& operator=(const NameLookup&) = delete;

  // Begins a lookup, where none is under way.
  void ask();
  // What the last one has found, once: the addresses of Resolver.
  [[nodiscard]] std::optional<std::vector<std::string>> take();

 private:
  struct State;
  std::string name_;
  std::shared_ptr<State> state_;
};

}  // namespace kimesh
