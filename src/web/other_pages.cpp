#include "other_pages.h"

#include <algorithm>
#include <csignal>
#include <utility>

namespace kimesh {

OtherPages::OtherPages(std::vector<HttpQuestion> questions)
    : questions_(std::move(questions)),
      answers_(std::max<std::size_t>(1, questions_.size())),
      thread_([this] {
        // Signals are for the threads that wait for them.
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
        while (wishes_.pop())
          for (const HttpQuestion& question : questions_) {
            if (wishes_.closed()) return;
            if (auto answer = http_ask(question))
              static_cast<void>(answers_.try_push(std::move(*answer)));
          }
      }) {}

OtherPages::~OtherPages() {
  wishes_.close();
}

void OtherPages::ask() {
  static_cast<void>(wishes_.try_push(Wish{}));
}

std::vector<std::string> OtherPages::take() {
  std::vector<std::string> taken;
  while (auto answer = answers_.try_pop()) taken.push_back(std::move(*answer));
  return taken;
}

}  // namespace kimesh
