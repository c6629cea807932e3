#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# explained.sh OSHHIP: on the cpu target oshhip adds a line that names a missing name of CUDA. It adds none for
# other mistakes or for names in comments. The exit status stays the compiler's.
set -euo pipefail
wrapper=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
source="$scratch/a program.hip"

fail() {
  echo "explained.sh: $*" >&2
  cat "$scratch/said" >&2
  exit 1
}

refused() {
  if "$wrapper" -c "$source" -o "$scratch/object" 2>"$scratch/said"; then fail 'it compiled'; fi
}
says() { grep -qF -- "$1" "$scratch/said" || fail "no line says: $1"; }
says_nothing() { if grep -q '^oshhip: ' "$scratch/said"; then fail 'a line too many'; fi; }

cat >"$source" <<'END'
#include <hip/hip_runtime.h>

cudaStream_t stream;
int main() { return cudaArrayDestroy(0); }
END
refused
says "oshhip: $source:4: cudaArrayDestroy is none of the names of CUDA that the target cpu has"

cat >"$source" <<'END'
#include <hip/hip_runtime.h>
// work<<<1, 1>>>(); cudaMalloc
int main() { return missing; }
END
refused
says_nothing

printf '#include <hip/hip_runtime.h>\n// work<<<1, 1>>>()\nint main() {}\n' >"$source"
"$wrapper" "$source" -o "$scratch/program" 2>"$scratch/said" || fail 'does not compile'
says_nothing

printf '#!/bin/sh\nexit 7\n' >"$scratch/compiler"
chmod +x "$scratch/compiler"
status=0
MESHMEM_HIPCXX=$scratch/compiler "$wrapper" -c "$source" -o "$scratch/object" || status=$?
[ $status = 7 ] || fail "the compiler ended with 7, and oshhip with $status"
