// kimesh web: the page of a run that ended, or that another process trains.
#include <csignal>

#include "commands.h"
#include "page.h"
#include "say.h"
#include "signals.h"

namespace kimesh::cli {

int web(const WebOptions& options) {
  const auto server = listen_for_page(options.page);
  if (!server) return fail(server.error());
  stop_on_lost_output();
  const sigset_t set = stop_signals();
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  const Status shown = show_page(server->get(), options.page, RunFolder(options.run));
  if (!shown) return fail(shown.error());
  constexpr timespec kLookEvery{1, 0};
  while (::sigtimedwait(&set, nullptr, &kLookEvery) < 0)
    if (const auto thrown = thrown_by_servers().text())
      return fail({ErrorCode::kIo, "the page is served no more: " + *thrown});
  return kExitDone;
}

}  // namespace kimesh::cli
