#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# kernel_checks.sh OSHHIP SOURCE: kernels look for mistakes if --check says so, and only then: neither a level of
# optimization nor NDEBUG changes it. Told by what checks print.
set -euo pipefail
oshhip=$1 source=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "kernel_checks.sh: $*" >&2
  exit 1
}

has_checks() {  # OPTIONS...
  "$oshhip" "$@" -c "$source" -o "$scratch/object.o" || fail "cannot compile with $*"
  grep -qa 'is in no symmetric heap' "$scratch/object.o"
}

for fast in -O3 -O0 '-O3 -DNDEBUG' '-O0 -UNDEBUG' '-O3 -DMESHMEM_KERNEL_CHECKS=0'; do
  # shellcheck disable=SC2086  # several words
  ! has_checks $fast || fail "kernels have checks with $fast"
done
for checked in '--check -O3' '-O0 --check' '--check -O3 -DNDEBUG' '-O3 -DMESHMEM_KERNEL_CHECKS'; do
  # shellcheck disable=SC2086
  has_checks $checked || fail "kernels have no checks with $checked"
done
! "$(dirname "$oshhip")/oshcc" --check -c "$source" 2>"$scratch/said" || fail 'oshcc takes --check'
grep -q 'oshcc: --check is for kernels' "$scratch/said" || fail "oshcc says: $(cat "$scratch/said")"
