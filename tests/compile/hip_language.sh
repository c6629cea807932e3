#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# hip_language.sh SOURCE_FOLDER CMAKE
# A project that enables CMake's language HIP, in the place of hipcc and meshmem_device_sources(), compiles a program with a
# kernel against meshmem::device. Debian's HIP 5.2 and the clang that it comes for, in links that are laid out as ROCm is.
# Exit status 77 (skipped) without them.
set -euo pipefail
source=$1 cmake=$2
. "$(dirname "$0")/scratch.sh"
rocm=$scratch/rocm

clang=$(command -v clang++-15) || skip 'clang++-15 is not installed'
system=/usr/lib/x86_64-linux-gnu
for file in /usr/include/hip/hip_version.h $system/libamdhip64.so $system/amdgcn/bitcode/ocml.bc; do
  [ -e "$file" ] || skip "there is no $file"
done
mkdir -p "$rocm"/{bin,include,lib/cmake/hip-lang,share/hip,amdgcn}
ln -s /usr/include/hip "$rocm/include/hip"
ln -s $system/libamdhip64.so "$rocm/lib"
ln -s $system/amdgcn/bitcode "$rocm/amdgcn/bitcode"
ln -s "$clang" "$rocm/bin/amdclang++"
printf 'HIP_VERSION_MAJOR=5\nHIP_VERSION_MINOR=2\nHIP_VERSION_PATCH=0\n' >"$rocm/share/hip/version"
# ROCm's has the same target. Debian's asks for packages that are not needed.
echo 'add_library(hip-lang::device INTERFACE IMPORTED)' >"$rocm/lib/cmake/hip-lang/hip-lang-config.cmake"

mkdir "$scratch/outer"
cat >"$scratch/outer/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(outer LANGUAGES C CXX HIP)
add_subdirectory("$source" meshmem EXCLUDE_FROM_ALL)
add_library(kernels OBJECT "$source/tests/compile/outside/outside.hip")
target_link_libraries(kernels PRIVATE meshmem::device)
END
options=(-DMESHMEM_TARGET=hip -DMESHMEM_HIPCC="$rocm/bin/amdclang++" -DMESHMEM_UCX=OFF -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
  -DCMAKE_HIP_COMPILER="$clang" -DCMAKE_HIP_FLAGS="--rocm-path=$rocm -Wall -Werror" -DCMAKE_HIP_COMPILER_ROCM_ROOT="$rocm"
  -DCMAKE_HIP_ARCHITECTURES=gfx90a -DCMAKE_HIP_STANDARD=17)
"$cmake" -G Ninja -S "$scratch/outer" -B "$scratch/build" "${options[@]}" >"$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
# The command itself, since a build would make the library first.
command=$(grep -o '"command": .*outside\.hip"' "$scratch/build/compile_commands.json") || fail 'no command compiles outside.hip'
command=${command#*: }
object=$scratch/outside.o
(cd "$scratch/build" && eval "$(printf '%b' "${command:1:-1}") -o $object") || fail "$command"
grep -q gfx90a "$object" || fail "the object has no code for gfx90a"
echo "CMake's language HIP compiles a kernel"
