#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# header_names.sh OSHHIP: programs of NVSHMEM and rocSHMEM include what they always have. A program
# that brings such a header, by -I, gets that one.
set -euo pipefail
wrapper=$1
. "$(dirname "$0")/scratch.sh"
source="$scratch/a program.hip"

# That of NVSHMEM has the extensions for the host too, and what programs do not include themselves.
echo '#include <nvshmem.h>' >"$source"
echo 'int main() { assert(stderr); return nvshmemx_init_status() + nvshmem_my_pe(); }' >>"$source"
"$wrapper" -fsyntax-only "$source"
printf '#include <nvshmem.h>\n#include <nvshmemx.h>\nint main() {}\n' >"$source"
"$wrapper" -fsyntax-only "$source"

echo '#include <rocshmem/rocshmem.hpp>' >"$source"
echo 'int main() { return rocshmem::rocshmem_my_pe(); }' >>"$source"
"$wrapper" -fsyntax-only "$source"

mkdir "$scratch/own"
echo 'enum { own_header };' >"$scratch/own/nvshmem.h"
printf '#include <nvshmem.h>\nint main() { return own_header; }\n' >"$source"
"$wrapper" "-I$scratch/own" -fsyntax-only "$source"
