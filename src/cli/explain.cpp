// kimesh explain [NAME [KIND]]: the kinds and keys of the user's files.
#include "kimesh/run/explain.h"

#include <fmt/format.h>

#include "commands.h"
#include "say.h"

namespace kimesh::cli {

int explain(const ExplainOptions& options) {
  if (options.markdown) {
    put(explain_markdown());
    return kExitDone;
  }
  const Result<std::string> text = kimesh::explain(options.section, options.kind);
  if (!text) return fail(text.error());
  put(*text);
  return kExitDone;
}

}  // namespace kimesh::cli
