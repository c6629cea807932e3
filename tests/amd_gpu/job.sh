#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# job.sh build|run GPU HIP_BUILD EMULATOR KNOWN_CODE CMAKE
#
# Runs meshmem-info and jobs whose kernels put, signal, wait for each other and reduce, on the emulated
# AMD GPU of the folder EMULATOR. Before that, KNOWN_CODE looks for instructions that the emulation
# lacks. `build` builds the programs: for gfx90a beside what the hip target has built
# (build_target.sh); for gfx942 with a library of their own, by clang 19. Exit status 77 (skipped)
# without a library or compiler.
set -euo pipefail
step=$1 gpu=$2 build=$3 emulator=$4 known_code=$5 cmake=$6
here=$(dirname "$(readlink -f "$0")")

fail() {
  echo "job.sh: $*" >&2
  exit 1
}
skip() {
  echo "SKIPPED: $*"
  exit 77
}

options=(-DMESHMEM_WERROR=ON -DMESHMEM_BUILD_TESTS=ON -DMESHMEM_BUILD_EXAMPLES=ON -DMESHMEM_TEST_KINDS=device)
case $gpu in
  gfx90a)
    # The instructions of acquires and releases: without them these tests must fail, or would find
    # nothing.
    ordering=(device_litmus:buffer_wbinvl1_vol device_litmus:s_waitcnt coarse_memory:buffer_invl2 coarse_memory:buffer_wbl2)
    [ -x "$build/bin/oshhip" ] && [ -f "$build/lib/libmeshmem.so" ] ||
      skip "$build has no library for AMD GPUs (compile.hip builds it)"
    ;;
  gfx942)
    ordering=(device_litmus:buffer_inv device_litmus:buffer_wbl2 device_litmus:s_waitcnt coarse_memory:buffer_inv
      coarse_memory:buffer_wbl2)
    for program in clang++-19 ld.lld-19 clang-offload-bundler-19; do
      command -v $program >/dev/null || skip "$program is not installed"
    done
    options+=(-G Ninja -DMESHMEM_TARGET=hip -DMESHMEM_HIP_ARCHITECTURES=gfx942 -DMESHMEM_UCX=OFF -DMESHMEM_COMPILE_FOLDERS=ON
      -DMESHMEM_PRECOMPILE_HEADERS=ON
      -DMESHMEM_HIPCC="${MESHMEM_TEST_HIPCC:-$here/newer_hipcc}" -DCMAKE_BUILD_TYPE=Release
      -DCMAKE_PROJECT_meshmem_INCLUDE="$here/../compile/plain_host.cmake")
    ;;
  *) fail "there is no emulated $gpu" ;;
esac

programs=(device_host_stores device_signals device_litmus 10_kernel_put 16_allreduce)
if [ "$step" = build ]; then
  mkdir -p "$build"
  "$cmake" -S "$here/../.." -B "$build" "${options[@]}" >"$build/log" || fail "configure: $(cat "$build/log")"
  "$cmake" --build "$build" --target "${programs[@]}" oshrun meshmem-info >"$build/log" ||
    fail "build: $(cat "$build/log")"
  "$build/bin/oshhip" -O3 -c "$here/many_registers.hip" -o "$build/many_registers.o"
  "$build/bin/oshhip" -O2 "$here/coarse_memory.hip" -o "$build/bin/coarse_memory"
  "$build/bin/oshhip" --check -O2 "$here/late_wait.hip" -o "$build/bin/late_wait"
  exit
fi

"$known_code" "$build/lib/libmeshmem.so" "${programs[@]/#/$build/bin/}" "$build/bin/coarse_memory" "$build/many_registers.o"

export LD_LIBRARY_PATH=$emulator LD_BIND_NOW=1  # a function of HIP that the emulation lacks ends the program at once
about=$(MESHMEM_AMD_GPU=$gpu "$build/bin/meshmem-info" 2>/dev/null)  # has no kernels that name a GPU
[[ $about == *"meshmem emulated $gpu"* ]] || fail "meshmem-info sees no emulated GPU: $about"
export MESHMEM_DEVICE_TEST_SHORT=1

run() {  # PES PROGRAM [ARGUMENTS]; its output is in said
  said=$("$build/bin/oshrun" -n "$1" --timeout 300 "$build/bin/$2" "${@:3}" 2>&1) || fail "$2 on $1 PEs: $said"
  echo "$2 on $1 PEs"
}
run 1 10_kernel_put
run 3 10_kernel_put
run 2 device_signals
run 2 16_allreduce
run 3 16_allreduce

# A limit of waits in kernels ends those that last longer, and counts each from its own begin. The
# emulation cannot print the line: the kernel's print ends the program.
MESHMEM_TIMEOUT=7 run 2 late_wait released
said=$(MESHMEM_TIMEOUT=7 "$build/bin/oshrun" -n 2 --timeout 60 "$build/bin/late_wait" 2>&1) &&
  fail "a wait in a kernel has ended by itself: $said"
[[ $said == *launched* && $said != *'ran longer than'* ]] || fail "a wait in a kernel has no limit: $said"
echo "late_wait is ended"

# Modules that a program loads by hand, which has no kernels of its own.
outside=$here/../compile/outside
modules=()
for kind in LIBRARY NO_LIBRARY OTHER_HEADERS; do
  modules+=("$build/by_hand_$kind.co")
  "$build/bin/oshhip" --genco -O2 "-D$kind" "$outside/by_hand_kernels.hip" -o "${modules[-1]}"
done
"$build/bin/oshc++" -std=c++17 -Wall -Wextra -Werror -D__HIP_PLATFORM_AMD__ "$outside/by_hand.cpp" -o "$build/bin/by_hand" \
  "-L$emulator" -lamdhip64
# It loads them before the job begins, on device 0.
for pes in 2 4; do MESHMEM_CPU_DEVICES=1 run $pes by_hand "${modules[@]}"; done

# Memory as late and as stale as may be, where also the order of waves is drawn. On gfx942 the L2s
# keep nothing of uncached memory, so that the library takes fine-grained memory here.
export MESHMEM_AMD_MEMORY=strict MESHMEM_AMD_UNCACHED=no
for pes in 1 2 3; do MESHMEM_AMD_SEED=$pes run $pes device_litmus; done
MESHMEM_AMD_SEED=4 run 3 16_allreduce
for seed in 1 2; do MESHMEM_AMD_SEED=$seed run 2 coarse_memory; done

# The host puts by stores, and by kernels and copies. The emulation cannot tell whether a store has
# left a real processor, or a real device's buffer.
run 2 device_host_stores
export MESHMEM_CPU_LARGE_BAR=1 SHMEM_DEBUG=1
run 2 device_host_stores
[[ $said == *'stores into the device heaps of 2 of 2 PEs'* ]] || fail "the host does not store: $said"
MESHMEM_LARGE_BAR=0 run 2 device_host_stores
[[ $said != *'stores into the device heaps'* ]] || fail "the host stores, though it should not: $said"
unset MESHMEM_CPU_LARGE_BAR SHMEM_DEBUG

for each in "${ordering[@]}"; do
  program=${each%:*} without=${each#*:}
  said=$(MESHMEM_AMD_WITHOUT=$without "$build/bin/oshrun" -n 2 --timeout 300 "$build/bin/$program" 2>&1) &&
    fail "$program has not missed $without: $said"
  [[ $said == *'[  FAILED  ]'* || $said == *' failed at '* || $said == *'were stale'* || $said == *'had not arrived'* ]] ||
    fail "without $without $program ended otherwise: $said"
  echo "$program misses $without"
done
