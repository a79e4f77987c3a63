#!/bin/sh
# With words: `kimesh WORDS`. Without: the node that the environment describes.
#
#   KIMESH_NODE      its name in the topology
#   KIMESH_TOPOLOGY  file, as seen in the container (default topologies/ring4.yaml)
#   KIMESH_CONFIG    file, as seen in the container (default configs/digits.yaml)
#   KIMESH_METRICS   HOST:PORT for Prometheus; empty: none
#   KIMESH_SHAPE     rate of all that leaves eth0, such as 10mbit; empty: as fast as the network
set -eu

if [ -n "${KIMESH_SHAPE:-}" ]; then
  tc qdisc replace dev eth0 root tbf rate "$KIMESH_SHAPE" burst 32kb latency 200ms || {
    echo "kimesh: KIMESH_SHAPE=$KIMESH_SHAPE cannot be had: write a rate such as 10mbit, and start" \
      "the container as root with the capability NET_ADMIN (docker-compose.shaped.yml does)." >&2
    exit 2
  }
fi

if [ $# -eq 0 ]; then
  set -- node --name "${KIMESH_NODE:?is not set: write the name of a node of the topology}" \
    --topology "${KIMESH_TOPOLOGY:-topologies/ring4.yaml}" \
    --config "${KIMESH_CONFIG:-configs/digits.yaml}"
  [ -z "${KIMESH_METRICS:-}" ] || set -- "$@" --metrics "$KIMESH_METRICS"
fi

# Root is for tc only.
if [ "$(id -u)" = 0 ]; then
  exec setpriv --reuid=kimesh --regid=kimesh --clear-groups --inh-caps=-all --bounding-set=-all \
    kimesh "$@"
fi
exec kimesh "$@"
