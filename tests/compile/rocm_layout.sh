#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# rocm_layout.sh SOURCE_FOLDER CMAKE
# Configures the hip target with a ROCm 7 of stubs: amdclang++ is a link into the folder of LLVM, and headers and library
# are found from there. Then it looks at what oshhip passes on to the compiler.
set -euo pipefail
source=$1 cmake=$2

. "$(dirname "$0")/scratch.sh"
rocm=$scratch/rocm

mkdir -p "$rocm"/{bin,lib/llvm/bin,include/hip}
for part in MAJOR=7 MINOR=1 PATCH=0; do echo "#define HIP_VERSION_${part%=*} ${part#*=}"; done >"$rocm/include/hip/hip_version.h"
touch "$rocm/include/hip/hip_runtime_api.h" "$rocm/lib/libamdhip64.so"
tee "$rocm/lib/llvm/bin/amdllvm" >/dev/null <<'END'
#!/bin/sh
echo "platform $HIP_PLATFORM: $0 $*"
END
chmod +x "$rocm/lib/llvm/bin/amdllvm"
ln -s amdllvm "$rocm/lib/llvm/bin/amdclang++"
ln -s ../lib/llvm/bin/amdclang++ "$rocm/bin/amdclang++"

options=(-DMESHMEM_TARGET=hip -DMESHMEM_HIPCC="$rocm/bin/amdclang++" '-DMESHMEM_HIP_ARCHITECTURES=gfx942;gfx1200'
  -DMESHMEM_UCX=OFF -DMESHMEM_BUILD_TESTS=OFF -DMESHMEM_BUILD_EXAMPLES=OFF)
"$cmake" -G Ninja -S "$source" -B "$scratch/build" "${options[@]}" >"$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
for found in "INCLUDE:PATH=$rocm/include" "LIBRARY:FILEPATH=$rocm/lib/libamdhip64.so"; do
  grep -qxF "MESHMEM_HIP_$found" "$scratch/build/CMakeCache.txt" ||
    fail "not $found: $(grep MESHMEM_HIP_ "$scratch/build/CMakeCache.txt")"
done

# passes_on PATTERN ARGUMENTS: what oshhip calls the compiler with.
passes_on() {
  local called
  called=$(HIP_PLATFORM=amd "$scratch/build/bin/oshhip" "${@:2}")
  # shellcheck disable=SC2053  # a pattern
  [[ $called == "platform amd: $rocm/bin/amdclang++ "$1 ]] || fail "oshhip ${*:2}: $called, not $1"
}
touch "$scratch/kernels.hip"
passes_on "* --offload-arch=gfx942 --offload-arch=gfx1200 -x hip $scratch/kernels.hip -c *" "$scratch/kernels.hip" -c
passes_on "* --offload-arch=native -x hip *" --offload-arch=native "$scratch/kernels.hip"
! (passes_on '*gfx942*' --offload-arch=native "$scratch/kernels.hip") 2>/dev/null || fail 'native is not alone'
# amdclang++ links HIP's library for sources alone, unless it is told.
passes_on "* kernels.o * -lmeshmem --hip-link *" kernels.o -o kernels
[[ $("$scratch/build/bin/oshhip" --showme:link) == *-lmeshmem ]] || fail '--showme:link has words for clang alone'
