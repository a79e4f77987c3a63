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
  int signal = 0;
  while (::sigwait(&set, &signal) != 0) {
  }
  return kExitDone;
}

}  // namespace kimesh::cli
