#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kernel_checks.sh OSHHIP SOURCE
#
# Kernels look for mistakes if --check says so, and only then. Neither a level of optimization nor NDEBUG changes it, nor
# a file of the other kind in the same program. The test looks at what checks print.
set -euo pipefail
oshhip=$1 source=$2
. "$(dirname "$0")/scratch.sh"

has_checks() {  # OPTIONS...
  "$oshhip" "$@" -c "$source" -o "$scratch/object.o" || fail "cannot compile with $*"
  grep -qa 'is in no symmetric heap' "$scratch/object.o"
}

for fast in '-O3 -DNDEBUG' '-O0 -UNDEBUG' '-O0 -DMESHMEM_KERNEL_CHECKS=0'; do
  # shellcheck disable=SC2086  # several words
  ! has_checks $fast || fail "kernels have checks with $fast"
done
for checked in '-O0 --check' '--check -O3 -DNDEBUG' '-O0 -DMESHMEM_KERNEL_CHECKS'; do
  # shellcheck disable=SC2086
  has_checks $checked || fail "kernels have no checks with $checked"
done
! "$(dirname "$oshhip")/oshcc" --check -c "$source" 2>"$scratch/said" || fail 'oshcc takes --check'
grep -q 'oshcc: --check is for kernels' "$scratch/said" || fail 'oshcc says something else'

# A file of each kind, whichever comes first.
cat >"$scratch/part.hip" <<'END'
#include <hip/hip_runtime.h>
#include <shmem.h>
__global__ void PART(long* address) { shmem_long_p(address, 1, 0); }
void launch_PART(long* address) { hipLaunchKernelGGL(PART, dim3(1), dim3(1), 0, nullptr, address); }
END
cat >"$scratch/main.hip" <<'END'
#include <hip/hip_runtime.h>
#include <shmem.h>
void launch_checked(long*);
void launch_unchecked(long*);
int main(int argc, char** argv) {
  static long not_symmetric;
  shmem_init();
  (*argv[argc - 1] == 'c' ? launch_checked : launch_unchecked)(&not_symmetric);
  (void)hipDeviceSynchronize();
  shmem_finalize();
}
END
for part in checked unchecked; do
  sed "s/PART/$part/g" "$scratch/part.hip" >"$scratch/$part.hip"
done
"$oshhip" -O0 --check -c "$scratch/checked.hip" -o "$scratch/checked.o"
"$oshhip" -O0 -c "$scratch/unchecked.hip" -o "$scratch/unchecked.o"
for order in 'checked.o unchecked.o' 'unchecked.o checked.o'; do
  # shellcheck disable=SC2086
  (cd "$scratch" && "$oshhip" -O0 main.hip $order -o program)
  for part in checked unchecked; do
    timeout 60 "$(dirname "$oshhip")/oshrun" -n 1 "$scratch/program" $part >"$scratch/said" 2>&1 &&
      fail "the mistake of the $part kernel goes unseen"
    expected='is in no symmetric heap'
    [ $part = checked ] || expected='compile it with oshhip --check'
    grep -q "$expected" "$scratch/said" || fail "linked as $order, the $part kernel says something else"
  done
done
