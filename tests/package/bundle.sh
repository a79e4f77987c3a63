#!/usr/bin/env bash
# bundle.sh PROGRAM SCRATCH: a bundle trains in a root that holds nothing else, where there is no
# loader, no library and no shell of the machine's: simulated, and as processes of `kimesh up`.
set -euo pipefail
program=$1 scratch=$2
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
# Where CI=true the test must run: see tests/cannot_run.h.
cannot_run() {
  if [[ ${CI:-} == true ]]; then
    echo "$1. Where CI=true this test must run."
    exit 1
  fi
  echo "SKIPPED: $1"
  exit 0
}
[[ $(id -u) == 0 ]] || cannot_run "only root may change the root"
rm -rf "$scratch"
"$here/../../cmake/bundle/make.sh" "$program" "$scratch"
mkdir -p "$scratch/dev" "$scratch/tmp"
# What every system has, and no more: LibTorch seeds a generator, children take their input there.
if ! mknod -m 666 "$scratch/dev/null" c 1 3 || ! mknod -m 666 "$scratch/dev/urandom" c 1 9; then
  cannot_run "no device can be made here"
fi
trap 'rm -rf "$scratch"' EXIT
# A loopback address of this test's own, as tests/e2e/program.h has them.
host=127.$((64 + ($$ >> 16))).$((($$ >> 8) & 255)).$(($$ & 255))
printf '%s\n' 'kind: ring' 'nodes:' "  a: {address: \"tcp://$host:7101\"}" \
  "  b: {address: \"tcp://$host:7102\"}" >"$scratch/topology.yaml"
printf '%s\n' 'model: {kind: mlp, hidden: [16]}' 'data: {kind: digits, batch: 8}' \
  'optimizer: {kind: sgd, lr: 0.01}' 'compression: {policy: none}' 'stop: {rounds: 5}' \
  'threads: 1' >"$scratch/config.yaml"
for command in simulate up; do
  said=$(timeout 120 env -i "$(command -v chroot)" "$scratch" /kimesh "$command" --config config.yaml \
    --topology topology.yaml --run "$command" 2>&1) || {
    printf '%s\n' "$command ended with $?" "$said"
    exit 1
  }
  if ! grep -q 'all rounds were made' <<<"$said" ||
    [[ ! -s $scratch/runs/$command/model.safetensors ]]; then
    printf '%s\n' "$command left no model" "$said"
    exit 1
  fi
done
if ! cmp "$scratch/runs/simulate/model.safetensors" "$scratch/runs/up/model.safetensors"; then
  echo "two processes and a simulation trained to different bits"
  exit 1
fi
