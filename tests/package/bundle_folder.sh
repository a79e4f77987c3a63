#!/usr/bin/env bash
# bundle_folder.sh SCRATCH: which folders a bundle may take. The program is `true` under the name
# kimesh, so that this takes a second.
set -euo pipefail
scratch=$1
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
make=$root/cmake/bundle/make.sh
fail() { printf '%s\n' "$@"; exit 1; }
rm -rf "$scratch"
mkdir -p "$scratch/program" "$scratch/mine" "$scratch/empty"
scratch=$(realpath "$scratch")
trap 'rm -rf "$scratch"' EXIT
cp -L "$(type -P true)" "$scratch/program/kimesh"
echo precious >"$scratch/mine/file"

# expect_refused FOLDER COMMAND...: it ends with 2, names the folder, and touches nothing.
expect_refused() {
  local folder=$1 code=0 said
  shift
  said=$("$@" 2>&1) || code=$?
  [[ $code == 2 && $said == *"$folder is there and is no bundle"* ]] ||
    fail "not refused with code 2: $* (code $code)" "$said"
  [[ $(<"$scratch/mine/file") == precious ]] || fail "$* touched a folder that is no bundle"
}
expect_refused "$scratch/mine" "$make" "$scratch/program/kimesh" "$scratch/mine"
expect_refused "$scratch/mine/file" "$make" "$scratch/program/kimesh" "$scratch/mine/file"
# A run that was started in a bundle has left something there.
"$make" "$scratch/program/kimesh" "$scratch/used"
mkdir "$scratch/used/runs"
expect_refused "$scratch/used" "$make" "$scratch/program/kimesh" "$scratch/used"
# Before it builds anything, and counted from where it is called.
cd "$scratch"
expect_refused "$scratch/mine" "$root/dev" bundle mine

for folder in "$scratch/new/below" empty; do
  "$make" program/kimesh "$folder"
  "$folder/kimesh" || fail "the bundle in $folder does not start"
  touch "$folder/lib/of_the_earlier_one"
  "$make" program/kimesh "$folder"
  "$folder/kimesh" || fail "the second bundle in $folder does not start"
  [[ ! -e $folder/lib/of_the_earlier_one ]] || fail "$folder is still the earlier bundle"
done

# A bundle that cannot be made leaves the earlier one.
touch empty/lib/of_the_earlier_one
! "$make" program/absent empty 2>/dev/null || fail "a program that is not there was bundled"
echo '#!/bin/sh' >program/script
! "$make" program/script empty 2>/dev/null || fail "a script was bundled"
[[ -f empty/lib/of_the_earlier_one ]] || fail "a failure took the earlier bundle"
[[ -z $(find . -name '.bundle.*') ]] || fail "something is left: $(find . -name '.bundle.*')"
