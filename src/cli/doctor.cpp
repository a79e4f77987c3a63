// kimesh doctor TOPOLOGY --name NODE: whether this machine and its peers reach each other.
#include "kimesh/doctor/doctor.h"

#include <fmt/format.h>

#include <utility>

#include "commands.h"
#include "job.h"
#include "kimesh/mesh/keys.h"
#include "kimesh/util/units.h"
#include "say.h"
#include "signals.h"

namespace kimesh::cli {

int doctor(const DoctorCommand& command) {
  auto topology = load_topology_alone(command.topology);
  if (!topology) return kExitUser;
  const auto self = find_node(*topology, command.name);
  if (!self) return kExitUser;
  if (!check_security(*topology, command.keys, {})) return kExitUser;  // its keys are read below
  const auto plan = plan_without_sizes(*topology);
  if (!plan) return fail(plan.error());
  DoctorOptions options;
  options.plan = &*plan;
  options.topology = &*topology;
  options.self = *self;
  options.version = std::string(version());
  auto keys = load_keys(*topology, *self);
  if (!keys) return fail(keys.error());
  options.curve = std::move(*keys);
  if (!command.wait.empty()) {
    const auto wait = parse_duration(command.wait);
    if (!wait) return fail({ErrorCode::kUserInput, "--wait: " + wait.error().message});
    options.patience = *wait;
  }
  stop_on_signals();
  options.stop = &stop_wanted();
  const auto diagnosis = examine_links(options, say);
  if (!diagnosis) return fail(diagnosis.error());
  put(diagnosis_text(*diagnosis, *topology, *self));
  return diagnosis->is_healthy() ? kExitDone : kExitFailed;
}

}  // namespace kimesh::cli
