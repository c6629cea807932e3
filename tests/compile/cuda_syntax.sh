#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# cuda_syntax.sh OSHHIP NAMES: on the cpu target OSHHIP compiles programs that are written for CUDA, and they
# run. Compilers and gdb name the source's own lines, and no file is left behind.
set -euo pipefail
oshhip=$1
names=$2
programs=$(dirname "$(readlink -f "$0")")/cuda_syntax
. "$(dirname "$0")/scratch.sh"
mkdir "$scratch/temporary" "$scratch/a folder"
export TMPDIR=$scratch/temporary

run_programs() {
  local program pes
  for program in launches:2 shared_memory:1 addresses:3 cuda_names:2; do
    pes=${program#*:} program=${program%:*}
    "$oshhip" -Wall -Wextra -Wno-unused-result -Werror "$programs/$program.cu" -o "$scratch/$program" ||
      fail "$program.cu does not compile"
    "$(dirname "$oshhip")/oshrun" -n "$pes" --timeout 60 "$scratch/$program" >"$scratch/said" 2>&1 ||
      fail "$program ended with $?"
    [ ! -s "$scratch/said" ] || fail "$program says something"
  done
}

# Each name of CUDA stands for one that HIP has, and oshhip names one that is missing.
knows_names_of_cuda() {
  local names=$1
  {
    echo '#include <cuda_runtime.h>'
    echo 'namespace {'
    sed -nE 's/^#define (cuda[A-Za-z0-9_]+) (hip[A-Za-z0-9_]+)$/\1 \2/p' "$names/cuda_on_cpu/runtime_names.h" "$names/cuda_runtime.h" |
      while read -r _ name; do printf '#ifndef %s\nusing ::%s;\n#endif\n' "$name" "$name"; done
    echo '}'
  } >"$scratch/names.cu"
  [ "$(grep -c using "$scratch/names.cu")" -gt 150 ] || fail 'few names are in the list'
  "$oshhip" -fsyntax-only "$scratch/names.cu" 2>"$scratch/said" || fail 'names of HIP are missing'
  [ "$(sed -nE 's/^#define (cuda[A-Za-z0-9_]+) .*/\1/p' "$names/cuda_on_cpu/runtime_names.h" | sort | uniq -d)" = '' ] ||
    fail 'a name is in the list twice'
  printf 'int main() {\n  cudaFree(0);\n  cudaArrayGetInfo(0, 0, 0, 0);\n}\n' >"$scratch/missing.cu"
  ! "$oshhip" -fsyntax-only "$scratch/missing.cu" 2>"$scratch/said" || fail 'a name that is not there compiles'
  grep -q '^oshhip: .*missing.cu:3: nothing declares cudaArrayGetInfo; if it is a name of CUDA, the target cpu lacks it' "$scratch/said" ||
    fail 'the missing name is not named'
}

cat >"$scratch/a folder/one.cu" <<'END'
#include <hip/hip_runtime.h>
#include "two.h"
#warning said once
__global__ void work(int*) {}
int main() {
  work
      <<<1, 1>>>(nullptr);
#ifdef MISTAKE
  return missing;
#endif
  return two();
}
END
echo 'int two();' >"$scratch/a folder/two.h"
echo 'int two() { return 7; }' >"$scratch/two.cu"
cd "$scratch"

# Lines, warnings and errors are those of the original source.
says_original_lines() {
  local status=0
  "$oshhip" -DMISTAKE -c 'a folder/one.cu' 2>said || status=$?
  [ $status = 1 ] || fail "a mistake ends with $status"
  grep -q '^a folder/one.cu:9:[0-9]*: error: ' said || fail 'the line of the mistake is not named'
  status=0
  "$oshhip" -include none.h -c 'a folder/one.cu' 2>said || status=$?
  [ $status = 1 ] && grep -q 'none\.h' said || fail "a missing header ends with $status"
  ! grep -q 'one.cu:[0-9]' said || fail 'more than the missing header is named'
  "$oshhip" -g -c 'a folder/one.cu' 2>said || fail 'one.cu does not compile'
  [ "$(grep -c 'warning: .*said once' said)" = 1 ] || fail 'a warning is not said once'
  ! grep -q temporary said || fail 'a temporary file is named'
  readelf --debug-dump=info,line one.o >debugging
  grep -q 'DW_AT_name .*: a folder/one.cu$' debugging || fail 'the debugging information has another name'
  ! grep -q temporary debugging || fail 'the debugging information has a temporary name'
}

# Options that stop before linking, options for dependencies, and several inputs.
takes_the_options_of_compilers() {
  "$oshhip" -w -S 'a folder/one.cu' && [ -f one.s ] || fail '-S makes no one.s'
  "$oshhip" -w -fsyntax-only 'a folder/one.cu' || fail 'the syntax is refused'
  "$oshhip" -w -E 'a folder/one.cu' >preprocessed
  grep -q '<<<1, 1>>>' preprocessed || fail '-E rewrites'
  "$oshhip" -w -MD -c 'a folder/one.cu' -o object.o
  grep -q '^object\.o: a\\ folder/one\.cu ' object.d && grep -q 'two\.h' object.d || fail "dependencies: $(cat object.d)"
  "$oshhip" -w 'a folder/one.cu' two.cu -o both || fail 'two sources do not become a program'
  "$oshhip" -w object.o two.cu -o mixed || fail 'an object and a source do not become a program'
  local program status
  for program in both mixed; do
    status=0
    "./$program" || status=$?
    [ $status = 7 ] || fail "$program ended with $status"
  done
  TMPDIR=$scratch/none "$oshhip" -w -c 'a folder/one.cu' || fail 'a folder for temporary files that is not there is an error'
  rm -f ./*.o ./*.s
}

# The compiler gets the original of a source without this syntax.
leaves_other_sources_alone() {
  printf '#!/bin/sh\nprintf "%%s\\n" "$@" >>"%s/words"\nexec c++ "$@"\n' "$scratch" >compiler
  chmod +x compiler
  MESHMEM_HIPCXX=$scratch/compiler "$oshhip" -c two.cu
  ! grep -q cpp-output words || fail 'a source without launches is rewritten'
  MESHMEM_HIPCXX=$scratch/compiler "$oshhip" -w -c 'a folder/one.cu'
  grep -q cpp-output words || fail 'a source with a launch is not rewritten'
}

# As under nohup: a signal that the caller ignores ends no compiler.
keeps_ignored_signals() {
  local status=0
  printf '#!/bin/sh\nkill -HUP $PPID $$\nsleep 0.1\nexec c++ "$@"\n' >compiler
  chmod +x compiler
  (
    trap '' HUP
    MESHMEM_HIPCXX=$scratch/compiler "$oshhip" -w -c 'a folder/one.cu'
  ) 2>said || status=$?
  [ $status = 0 ] || fail "a signal that is ignored ends it with $status"
}

run_programs
knows_names_of_cuda "$names"
says_original_lines
takes_the_options_of_compilers
leaves_other_sources_alone
keeps_ignored_signals
[ -z "$(ls "$TMPDIR")" ] || fail "left behind: $(ls "$TMPDIR")"
