#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# arm.sh SOURCE SYSROOT
#
# Compiles the files that differ by processor for 64-bit Arm, and counts the instructions of the shortest routines. Runs
# those of their unit tests that need no other part of the library, by qemu-user. Exit status 77 (skipped) where something
# for that is missing. ./mesh test --arm builds and runs everything.
set -euo pipefail
cd "$1"
sysroot=$2
for program in aarch64-linux-gnu-g++ qemu-aarch64; do
  command -v $program >/dev/null || { echo "arm: no $program"; exit 77; }
done
[ -f "$sysroot/unpacked" ] || { echo "arm: nothing in $sysroot; ./mesh test --arm fills it"; exit 77; }
folder=$(mktemp -d /tmp/meshmem-arm-XXXXXX)
trap 'rm -rf "$folder"' EXIT

compile() {
  aarch64-linux-gnu-g++ "--sysroot=$sysroot" -std=c++20 -O1 -Wall -Wextra -Werror -DMESHMEM_TARGET_CPU=1 \
    -Isrc -I. -Iinclude -Idevice/hip_on_cpu "$@"
}
run_test() {  # SOURCES
  compile "$@" -lgtest_main -lgtest -o "$folder/test"
  qemu-aarch64 -L "$sysroot" "$folder/test" --gtest_brief=1
}

for source in src/core/faults.cpp src/tools/interpose/interpose.cpp device/hip_on_cpu/block.cpp; do
  compile -c "$source" -o "$folder/object"
done
run_test tests/unit/copy_test.cpp
run_test tests/unit/access_atomics_test.cpp src/tools/accesses/atomics.cpp

compile -O3 -DNDEBUG -fPIC -shared src/api/rma.cpp -o "$folder/rma.so"
python3 -B tests/compile/fast_paths.py "$folder/rma.so"
