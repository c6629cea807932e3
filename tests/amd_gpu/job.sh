#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# job.sh HIP_BUILD EMULATOR KNOWN_CODE CMAKE
# Runs what the hip target has built (build_target.sh), and some programs more that it builds there, on the emulated AMD GPU
# of the folder EMULATOR: meshmem-info, and jobs whose kernels put, signal, wait for each other and reduce. Before that,
# KNOWN_CODE looks for instructions that the emulation lacks. Exit status 77 (skipped) without such a build.
set -euo pipefail
build=$1 emulator=$2 known_code=$3 cmake=$4

fail() {
  echo "job.sh: $*" >&2
  exit 1
}

[ -x "$build/bin/oshhip" ] && [ -f "$build/lib/libmeshmem.so" ] || {
  echo "SKIPPED: $build has no library for AMD GPUs (compile.hip builds it)"
  exit 77
}
programs=(device_signals device_litmus 10_kernel_put 16_allreduce)
"$cmake" "$build" -DMESHMEM_BUILD_TESTS=ON -DMESHMEM_BUILD_EXAMPLES=ON -DMESHMEM_TEST_KINDS=device >"$build/log" ||
  fail "configure: $(cat "$build/log")"
"$cmake" --build "$build" --target "${programs[@]}" >"$build/log" || fail "build: $(cat "$build/log")"
"$known_code" "$build/lib/libmeshmem.so" "${programs[@]/#/$build/bin/}"

export LD_LIBRARY_PATH=$emulator LD_BIND_NOW=1  # a function of HIP that the emulation lacks ends the program at once
about=$("$build/bin/meshmem-info")
[[ $about == *'meshmem emulated gfx90a'* ]] || fail "meshmem-info sees no emulated GPU: $about"
export MESHMEM_DEVICE_TEST_SHORT=1

run() {  # PES PROGRAM [ARGUMENTS]
  local said
  said=$("$build/bin/oshrun" -n "$1" --timeout 300 "$build/bin/$2" "${@:3}" 2>&1) || fail "$2 on $1 PEs: $said"
  echo "$2 on $1 PEs"
}
run 1 10_kernel_put
run 3 10_kernel_put
run 2 device_signals
run 2 16_allreduce
run 3 16_allreduce

# Memory as late and as stale as may be, where also the order of waves is drawn.
export MESHMEM_AMD_MEMORY=strict
for pes in 1 2 3; do MESHMEM_AMD_SEED=$pes run $pes device_litmus; done
MESHMEM_AMD_SEED=4 run 3 16_allreduce

# Without these instructions the tests must fail: else they would find nothing.
for without in buffer_wbinvl1_vol s_waitcnt; do
  said=$(MESHMEM_AMD_WITHOUT=$without "$build/bin/oshrun" -n 2 --timeout 300 "$build/bin/device_litmus" 2>&1) &&
    fail "device_litmus has not missed $without: $said"
  [[ $said == *'[  FAILED  ]'* || $said == *' failed at '* ]] || fail "without $without device_litmus ended otherwise: $said"
  echo "device_litmus misses $without"
done
