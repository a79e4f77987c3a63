#include "run_place.h"

#include <fmt/format.h>

#include "say.h"

namespace kimesh::cli {
namespace {

constexpr const char* kRuns = "runs";

// Refuses to go on under another topology: that takes the checkpoints of all nodes, and each
// machine has only its own node's.
Status check_same_topology(const Mesh& mesh, const RunOptions& options) {
  const auto before = mesh.topology_before(RunFolder(options.resume));
  if (!before) return before.error();
  if (!*before) return ok_status();
  return Error{ErrorCode::kUserInput,
               fmt::format("{0} is of another topology. On one machine, make checkpoints for this "
                           "one of the run folders of all its nodes: `kimesh join {0} ... "
                           "--topology {1} --output FOLDER`; then start every node with "
                           "--resume FOLDER",
                           options.resume, options.topology)};
}

Result<RunPlace> new_folder(const Mesh& mesh, const NodeOptions& options) {
  const auto made = mesh.make_folder({options.run.run, kRuns}, options.run.command);
  if (!made) return made.error();
  say("run folder: " + made->path());
  return RunPlace{*made};
}

// A new run, too, begins with the agreement on a checkpoint, since other nodes may hold one.
Result<RunPlace> unfinished_or_new(const Mesh& mesh, const NodeOptions& options) {
  const EarlierRuns earlier = mesh.earlier_runs(kRuns, options.name);
  if (earlier.unfinished) {
    say(fmt::format("{} has not come to its end: node {} goes on with it",
                    earlier.unfinished->path(), options.name));
    return RunPlace{*earlier.unfinished, true, false, earlier.died_at_end};
  }
  if (earlier.unfinished_other)
    say(
        fmt::format("{} has not come to its end, and its config or topology said something else: "
                    "node {} does not go on with it",
                    earlier.unfinished_other->path(), options.name));
  auto made = new_folder(mesh, options);
  if (!made) return made;
  made->resumes = true;
  made->has_ended = earlier.has_ended;
  made->died_at_end = earlier.died_at_end;
  return made;
}

}  // namespace

Result<RunPlace> place_of(const Mesh& mesh, const NodeOptions& options) {
  if (options.resumes_if_any) return unfinished_or_new(mesh, options);
  if (options.run_folder.empty()) return new_folder(mesh, options);
  if (options.run.resume.empty()) {
    const auto shared = mesh.share_folder(options.run_folder, options.run.command);
    if (!shared) return shared.error();
    return RunPlace{*shared};
  }
  if (const Status same = check_same_topology(mesh, options.run); !same) return same.error();
  return RunPlace{RunFolder(options.run_folder), true};
}

}  // namespace kimesh::cli
