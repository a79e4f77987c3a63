# PyTorch and JAX for the tests of the package for Python; ./dev sources this. Where one cannot be
# had, its tests are skipped.

# unpack_torch WHEELS: the Python part of the wheel whose LibTorch is in $third_party, into
# build/torch. With stand-ins for CUDA's libraries, 4 GB in all, it loads on a machine without them.
# SymPy is left out, which torch.optim, torch.func and torch.compile would need.
unpack_torch() {
  local library unpacked
  unpacked=$(mktemp -d build/.torch.XXXXXX)
  chmod 755 "$unpacked"
  unzip -q "$1"/torch-*.whl -d "$unpacked" '*.py' 'torch/_C.*' 'torch/bin/torch_shm_manager' \
    'torch/lib/lib*.so*' '*.dist-info/*' -x torch/lib/libtorch_cpu.so \
    torch/lib/libtorch_cuda_linalg.so torch/lib/libcaffe2_nvrtc.so
  unzip -q "$1"/typing_extensions-*.whl -d "$unpacked"
  ln -s ../third_party/nvidia "$unpacked/nvidia"
  for library in "$third_party"/torch/lib/lib*.so*; do
    ln -sf "../../../third_party/torch/lib/${library##*/}" "$unpacked/torch/lib/"
  done
  tests/python/cuda_stand_ins.sh "$unpacked/torch/lib"
  rm -rf build/torch
  mv "$unpacked" build/torch
}

# Whether the machine's Python is the one for which the wheel was made (fetch_wheels).
has_python_of_wheels() {
  python3 -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))'
}

# The wheel is in build/.torch_wheels where `setup` had to fetch LibTorch: pip takes it from there.
fetch_torch() {
  local wheels=build/.torch_wheels
  if [[ -d build/torch/torch-$torch_version.dist-info ]]; then
    rm -rf "$wheels"
    return
  fi
  if [[ -n ${KIMESH_LIBTORCH:-} ]] || ! has_python_of_wheels; then
    say "PyTorch can be had for Python 3.11 and the LibTorch of build/third_party alone: tests that" \
      "need it will be skipped"
    rm -rf "$wheels"
    return
  fi
  rm -rf build/.torch.*
  say "setting up PyTorch $torch_version for tests"
  trust_what_the_machine_trusts
  if ! fetch_wheels "$wheels" "torch==$torch_version" \
    "typing-extensions==$typing_extensions_version"; then
    say "PyTorch could not be fetched (pip's words are above): tests that need it will be skipped"
    return
  fi
  unpack_torch "$wheels"
  rm -rf "$wheels"
}

fetch_jax() {
  [[ -d build/jax/jax-$jax_version.dist-info ]] && return
  local fetch
  rm -rf build/.jax.*
  fetch=$(mktemp -d build/.jax.XXXXXX)
  chmod 755 "$fetch"
  say "fetching JAX $jax_version for the CPU"
  trust_what_the_machine_trusts
  if python3 -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-compile \
    --target "$fetch" --root-user-action ignore "jax==$jax_version" "numpy==$numpy_version" >&2
  then
    rm -rf build/jax
    mv "$fetch" build/jax
  else
    say "JAX could not be fetched (pip's words are above): its tests will be skipped"
    rm -rf "$fetch"
  fi
}
