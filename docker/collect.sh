#!/usr/bin/env bash
# collect.sh PROGRAM FOLDER: copies PROGRAM and the libraries that it loads from beyond Debian's
# packages (LibTorch) to FOLDER/kimesh and FOLDER/lib.
set -euo pipefail
program=$1
folder=$2

loaded=$(ldd "$program")
if grep -F 'not found' <<<"$loaded" >&2; then
  echo "collect.sh: $program misses these libraries on this machine" >&2
  exit 1
fi
mkdir -p "$folder/lib"
cp "$program" "$folder/kimesh"
while read -r name _ path; do
  path=${path% (0x*} # ldd tells the address, and a path may hold spaces
  case $path in
    /lib/* | /usr/lib/*) ;;
    /*) cp -L "$path" "$folder/lib/$name" ;;
  esac
done <<<"$loaded"
