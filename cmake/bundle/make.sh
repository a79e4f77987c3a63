#!/usr/bin/env bash
# make.sh PROGRAM FOLDER: makes FOLDER the bundle of a built kimesh, which runs on any Linux of this
# processor's kind, with its own loader and C library: a static launcher, lib/, configs, topologies.
# An earlier bundle there is replaced when the new one is whole. A folder that holds anything else
# is refused with code 2; `make.sh --check FOLDER` does only that, before PROGRAM is built.
set -euo pipefail
target=$(realpath --canonicalize-missing "$2")
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
holds_nothing_but_a_bundle() {
  [[ -f $1/kimesh && -f $1/lib/kimesh ]] &&
    [[ -z $(ls -A -I kimesh -I lib -I configs -I topologies -I LICENSE "$1") ]]
}
is_empty() { [[ $(find "$1" -maxdepth 0 -type d -empty) ]]; }
if [[ -e $target ]] && ! holds_nothing_but_a_bundle "$target" && ! is_empty "$target"; then
  echo "bundle: $target is there and is no bundle of kimesh, or holds more than one:" \
    "name a new or an empty folder." >&2
  exit 2
fi
[[ $1 != --check ]] || exit 0
program=$(realpath "$1")
mkdir -p "$(dirname "$target")"
work=$(mktemp -d "$(dirname "$target")/.bundle.XXXXXX")
# An end between the two last steps puts the earlier bundle back.
trap '[[ -e $target || ! -e $work/earlier ]] || mv "$work/earlier" "$target"; rm -rf "$work"' EXIT
folder=$work/whole
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
[[ ! -e $target ]] || mv --no-target-directory "$target" "$work/earlier"
mv --no-target-directory "$folder" "$target"
