#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# explained.sh OSHHIP: on the cpu target oshhip adds a line about a name that looks like CUDA's and that nothing declares. It
# adds none for other mistakes, names of the program or names in comments. The exit status stays the compiler's.
set -euo pipefail
wrapper=$1
. "$(dirname "$0")/scratch.sh"
source="$scratch/a program.hip"

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
says "oshhip: $source:4: nothing declares cudaArrayDestroy; if it is a name of CUDA, the target cpu lacks it"

# The program's own names are not to blame for its mistakes.
cat >"$source" <<'END'
#include <hip/hip_runtime.h>

int cudaStreamsOfMine() { return 1; }
/* cudaArrayDestroy */
int main() { return cudaStreamsOfMine() + missing; }
END
refused
says_nothing

# A type, and a compiler that speaks another language than English.
printf '#include <hip/hip_runtime.h>\ncudaArray_t array;\n' >"$source"
LC_ALL=C.UTF-8 refused
says "oshhip: $source:2: nothing declares cudaArray_t; if it is a name of CUDA"

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
