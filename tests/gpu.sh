#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The whole run on a machine with GPUs: builds, runs the tests of kernels, measures, and ends with a summary.
#   tests/gpu.sh [OUTDIR] [cuda|hip]      default: build/gpu-results, and the target whose compiler is there
#   PES="1 2 4"           numbers of PEs for the tests; default: 1, 2 and 4 as far as there are GPUs
#   CHECK=memcheck,racecheck   also runs small tests under compute-sanitizer
#   PEERS=DIR             a folder with results of other libraries (nvshmem_N.txt), put beside ours
# It needs what `./mesh install` needs, and GoogleTest; CMAKE_PREFIX_PATH finds what is elsewhere.
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
pes=${PES-}
if [ -z "$pes" ]; then
  pes=1
  for n in 2 4; do [ "$gpus" -ge $n ] && pes="$pes $n"; done
fi
declare -a summary
failed=0
note() { summary+=("$1"); echo "gpu.sh: $1"; }
step() {  # NAME COMMAND...: one line in the summary; the log is a file
  local name=$1 began=$SECONDS
  shift
  if "$@" >"$out/$name.log" 2>&1; then note "$name: passed, $((SECONDS - began)) s"; else
    note "$name: FAILED, $((SECONDS - began)) s"
    failed=1
    tail -n 40 "$out/$name.log"
  fi
}

build=build/gpu-$target
step configure cmake -G Ninja -B $build -DMESHMEM_TARGET="$target" -DCMAKE_BUILD_TYPE=Release \
  -DMESHMEM_BUILD_EXAMPLES=ON -DMESHMEM_TEST_KINDS="api;device;bench" -DMESHMEM_DEVICE_TEST_PES="1;2;4"
step build cmake --build $build
tests() {  # NAME ctest's arguments
  local name=$1
  shift
  step "$name" ctest --test-dir $build --output-on-failure "$@"
  grep -E 'tests passed|\*\*\*|Failed|Timeout' "$out/$name.log" | sort -u | tail -n 15
}
tests tests -L device -R "\.[${pes// /}]pe"
tests host-api -R "api.(device_memory|device_collectives|on_stream)\.[${pes// /}]pe"
tests examples -R "examples\.1[0-4].*\.[${pes// /}]pe"
if [ -n "${CHECK-}" ]; then
  for tool in ${CHECK//,/ }; do
    for test in signals alignment; do
      step "$tool-$test" timeout 100 $build/bin/oshrun -n 2 --timeout 90 \
        compute-sanitizer --tool "$tool" --error-exitcode 9 $build/bin/device_$test
    done
  done
fi
for n in 2 4; do
  [ "$n" -le "$gpus" ] || continue
  step "bench-$n" timeout 150 $build/bin/oshrun -n $n $build/bin/device_bench
  cp "$out/bench-$n.log" "$out/meshmem_$n.txt"
  if [ -n "${PEERS-}" ] && [ -f "$PEERS/nvshmem_$n.txt" ]; then
    echo "                 what           n     bytes      ours   NVSHMEM  ratio  (us)"
    awk 'NR == FNR { key = ""; for (i = 1; i <= NF - 3; i++) key = key " " $i; peer[key " " $(NF-2)] = $(NF-1); next }
         { key = ""; for (i = 1; i <= NF - 3; i++) key = key " " $i; k = key " " $(NF-2)
           if (k in peer) printf "%-32s %12s %9.3f %9.3f %6.2f\n", key, $(NF-2), $(NF-1), peer[k], $(NF-1) / peer[k] }' \
      "$PEERS/nvshmem_$n.txt" "$out/meshmem_$n.txt" | tee "$out/beside_nvshmem_$n.txt"
  fi
done
# Two PEs on each GPU: their kernels take turns, so a few tests are enough.
if [ "$gpus" -ge 2 ]; then
  PES=4 CUDA_VISIBLE_DEVICES=0,1 HIP_VISIBLE_DEVICES=0,1 tests two-on-each \
    -R "^device.(rma|atomics|signals|collectives|litmus|graph)\.4pe|api.device_collectives\.4pe"
fi
echo
echo "gpu.sh: $(date -u +%Y-%m-%d), $gpus GPUs, target $target, $((SECONDS - started)) s in all"
printf '  %s\n' "${summary[@]}"
exit $failed
