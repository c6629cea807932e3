#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# rocm7.sh SOURCE_FOLDER GENERATED_FOLDER BUILD_FOLDER CMAKE PYTHON
#
# Compiles device code and the library by clang 19 with the headers of HIP 7.1, and reads the instructions. Runs gfx942's
# on the emulated GPU, which is built with these headers too. BUILD_FOLDER/rocm is laid out as ROCm is. PyPI's wheel of
# triton has the headers, but those of the short floating-point types: Debian's take their place. Exit status 77 (skipped)
# unless MESHMEM_TEST_LONG is set, and without clang 19, Debian's HIP or the wheel.
set -euo pipefail
source=$1 generated=$2 build=$3 cmake=$4 python=$5
rocm=$build/rocm
here=$source/tests/compile

skip() {
  echo "SKIPPED: $*"
  exit 77
}

[ -n "${MESHMEM_TEST_LONG-}" ] || skip 'MESHMEM_TEST_LONG is not set'
for program in clang-19 ld.lld-19 clang-offload-bundler-19 hipcc; do
  command -v $program >/dev/null || skip "$program is not installed"
done

if [ ! -f "$rocm/include/hip/hip_version.h" ]; then
  mkdir -p "$build/wheel"
  "$python" -m pip download -q --no-deps --only-binary :all: -d "$build/wheel" triton==3.9.0 2>"$build/log" ||
    skip "pip cannot download triton, which has HIP's headers: $(tail -n 1 "$build/log")"
  "$python" -m zipfile -e "$build"/wheel/triton-*.whl "$build/wheel"
  mkdir -p "$rocm"/{bin,lib}
  cp -r "$build/wheel/triton/backends/amd/include" "$rocm"
  rm -r "$build/wheel"
fi
# compiler NAME COMMAND: clang would look into /usr/include before ROCm's folder.
compiler() {
  tee "$rocm/bin/$1" >/dev/null <<END
#!/bin/sh
export MESHMEM_TEST_ROCM="$rocm"
exec "$2" -nogpuinc -isystem "$rocm/include" -L"$rocm/lib" -include __clang_hip_runtime_wrapper.h -Wno-unused-command-line-argument "\$@"
END
  chmod +x "$rocm/bin/$1"
  printf '#include <hip/hip_runtime.h>\nstatic_assert(HIP_VERSION_MAJOR == 7);' |
    "$rocm/bin/$1" -x hip --offload-arch=gfx942 --cuda-device-only -nogpulib -fsyntax-only -
}
compiler clang-19 "$(command -v clang-19)"
compiler hipcc "$source/tests/amd_gpu/newer_hipcc"

# All that these need is there: none of them may be skipped.
bash "$here/device_only.sh" "$source" "$generated" "$rocm/bin/clang-19" gfx90a gfx942 gfx1100 gfx1200 || exit 1
"$python" -B "$here/instructions.py" "$source" "$rocm/bin/clang-19" gfx90a gfx942 gfx1100 gfx1200 || exit 1

# The emulated GPU, then the library and programs, which link it.
"$cmake" -G Ninja -S "$source" -B "$build/emulator" -DCMAKE_BUILD_TYPE=Release -DMESHMEM_UCX=OFF \
  -DMESHMEM_BUILD_TESTS=ON -DMESHMEM_BUILD_EXAMPLES=OFF -DMESHMEM_TEST_KINDS=amd_gpu \
  -DMESHMEM_ROCM_INCLUDE="$rocm/include" >"$build/log" || { cat "$build/log"; exit 1; }
"$cmake" --build "$build/emulator" --target amd_gpu amd_gpu_known_code >"$build/log" || { cat "$build/log"; exit 1; }
ln -sf "$build"/emulator/tests/amd_gpu/lib/* "$rocm/lib"
for step in build run; do
  MESHMEM_TEST_HIPCC="$rocm/bin/hipcc" bash "$source/tests/amd_gpu/job.sh" $step gfx942 "$build/gfx942" "$rocm/lib" \
    "$build/emulator/bin/amd_gpu_known_code" "$cmake" || exit 1
done
