#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# build_target.sh TARGET SOURCE_FOLDER BUILD_FOLDER CMAKE
#
# Builds and links the library for TARGET (hip or cuda) and the programs that differ by target, in a folder of its own. Its
# oshhip builds a program with kernels, also where it refuses implicit conversions of the short floating-point types. Its
# oshcc builds a program without, which has to run, whether there is a GPU or not. Exit status 77 (skipped) without the
# compiler.
set -euo pipefail
target=$1 source=$2 build=$3 cmake=$4
outside=$source/tests/compile/outside

fail() {
  echo "build_target.sh: $*" >&2
  exit 1
}

declare -A compiler=([hip]=hipcc [cuda]=nvcc) usual_place=([hip]=/opt/rocm/bin [cuda]=/usr/local/cuda/bin)
declare -A refusals=(
  [hip]="-D__HIP_NO_HALF_OPERATORS__=1 -D__HIP_NO_HALF_CONVERSIONS__=1"
  [cuda]="-D__CUDA_NO_HALF_OPERATORS__ -D__CUDA_NO_HALF_CONVERSIONS__ -D__CUDA_NO_HALF2_OPERATORS__
    -D__CUDA_NO_BFLOAT16_CONVERSIONS__ -D__CUDA_NO_BFLOAT16_OPERATORS__")
declare -A runtime=([hip]=libamdhip64.so [cuda]=libcudart.so)
PATH=$PATH:${usual_place[$target]}
command -v "${compiler[$target]}" >/dev/null || {
  echo "SKIPPED: ${compiler[$target]} is not installed"
  exit 77
}

options=(-DMESHMEM_UCX=OFF -DMESHMEM_COMPILE_FOLDERS=ON -DMESHMEM_PRECOMPILE_HEADERS=ON -DMESHMEM_WERROR=ON
  -DMESHMEM_BUILD_TESTS=OFF -DMESHMEM_BUILD_EXAMPLES=OFF
  -DCMAKE_PROJECT_meshmem_INCLUDE="$source/tests/compile/plain_host.cmake")
# Of NVIDIA's kernels nothing is read or run here. ptxas takes minutes to optimize the reductions of all types, so that
# is done for one of them (probe_reductions.cpp) and for all else, as one source.
if [ "$target" = cuda ]; then
  quickly=
  [[ $(nvcc --help) != *--Ofast-compile* ]] || quickly=-Ofc=max
  options+=(-DCMAKE_CUDA_FLAGS_RELEASE="-O3 $quickly")
fi

mkdir -p "$build"
"$cmake" -G Ninja -S "$source" -B "$build" -DMESHMEM_TARGET="$target" -DCMAKE_BUILD_TYPE=Release "${options[@]}" \
  >"$build/log" || fail "configure: $(cat "$build/log")"
"$cmake" --build "$build" --target meshmem oshrun meshmem-info meshmem-bench >"$build/log" || fail "build: $(cat "$build/log")"
if [ "$target" = cuda ]; then
  for kernels in "$source"/device/kernels/*.cpp "$source/tests/compile/probe_reductions.cpp"; do
    [[ $kernels == */device/kernels/reductions* ]] || printf '#include "%s"\n' "$kernels"
  done >"$build/kernels.cpp"
  nvcc -x cu -arch=sm_90 -std=c++17 -O3 -Werror all-warnings -Xcompiler=-Wall,-Wextra,-Werror -I"$source" \
    -I"$source/include" -I"$source/device/hip_on_cuda" -c "$build/kernels.cpp" -o "$build/kernels.o"
fi

library=$build/lib/libmeshmem.so
needed=$(readelf -d "$library")
[[ $needed == *"${runtime[$target]}"* ]] || fail "$library does not need ${runtime[$target]}: $needed"

# nvcc says nothing of device code that host templates call: what it makes of that ends a program without a word.
if ends=$(nm -A "$build/device/libmeshmem_kernels.a" 2>/dev/null | grep ' U exit$'); then
  fail "host code calls what is __device__ only, in $ends"
fi

"$build/bin/oshhip" -O2 -Wall -Wextra -Werror -c "$outside/outside.hip" -o "$build/outside.o"
# Kernels with checks, of every way in which routines are defined.
"$build/bin/oshhip" --check -O2 -Wall -Wextra -Werror -c "$source/tests/device/errors/places.cpp" -o "$build/places.o"
[ "$target" != cuda ] ||
  "$build/bin/oshhip" -c "$source/tests/compile/hip_on_cuda.cpp" -o "$build/hip_on_cuda.o"
read -rd '' -a refused <<<"${refusals[$target]}" || true
"$build/bin/oshhip" "${refused[@]}" -c "$outside/outside.hip" -o "$build/outside_refusing.o"
"$build/bin/oshhip" "$build/outside.o" -o "$build/outside_hip"
"$build/bin/oshcc" "$outside/outside.c" -o "$build/outside_c"
# Modules that a program loads by hand: the library finds their state by its name. amd_gpu.job runs them.
if [ "$target" = cuda ]; then
  state=_ZN7meshmem6device12module_stateE
  "$build/bin/oshhip" -cubin -arch=sm_90 "$outside/by_hand_kernels.hip" -o "$build/by_hand.cubin"
  [[ $(readelf -sW "$build/by_hand.cubin") == *" $state"* ]] || fail "a module has no $state"
  [[ $(strings "$library") == *"$state"* ]] || fail "$library asks for no $state"
  "$build/bin/oshhip" -DUSE_CUDA "$outside/by_hand.cpp" -o "$build/by_hand" \
    "-L$(dirname "$(readlink -f "$(command -v nvcc)")")/../lib64/stubs" -lcuda
fi
said=$("$build/bin/oshrun" -n 2 --timeout 600 "$build/outside_c" 2>"$build/log") || fail "ended with $?: $(cat "$build/log")"
[ "$said" = '2 PEs in C' ] || fail "printed '$said'"
[ "$(wc -l <"$build/log")" -le 2 ] || fail "more than one note of each PE: $(cat "$build/log")"
cat "$build/log"
echo "$target: built, linked, and runs host code"
