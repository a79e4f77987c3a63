// Problems of a file that single keys do not show, reported at the lines of the keys.
#pragma once

#include <string>
#include <utility>

#include "kimesh/config/complaints.h"
#include "kimesh/config/places.h"

namespace kimesh {

// `complaints` and `places` outlive this.
class Findings {
 public:
  Findings(Complaints& complaints, const Places& places)
      : complaints_(complaints), places_(places) {}

  // At the line of `key`, such as "nodes.a" or "edges.2"; sentences as in Complaints::add.
  void add(const std::string& key, std::string message, std::string remedy) {
    complaints_.add(places_.line(key), std::move(message), std::move(remedy));
  }
  // The list that this adds to, for a reader of another file that this one names.
  [[nodiscard]] Complaints& complaints() { return complaints_; }
  [[nodiscard]] bool is_given(const std::string& key) const { return places_.is_given(key); }
  [[nodiscard]] int line(const std::string& key) const { return places_.line(key); }

 private:
  Complaints& complaints_;
  const Places& places_;
};

}  // namespace kimesh
