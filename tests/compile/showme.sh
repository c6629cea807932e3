#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# showme.sh WRAPPER SOURCE: --showme prints one command, which a shell can run as it stands and which makes what the
# wrapper makes. Libraries are in it only if something is linked.
set -euo pipefail
wrapper=$1 source=$2
. "$(dirname "$0")/scratch.sh"

shown=$("$wrapper" --showme "$source" -o "$scratch/a program")
echo "$shown"
[[ $shown == *-I*-L*-Wl,-rpath,*-lmeshmem* ]] || fail 'include, library or rpath is missing'
[ ! -e "$scratch/a program" ] || fail '--showme has run the command'
eval "$shown"
[ -x "$scratch/a program" ] || fail 'the command that was shown makes no program'

[[ $("$wrapper" --showme -c "$source") != *-lmeshmem* ]] || fail '-c does not link'
for spelling in -showme -show --show; do
  [ "$("$wrapper" $spelling "$source" -o "$scratch/a program")" = "$shown" ] || fail "$spelling is not --showme"
  [ "$("$wrapper" "$source" -o "$scratch/a program" $spelling)" = "$shown" ] || fail "$spelling is not taken at the end"
done
for part in compile link; do
  for spelling in -showme -show --show; do
    [ "$("$wrapper" "$spelling:$part")" = "$("$wrapper" "--showme:$part")" ] || fail "$spelling:$part is not --showme:$part"
  done
done
[[ $("$wrapper" --showme "$source" -o program -shown --showme:other) == *"-shown --showme:other"* ]] ||
  fail 'an option that the wrapper does not know is not passed on'
[[ $("$wrapper" --showme:compile) == -*I/* ]] || fail '--showme:compile shows no include'
[[ $("$wrapper" --showme:link) == *-lmeshmem ]] || fail '--showme:link shows no library'
[[ $("$wrapper" --version) == *"("* ]] || fail '--version is not passed on'
