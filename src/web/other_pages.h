// The pages of a mesh's other nodes, which are asked for their digests while somebody watches this
// one. One thread asks, one after another; answers pass in a bounded queue.
#pragma once

#include <string>
#include <thread>
#include <vector>

#include "kimesh/http/ask.h"
#include "kimesh/util/bounded_queue.h"

namespace kimesh {

class OtherPages {
 public:
  explicit OtherPages(std::vector<HttpQuestion> questions);
  // Waits for a question that is on its way, as long as http_ask() does.
  ~OtherPages();
  OtherPages(const OtherPages&) = delete;
  OtherPages& operator=(const OtherPages&) = delete;

  // Asks all pages, unless they are being asked. Never blocks.
  void ask();
  // What came since the last call.
  [[nodiscard]] std::vector<std::string> take();

 private:
  struct Wish {};
  const std::vector<HttpQuestion> questions_;
  BoundedQueue<Wish> wishes_{1};
  BoundedQueue<std::string> answers_;
  std::jthread thread_;
};

}  // namespace kimesh
