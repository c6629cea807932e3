#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# device_only.sh SOURCE_FOLDER CLANG ARCHITECTURE...
# Reads the device side of the library's kernels that compute, of all types, and of a program's for
# AMD GPUs that the distribution's hipcc does not know, and makes no code of it: instructions.py does
# that for one type, and for the other kernels. Exit status 77 (skipped) without CLANG or HIP's
# headers.
set -euo pipefail
source=$1 clang=$2
shift 2

command -v "$clang" >/dev/null || {
  echo "SKIPPED: $clang is not installed"
  exit 77
}
echo '#include <hip/hip_version.h>' | "$clang" -E -x c++ - >/dev/null 2>&1 || {
  echo "SKIPPED: HIP's headers are not installed"
  exit 77
}
for architecture; do
  for file in "$source"/device/kernels/reductions*.cpp "$source"/tests/compile/outside/outside.hip; do
    "$clang" -x hip --offload-arch="$architecture" --offload-device-only -nogpulib -std=c++17 -O3 \
      -Wall -Wextra -Werror -I"$source" -I"$source/include" -fsyntax-only "$file"
    echo "${file#"$source"/} compiles for $architecture"
  done
done
