#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# device_only.sh SOURCE_FOLDER GENERATED_FOLDER CLANG ARCHITECTURE...
#
# CLANG reads the device side of the library's kernels that compute, of all types, and of a program's.
# It reads them for AMD GPUs that the distribution's hipcc does not know, and makes no code of them:
# instructions.py does that for one type, and for the other kernels. GENERATED_FOLDER has a file for
# each size of types, which are read as one. Exit status 77 (skipped) without CLANG or HIP's headers.
set -euo pipefail
source=$1 generated=$2 clang=$3
shift 3
. "$(dirname "$0")/scratch.sh"
if [[ $# = 0 || ${clang##*/} != *clang* ]] || ! compgen -G "$generated/reductions_*.cpp" >/dev/null; then
  fail 'the arguments are SOURCE_FOLDER GENERATED_FOLDER CLANG ARCHITECTURE...'
fi

command -v "$clang" >/dev/null || skip "$clang is not installed"
echo '#include <hip/hip_version.h>' | "$clang" -E -x c++ - >/dev/null 2>&1 ||
  skip "HIP's headers are not installed"
all_types=$scratch/all_types.cpp
cat "$generated"/reductions_*.cpp >"$all_types"
for architecture; do
  for file in "$source"/device/kernels/reductions.cpp "$all_types" "$source"/tests/compile/outside/outside.hip; do
    "$clang" -x hip --offload-arch="$architecture" --offload-device-only -nogpulib -std=c++17 -O3 \
      -Wall -Wextra -Werror -I"$source" -I"$source/include" -fsyntax-only "$file"
    echo "$(basename "$file") compiles for $architecture"
  done
done
