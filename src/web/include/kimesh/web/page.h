// The live page of a run: routes of a server.
//
//   /            the page: no part of it is of this run, so that it needs no token
//   /state.json  what it draws (run_watch.h); ?since=CURSOR for what is new, &wait=1 to be answered
//                once a second, &node=INDEX&link=INDEX for the last rounds of one of each
//   /digest.json what the page of another node asks
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kimesh/http/ask.h"
#include "kimesh/http/server.h"
#include "kimesh/util/result.h"
#include "kimesh/web/run_watch.h"

namespace kimesh {

// Listens for the page. `address` is HOST:PORT; beyond loopback a file with a token is needed
// (http/token.h), which the page's reader types in. Errors: UserInput, before anybody listens.
[[nodiscard]] Result<std::unique_ptr<HttpServer>> listen_for_page(const std::string& address,
                                                                  const std::string& token_file);

// Adds the routes. The run is read by the server's thread alone, and only while somebody asks. The
// pages of `others`, which serve the same run at other nodes, are asked for /digest.json then, at
// most once a second: 64 kB each at most, and 0.3 kB and 0.1 kB a link of what they know.
void add_page(HttpServer& server, std::unique_ptr<RunWatch> run,
              std::vector<HttpQuestion> others = {});

// The page as it is served.
[[nodiscard]] std::string page_html();

}  // namespace kimesh
