#include "other_pages.h"

#include <algorithm>
#include <csignal>
#include <optional>
#include <utility>

#include "kimesh/util/thrown.h"

namespace kimesh {

namespace {

// A page may be late once or twice, where its machine is busy.
constexpr unsigned kSilencesMax = 3;
// A page that is absent takes kHttpAskTime of a pass, which others wait for: about a pass in this
// many asks it.
constexpr unsigned kPauseMax = 16;

std::vector<OtherPages::Page> pages_of(std::vector<HttpQuestion> questions) {
  std::vector<OtherPages::Page> pages;
  for (HttpQuestion& question : questions) pages.push_back({std::move(question)});
  return pages;
}

}  // namespace

OtherPages::OtherPages(std::vector<HttpQuestion> questions)
    : pages_(pages_of(std::move(questions))),
      answers_(std::max<std::size_t>(1, pages_.size())),
      thread_([this] {
        // Signals are for the threads that wait for them.
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
        while (wishes_.pop())
          for (std::size_t i = 0; i < pages_.size() && !wishes_.closed(); ++i) ask(i);
      }) {}

void OtherPages::ask(std::size_t number) {
  Page& page = pages_[number];
  if (page.pause > 0) {
    --page.pause;
    return;
  }
  std::optional<std::string> digest;
  Thrown as_silence;  // whatever keeps the question from being asked
  as_silence.guard("asking another page", [&] { digest = http_ask(page.question); });
  if (digest) {
    page.silences = 0;
    static_cast<void>(answers_.try_push({number, std::move(*digest)}));
    return;
  }
  if (++page.silences < kSilencesMax) return;
  page.pause = std::min(page.silences, kPauseMax);
  static_cast<void>(answers_.try_push({number, ""}));
}

OtherPages::~OtherPages() {
  wishes_.close();
}

void OtherPages::ask() {
  static_cast<void>(wishes_.try_push(Wish{}));
}

std::vector<OtherPage> OtherPages::take() {
  std::vector<OtherPage> taken;
  while (auto answer = answers_.try_pop()) taken.push_back(std::move(*answer));
  return taken;
}

}  // namespace kimesh
