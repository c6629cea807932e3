#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# job.sh SOURCE HIP_BUILD EMULATOR
# Runs what the hip target has built (build_target.sh) on the emulated AMD GPU of the folder EMULATOR: meshmem-info, and
# jobs of 1, 2 and 3 PEs whose kernels put into each other's memory. Exit status 77 (skipped) without such a build.
set -euo pipefail
source=$1 build=$2 emulator=$3

fail() {
  echo "job.sh: $*" >&2
  exit 1
}

[ -x "$build/bin/oshhip" ] && [ -f "$build/lib/libmeshmem.so" ] || {
  echo "SKIPPED: $build has no library for AMD GPUs"
  exit 77
}
export LD_LIBRARY_PATH=$emulator

about=$("$build/bin/meshmem-info")
[[ $about == *'meshmem emulated gfx90a'* ]] || fail "meshmem-info sees no emulated GPU: $about"

"$build/bin/oshhip" -O1 "$source/examples/10_kernel_put.hip" -o "$build/kernel_put"
for pes in 1 2 3; do
  said=$("$build/bin/oshrun" -n $pes --timeout 300 "$build/kernel_put" | sort)
  expected=
  for ((pe = 0; pe < pes; ++pe)); do
    left=$(((pe + pes - 1) % pes))
    expected+="PE $pe: the kernel of PE $left sent me $((1000 * left)) .. $((1000 * left + 63))"$'\n'
  done
  [ "$said" = "${expected%$'\n'}" ] || fail "$pes PEs printed: $said"
done
echo 'meshmem-info, and kernels that put, on 1, 2 and 3 PEs'
