#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# values.sh OSHHIP: the value of an option may be a word of its own, behind the source too; it is no file to be compiled or
# linked. For the cpu target.
set -euo pipefail
wrapper=$1
. "$(dirname "$0")/scratch.sh"
cd "$scratch"

mkdir headers
echo '#define PLACE 7' >headers/place.h
printf '#include "place.h"\nint main() { return PLACE; }\n' >program.hip
for option in -I -iquote -idirafter -isystem; do
  "$wrapper" program.hip $option headers -o program
  status=0
  ./program || status=$?
  [ $status = 7 ] || { echo "values.sh: $option: the program ends with $status" >&2; exit 1; }
done

echo 'int main() { return PLACE - 7; }' >program.hip
for words in '-imacros headers/place.h' '-include headers/place.h' '-Xpreprocessor -DPLACE=7' '-D PLACE=7 -l m' \
  '-D PLACE=7 -u main' '-D PLACE=7 -z now' '-D PLACE=7 --sysroot /'; do
  # shellcheck disable=SC2086
  "$wrapper" program.hip $words -o program
  ./program
done
