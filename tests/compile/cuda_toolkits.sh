#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# cuda_toolkits.sh SOURCE_FOLDER
#
# Compiles hip_on_cuda and some of the library's kernels by nvcc of each CUDA toolkit of version 12. The toolkits are those
# in /usr/local/cuda-12*, and that of MESHMEM_CUDA12 (a folder with bin/nvcc). Version 13 is compile.cuda's, which builds all.
# Exit status 77 (skipped) without any.
set -euo pipefail
source=$1
shopt -s nullglob
toolkits=(/usr/local/cuda-12* ${MESHMEM_CUDA12:+"$MESHMEM_CUDA12"})

found=0
for toolkit in "${toolkits[@]}"; do
  nvcc=$toolkit/bin/nvcc
  [ -x "$nvcc" ] || continue
  version=$("$nvcc" --version | sed -nE 's/.*release ([0-9.]+),.*/\1/p')
  found=$((found + 1))
  for file in tests/compile/hip_on_cuda.cpp tests/compile/outside/outside.hip device/kernels/startup.cpp device/kernels/moves.cpp \
              device/kernels/broadcasts.cpp; do
    "$nvcc" -x cu -arch=sm_90 -std=c++17 -O1 -Werror all-warnings -I"$source" -I"$source/include" -I"$source/device/hip_on_cuda" \
      -c "$source/$file" -o /dev/null
    echo "$file compiles by CUDA $version"
  done
done
[ "$found" -gt 0 ] || {
  echo "SKIPPED: no CUDA 12 in /usr/local/cuda-12*, nor in MESHMEM_CUDA12"
  exit 77
}
