#!/usr/bin/env bash
# cuda_stand_ins.sh TORCH/lib: lets PyTorch's libraries of that folder load without those of CUDA's
# that only work on a GPU calls: cuBLAS, cuDNN, NCCL and others. One library takes the names of all;
# each function that PyTorch would find in them ends the program with its own name. CUDA's
# run-time library is the real one: it says that there is no GPU.
set -euo pipefail
cd "$1"
cuda=../../nvidia/cu13/lib
shopt -s nullglob
users=(libtorch_python.so libtorch_cuda*.so libtorch_nvshmem*.so)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -f libcuda_stand_ins.so

# NAME or NAME@VERSION of what these need, but for Python and the compiler's libraries, and of what
# the folder has.
nm -D --undefined-only "${users[@]}" |
  awk '$1 == "U" && $2 !~ /@(GLIBC|GCC|CXXABI|GOMP|OMP)|^_?Py/ { print $2 }' |
  sort -u >"$work/needed"
nm -D --defined-only ./*.so "$cuda/libcudart.so.13" |
  awk 'NF == 3 { sub(/@@/, "@", $3); print $3 }' | sort -u >"$work/there"
comm -23 "$work/needed" "$work/there" >"$work/absent"

{
  cat <<'C'
#include <stdio.h>
#include <stdlib.h>
static void none(const char* name) {
  fprintf(stderr, "%s is CUDA's, and this PyTorch is for tests without a GPU\n", name);
  abort();
}
C
  sed 's/@.*//; s/.*/void &(void) { none("&"); }/' "$work/absent"
} >"$work/absent.c"
awk -F@ 'NF == 2 { names[$2] = names[$2] " " $1 ";" }
  END { for (version in names) printf "%s {%s };\n", version, names[version] }' \
  "$work/absent" >"$work/versions"
${CC:-cc} -w -shared -fPIC "$work/absent.c" -o libcuda_stand_ins.so \
  -Wl,-soname,libcuda_stand_ins.so -Wl,--version-script="$work/versions"

readelf -d "${users[@]}" | sed -n 's/.*(NEEDED).*\[\(lib\(cu\|nccl\|nv\).*\)\]/\1/p' | sort -u |
  while read -r library; do
    [[ -e $library || -e $cuda/$library ]] || ln -s libcuda_stand_ins.so "$library"
  done
