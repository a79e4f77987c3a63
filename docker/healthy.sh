#!/bin/sh
# Healthy: the node of this container said less than UNTIL ago what it waits for, and for how long
# that may take (`kimesh node --health`).
read -r until sentence <"${KIMESH_HEALTH:-/run/kimesh/health}" 2>/dev/null || {
  echo "the node has not said anything yet"
  exit 1
}
echo "$sentence"
[ "$(date +%s)" -lt "$until" ]
