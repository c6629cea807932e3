# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# scratch.sh: read by the tests beside it. $scratch is a folder that goes with the test. The test ends by fail TEXT, which
# also prints the file $scratch/said if there is one: what a command has said. Or it ends by skip TEXT.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "${0##*/}: $*" >&2
  [ ! -f "$scratch/said" ] || cat "$scratch/said" >&2
  exit 1
}
skip() {
  echo "SKIPPED: $*"
  exit 77
}
