#!/usr/bin/env bash
# make.sh PROGRAM FOLDER: makes FOLDER the bundle of a built kimesh, which runs on any Linux of this
# processor's kind, with its own loader and C library: a static launcher, lib/, configs, topologies.
set -euo pipefail
program=$(realpath "$1") folder=$2
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
rm -rf "$folder"
mkdir -p "$folder/lib"
loader=$(readelf --program-headers "$program" | sed -n 's/.*interpreter: \(.*\)]/\1/p')
libraries=$(ldd "$program")
if grep -q 'not found' <<<"$libraries"; then
  echo "bundle: $program misses libraries: $(grep 'not found' <<<"$libraries")" >&2
  exit 1
fi
awk '$3 ~ /^\// {print $3}' <<<"$libraries" | xargs cp -L -t "$folder/lib"
cp -L "$program" "$loader" "$folder/lib"
cc -O2 -Wall -Wextra -Werror -static -DLOADER="\"$(basename "$loader")\"" \
  "$root/cmake/bundle/launcher.c" -o "$folder/kimesh"
cp -r "$root/configs" "$root/topologies" "$root/LICENSE" "$folder"
