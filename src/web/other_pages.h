// The pages of a mesh's other nodes, which are asked for their digests while somebody watches this
// one. One thread asks, one after another; answers pass in a bounded queue.
#pragma once

#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#include "kimesh/http/ask.h"
#include "kimesh/util/bounded_queue.h"

namespace kimesh {

// What a page has said; empty: it has been silent for a while.
struct OtherPage {
  std::size_t page = 0;  // number of the question
  std::string digest;
};

class OtherPages {
 public:
  explicit OtherPages(std::vector<HttpQuestion> questions);
  // Waits for a question that is on its way, as long as http_ask() does.
  ~OtherPages();
  OtherPages(const OtherPages&) = delete;
  OtherPages& operator=(const OtherPages&) = delete;

  // Asks all pages, unless they are being asked; those that are silent less and less often. Never
  // blocks.
  void ask();
  // What came since the last call.
  [[nodiscard]] std::vector<OtherPage> take();

  struct Page {
    HttpQuestion question;
    unsigned silences = 0;  // in a row
    unsigned pause = 0;     // so many passes leave it out
  };

 private:
  struct Wish {};
  void ask(std::size_t number);
  std::vector<Page> pages_;  // the thread's own
  BoundedQueue<Wish> wishes_{1};
  BoundedQueue<OtherPage> answers_;
  std::jthread thread_;
};

}  // namespace kimesh
