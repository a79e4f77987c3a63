#!/usr/bin/env bash
# abi3.sh BUILD: Python 3.12 and later share one extension. Builds it on the libraries of BUILD with
# the oldest of them that is here, and runs a test of it with each, on the same file. pyenv's
# versions count, whichever is selected.
set -euo pipefail
build=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

python_of() {
  local python
  for python in "python$1" "$(pyenv prefix "$1" 2>/dev/null || true)/bin/python"; do
    if "$python" -c "import sys, venv; assert sys.version.startswith('$1.')" 2>/dev/null; then
      command -v "$python"
      return
    fi
  done
}

versions=()
for version in 3.12 3.13 3.14; do
  [[ -z $(python_of "$version") ]] || versions+=("$version")
done
if [[ ${#versions[@]} -lt 2 ]]; then
  echo "SKIPPED: of Python 3.12, 3.13 and 3.14, which share one extension, two must be here"
  exit
fi

home=$PWD/build/abi3
first=${versions[0]}
mkdir -p "$home/package"
cmake --install "$build" --prefix "$home/kimesh" >/dev/null
KIMESH_PYTHON=$(python_of "$first") KIMESH_PYTHON_VENV=$home/$first ./dev python \
  -C cmake.source-dir=. -C cmake.define.kimesh_ROOT="$home/kimesh"
installed=$home/$first/lib/python$first/site-packages
ln -sfn "$installed/kimesh" "$home/package/kimesh"
ls "$home/package/kimesh/_core.abi3.so"

numpy=$("$home/$first/bin/python" -c 'import numpy; print(numpy.__version__)')
for version in "${versions[@]}"; do
  if [[ ! -f $home/$version/ready ]]; then
    rm -rf "${home:?}/$version"
    "$(python_of "$version")" -m venv "$home/$version"
    "$home/$version/bin/python" -m pip install --quiet --disable-pip-version-check "numpy==$numpy"
    touch "$home/$version/ready"
  fi
  "$home/$version/bin/python" -V
  PYTHONPATH=$home/package "$home/$version/bin/python" -B tests/python/arrays_test.py
done
