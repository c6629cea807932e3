#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The whole run on a machine with GPUs: builds, runs the tests of kernels, measures, and ends with a summary.
#   tests/gpu.sh [OUTDIR] [cuda|hip]      default: build/gpu-results, and the target whose compiler is there
#   STEPS="tests examples check bench"    what to do after the build; default: all of it but check
#   CHECK=memcheck,racecheck   the tools of compute-sanitizer that step check runs the tests under, 2 PEs each
#   PROGRAMS="rma atomics"     of tests/device, that step check runs; default: all that can
#   PEERS=DIR             a folder with results of other libraries (nvshmem_N.txt), put beside ours
# It needs what `./mesh install` needs, and GoogleTest; CMAKE_PREFIX_PATH finds what is elsewhere. With NVIDIA's MPS
# several jobs run at a time.
set -uo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
started=$SECONDS
out=${1:-build/gpu-results}
mkdir -p "$out"
out=$(readlink -f "$out")
if command -v nvcc >/dev/null; then found=cuda; else found=hip; fi
target=${2:-$found}
if [ "$target" = cuda ]; then gpus=$(nvidia-smi -L | wc -l); else gpus=$(rocminfo | grep -c 'Device Type: *GPU'); fi
[ "$gpus" -gt 0 ] || { echo "gpu.sh: no GPU is to be seen here" >&2; exit 1; }
steps=" ${STEPS-tests examples bench} "
[ -z "${CHECK-}" ] || steps="$steps check "
: >"$out/summary.txt"
note() { echo "gpu.sh: $1"; echo "  $1" >>"$out/summary.txt"; }
step() {  # NAME COMMAND...: one line in the summary; the log is a file
  local name=$1 began=$SECONDS
  shift
  if "$@" >"$out/$name.log" 2>&1; then note "$name: passed, $((SECONDS - began)) s"; else
    note "$name: FAILED, $((SECONDS - began)) s"
    grep -vE '^ *[0-9]+/[0-9]+ Test .* Passed|^ *Start ' "$out/$name.log" | tail -n 30
  fi
}
on() {  # GPUS COMMAND...: sees only these GPUs
  local which=$1
  shift
  CUDA_VISIBLE_DEVICES=$which HIP_VISIBLE_DEVICES=$which "$@"
}

build=build/gpu-$target
step configure cmake -G Ninja -B $build -DMESHMEM_TARGET="$target" -DCMAKE_BUILD_TYPE=Release \
  -DMESHMEM_BUILD_EXAMPLES=ON -DMESHMEM_TEST_KINDS="api;device;bench" -DMESHMEM_DEVICE_TEST_PES="1;2;3;4"
step build cmake --build $build
grep -q 'build: passed' "$out/summary.txt" || exit 1
tests() {  # NAME ctest's arguments
  local name=$1
  shift
  step "$name" ctest --test-dir $build --output-on-failure --no-tests=error "$@"
  grep -E '(Passed|Failed|Timeout|Skipped) |tests passed' "$out/$name.log" | sed 's/^ *[0-9]*\/[0-9]* Test *#[0-9]*: //' >"$out/$name.list"
}
# The names of tests by N PEs, as a regular expression: tests of kernels and of host calls that use them; and the examples.
kernels_by() { echo "^device\\..*\\.$1pe|^api\\.(device_memory|device_rma|device_synchronization|device_collectives|large_blocks_on_stream|on_stream|extensions|reduce_plan)\\.$1pe\$"; }
examples_by() { [[ $steps != *" examples "* ]] || echo "^examples\\.1[0-9].*\\.$1pe"; }
checked() {  # TOOL: every program of tests/device at 2 PEs, in few rounds, long replays left out
  local program
  for program in ${PROGRAMS-alignment all_reduce_norm allreduce atomics back_to_back buffers captures collectives extensions graph grid litmus modules packets quantized reductions rma short_floats signals stage streams stress strided waits}; do
    step "$1-$program" env MESHMEM_DEVICE_TEST_SHORT=1 timeout 120 $build/bin/oshrun -n 2 --timeout 110 compute-sanitizer --tool "$1" --error-exitcode 9 \
      "$build/bin/device_$program" --gtest_filter=-'*ReplaysCountOn*'
  done
}
# Under NVIDIA's MPS kernels of several processes run on a GPU at the same time, each on its share of it. They wait for each
# other as on GPUs of their own. Without MPS they take turns of milliseconds.
mps_starts() {
  [[ $target == cuda ]] && command -v nvidia-cuda-mps-control >/dev/null || return 1
  CUDA_MPS_PIPE_DIRECTORY=$(mktemp -d)
  export CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY=$CUDA_MPS_PIPE_DIRECTORY
  nvidia-cuda-mps-control -d && return 0
  unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
  return 1
}
mps_ends() {
  echo quit | nvidia-cuda-mps-control
  rm -rf "$CUDA_MPS_PIPE_DIRECTORY"
  unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
}
# Where a team has more PEs than kernels get addresses for from the host.
nine_on_a_gpu() {
  CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=10 MESHMEM_DEVICE_HEAP_SIZE=64m step nine-on-a-gpu timeout 100 $build/bin/oshrun -n 9 --timeout 90 \
    $build/bin/meshmem-bench allreduce --check --max-bytes 4M --runs 1 --iterations 3
}
at_a_time() {  # JOBS PERCENT COMMAND...: COMMAND with JOBS jobs of ctest, each with this share of a GPU for a process
  local jobs=$1 share=$2
  shift 2
  # A test of several PEs counts as two for ctest.
  CTEST_PARALLEL_LEVEL=$((2 * jobs)) CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=$share "$@"
}
# By 3 PEs one has a GPU to itself. Not all programs, and those that have many rounds have few here (rounds() in
# tests/device/device_array.hpp).
two_on_a_gpu() {
  tests "two-on-a-gpu-$1" -R "^device\.(rma|atomics|signals|collectives|litmus|graph|back_to_back|captures|grid|packets|reductions|short_floats|stress)\.${1}pe|^api\.device_collectives\.${1}pe"
}

# A test of one PE waits for no other, so several may share a GPU. Starting a job of 4 PEs takes 2.5 s, in which the GPUs do nothing:
# with MPS four jobs run at a time. Tests of traps run without MPS, since a trap would end the others' jobs too.
if [[ $steps == *" tests "* && $gpus -ge 4 ]] && mps_starts; then
  at_a_time 1 25 tests tests-1 -R "$(kernels_by 1)" &
  by_4=$(kernels_by 4) examples=$(examples_by 4)
  at_a_time 4 25 tests tests-4 -R "$by_4${examples:+|$examples}"
  wait
  at_a_time 2 25 on 0,1 two_on_a_gpu 3 &
  at_a_time 2 25 on 2,3 two_on_a_gpu 4 &
  wait
  at_a_time 4 25 on 0,1 tests tests-2 -R "$(kernels_by 2)" -E '^device\.[l-z]' &
  at_a_time 4 25 on 2,3 tests tests-2-further -R "$(kernels_by 2)" -E '^api|^device\.[a-k]' &
  wait
  mps_ends
  at_a_time 2 100 tests traps -R '^device\.errors'
else
  [[ $steps != *" tests "* ]] || at_a_time 2 100 tests tests-1 -R "$(kernels_by 1)|^device\.errors"
  if [[ $steps == *" tests "* && $gpus -lt 4 ]] && mps_starts; then
    # Two PEs share the GPU where there is one.
    by_2=$(kernels_by 2) examples=$(examples_by 2)
    at_a_time "$gpus" 50 tests tests-2 -R "$by_2${examples:+|$examples}"
    nine_on_a_gpu
    [ "$gpus" -lt 2 ] || at_a_time 1 50 two_on_a_gpu 3
    [ "$gpus" -lt 2 ] || at_a_time 1 50 two_on_a_gpu 4
    mps_ends
    steps=${steps/ examples / }
  elif [[ $steps == *" tests "* && $gpus -ge 2 ]]; then
    tests tests-2 -R "$(kernels_by 2)"
    [ "$gpus" -lt 4 ] || tests tests-4 -R "$(kernels_by 4)"
    tests two-on-a-gpu-4 -R "^device\.(rma|atomics|signals|collectives|litmus|graph|back_to_back|buffers|captures|short_floats|streams|strided|waits)\.4pe|^api\.device_collectives\.4pe"
    tests two-on-a-gpu-3 -R "^device\.(reductions|back_to_back)\.3pe"
  fi
  [[ $steps != *" examples "* ]] || tests examples -R "$(examples_by "$gpus")"
fi
if [[ $steps == *" check "* ]]; then
  pair=0
  for tool in ${CHECK//,/ }; do
    if [ "$gpus" -lt 4 ]; then checked "$tool"; else on $pair,$((pair + 1)) checked "$tool" & fi
    pair=$(((pair + 2) % 4))
  done
  wait
fi
for n in 2 4; do
  [[ $steps == *" bench "* && $n -le $gpus ]] || continue
  step "bench-$n" timeout 150 $build/bin/oshrun -n $n $build/bin/device_bench
  cp "$out/bench-$n.log" "$out/meshmem_$n.txt"
  step "fused-$n" timeout 100 $build/bin/oshrun -n $n $build/bin/fused_bench
  step "allreduce-$n" env MESHMEM_DEVICE_HEAP_SIZE=5g timeout 100 $build/bin/oshrun -n $n $build/bin/meshmem-bench --csv --check
  cp "$out/allreduce-$n.log" "$out/meshmem_allreduce_$n.csv"
  if [ -n "${PEERS-}" ] && [ -f "$PEERS/nvshmem_$n.txt" ]; then
    echo "                 what           n     bytes      ours   NVSHMEM  ratio  (us)"
    awk 'NR == FNR { key = ""; for (i = 1; i <= NF - 3; i++) key = key " " $i; peer[key " " $(NF-2)] = $(NF-1); next }
         { key = ""; for (i = 1; i <= NF - 3; i++) key = key " " $i; k = key " " $(NF-2)
           if (k in peer) printf "%-32s %12s %9.3f %9.3f %6.2f\n", key, $(NF-2), $(NF-1), peer[k], $(NF-1) / peer[k] }' \
      "$PEERS/nvshmem_$n.txt" "$out/meshmem_$n.txt" | tee "$out/beside_nvshmem_$n.txt"
  fi
done
echo
{
  echo "gpu.sh: $(date -u +%Y-%m-%d), $gpus GPUs, target $target, $((SECONDS - started)) s in all"
  cat "$out/summary.txt"
  for list in "$out"/*.list; do
    [ -f "$list" ] || continue
    echo
    echo "$(basename "$list" .list)"
    sed 's/^/  /' "$list"
  done
} >"$out/whole.txt"
mv "$out/whole.txt" "$out/summary.txt"
sed '/^$/,$d' "$out/summary.txt"
! grep -q FAILED "$out/summary.txt"
