#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Stands in for ssh where machines are simulated (machines.py): ssh.sh [OPTIONS] NAME WORDS... As with ssh, a shell there
# runs the words, no variable goes along but those of a login, and the words do not end when this does.
# Called by mpirun and prterun.
while [[ ${1-} == -* ]]; do shift; done
name=$1
shift
for entry in $SIMULATED_MACHINES; do
  [ "${entry%%=*}" = "$name" ] && pid=${entry#*=}
done
if [ -z "$pid" ]; then
  echo "ssh.sh: there is no machine $name" >&2
  exit 255
fi
login=(PATH="$PATH" HOME="${HOME:-/}" USER="${USER:-root}" TMPDIR="${TMPDIR:-/tmp}")
# A user would set these in the shell's start-up files there.
for variable in LD_LIBRARY_PATH PRTE_ALLOW_RUN_AS_ROOT PRTE_ALLOW_RUN_AS_ROOT_CONFIRM; do
  [ -n "${!variable-}" ] && login+=("$variable=${!variable}")
done
exec nsenter -t "$pid" -n -u -i -m -p -- env -i -C "${HOME:-/}" "${login[@]}" bash -c "$*"
