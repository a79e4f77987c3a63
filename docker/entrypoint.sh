#!/bin/sh
# With words: `kimesh WORDS`. Without: the node that the environment describes.
#
#   KIMESH_NODE      its name in the topology
#   KIMESH_TOPOLOGY  file, as seen in the container (default topologies/ring4.yaml)
#   KIMESH_CONFIG    file, as seen in the container (default configs/digits.yaml)
#   KIMESH_KEYS      folder of the node's secret key and the list of public ones; empty: where the
#                    topology says
#   KIMESH_METRICS   HOST:PORT for Prometheus; empty: none
#   KIMESH_NODES     in place of KIMESH_NODE: all names; the host NAME-0 takes the first, and so on
#   KIMESH_RESTARTED 1: whoever runs this container starts it again where it fails. The node goes on
#                    with its last run, and where a failure would come again (codes 2 and 3, or one
#                    of these variables is wrong) the container ends with 0
#   KIMESH_STAY      1: after a good end, and after a failure that would come again, the container
#                    stays until it is stopped, so that what the node left can be fetched where a
#                    container that ends is started anew. Started anew with the same two files after
#                    a good end, it stays as well, and trains nothing
#   KIMESH_HEALTH    file for healthy.sh (default /run/kimesh/health)
#   KIMESH_DESCRIPTORS, KIMESH_THREADS
#                    the most descriptors of the container's processes, and the most threads of this
#                    user on the machine, where who runs the container cannot limit them. A lower
#                    hard limit stays; empty: no further limit
#   KIMESH_SHAPE     rate of all that leaves eth0, such as 10mbit; empty: as fast as the network
set -eu

health=${KIMESH_HEALTH:-/run/kimesh/health}
[ $# -eq 0 ] || KIMESH_RESTARTED= KIMESH_STAY=

# A shell hears of a signal only while it waits, and an interrupted `wait` tells the signal. A child
# that the shell has just forked has the shell's handlers for a moment, in which a TERM is lost. So
# the file $stop tells of the stop as well, and the child looks for it once the moment is over. KILL
# is never lost.
stop=$health.stop
hear_signals() {
  child=
  trap 'heard=1 stopped=1; [ -z "$child" ] || stop_node' TERM INT
  trap 'heard=1; [ -z "$child" ] || kill -USR1 "$child" 2>/dev/null || true' USR1
}

stop_node() {
  echo >"$stop" || true
  kill -TERM "$child" 2>/dev/null || true
}

stay() {
  child=
  trap 'stopped=1; [ -z "$child" ] || kill -KILL "$child" 2>/dev/null || true' TERM INT
  trap '' USR1
  echo "this container stays until it is stopped, so that /kimesh/runs can be fetched"
  echo "9999999999 the node has ended, and the container stays" >"$health"
  [ -z "${stopped:-}" ] || exit 0
  sleep infinity &
  child=$!
  # A signal may have come before the shell knew whom to end.
  [ -z "${stopped:-}" ] || kill -KILL "$child" 2>/dev/null || true
  wait "$child" || exit 0
}

# end_for_good CODE: the end after a failure that would come again.
end_for_good() {
  echo "kimesh: started again, this node would end with code $1 again; it is not." >&2
  [ -z "${KIMESH_STAY:-}" ] || stay
  exit 0
}

# refuse SENTENCE...: the environment of the container is wrong, which is bad input as code 2 of
# kimesh is.
refuse() {
  echo "kimesh: $*" >&2
  [ "${KIMESH_RESTARTED:-}${KIMESH_STAY:-}" ] || exit 2
  hear_signals
  end_for_good 2
}

if [ -n "${KIMESH_SHAPE:-}" ]; then
  tc qdisc replace dev eth0 root tbf rate "$KIMESH_SHAPE" burst 32kb latency 200ms ||
    refuse "KIMESH_SHAPE=$KIMESH_SHAPE cannot be had: write a rate such as 10mbit, and start the" \
      "container as root with the capability NET_ADMIN (docker-compose.shaped.yml does)."
fi
# Root is for tc only.
if [ "$(id -u)" = 0 ]; then
  unset KIMESH_SHAPE
  exec setpriv --reuid=kimesh --regid=kimesh --clear-groups --inh-caps=-all --bounding-set=-all \
    entrypoint.sh "$@"
fi

# limit RESOURCE VARIABLE NUMBER. The kernel refuses a number over the limit that is there.
limit() {
  case $3 in
    '') ;;
    *[!0-9]*) refuse "$2=$3 is no number: write one such as 8192, or leave it out." ;;
    *) prlimit --pid $$ "--$1=$3:$3" 2>/dev/null || true ;;
  esac
}
limit nofile KIMESH_DESCRIPTORS "${KIMESH_DESCRIPTORS:-}"
limit nproc KIMESH_THREADS "${KIMESH_THREADS:-}"

if [ -n "${KIMESH_NODES:-}" ]; then
  index=${HOSTNAME##*-}
  case $index in
    '' | *[!0-9]*) refuse "the host $HOSTNAME is none of NAME-0, NAME-1 and so on: leave" \
      "KIMESH_NODES out, and write KIMESH_NODE." ;;
  esac
  index=${index#"${index%%[!0]*}"} # after a zero the shell would read an octal number
  KIMESH_NODE=$(echo "$KIMESH_NODES " | cut -d ' ' -f $((${index:-0} + 1)))
  [ -n "$KIMESH_NODE" ] ||
    refuse "the host $HOSTNAME has no name in KIMESH_NODES=$KIMESH_NODES: write one for each host."
fi
topology=${KIMESH_TOPOLOGY:-topologies/ring4.yaml} config=${KIMESH_CONFIG:-configs/digits.yaml}

if [ $# -eq 0 ]; then
  [ -n "${KIMESH_NODE:-}" ] ||
    refuse "KIMESH_NODE is not set: write the name of a node of the topology."
  set -- node --name "$KIMESH_NODE" --topology "$topology" --config "$config" --health "$health"
  [ -z "${KIMESH_KEYS:-}" ] || set -- "$@" --keys "$KIMESH_KEYS"
  [ -z "${KIMESH_METRICS:-}" ] || set -- "$@" --metrics "$KIMESH_METRICS"
  [ -z "${KIMESH_RESTARTED:-}" ] || set -- "$@" --resume-if-any
fi
[ "${KIMESH_RESTARTED:-}${KIMESH_STAY:-}" ] || exec kimesh "$@"

hear_signals

ended=runs/.ended # what was trained to its end: the sum of the two files
sum=$(cat "$topology" "$config" 2>/dev/null | cksum)
if [ "${KIMESH_STAY:-}" ] && [ "$(cat "$ended" 2>/dev/null)" = "$sum" ]; then
  echo "kimesh: this mesh has come to its end before; remove /kimesh/$ended to train it again"
  stay
  exit 0
fi

rm -f "$stop"
(
  trap '' USR1 # until the node can answer it, USR1 asks for nothing
  [ ! -e "$stop" ] || exit 143
  exec kimesh "$@"
) &
child=$!
[ -z "${stopped:-}" ] || stop_node
heard=1
while [ "$heard" ]; do
  heard= code=0
  wait "$child" || code=$?
done
[ -z "${stopped:-}" ] || exit "$code"
case $code in
  0)
    if [ "${KIMESH_STAY:-}" ]; then
      { echo "$sum" >"$ended.tmp" && mv "$ended.tmp" "$ended"; } ||
        echo "kimesh: /kimesh/$ended cannot be written" >&2
    fi
    ;;
  # Another node was stopped. Where pods are moved it comes back, and this one goes on with it; with
  # docker-compose somebody has stopped the mesh.
  4) [ -z "${KIMESH_STAY:-}" ] || exit "$code"; code=0 ;;
  2 | 3) end_for_good "$code" ;;
  *) exit "$code" ;;
esac
[ "${KIMESH_STAY:-}" ] || exit "$code"
stay
