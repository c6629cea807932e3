# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# A new Debian in a folder, for tests that install or build meshmem there. Read by packages.sh and newer_debian.sh.
# Ends the test with status 77 (skipped) unless MESHMEM_TEST_LONG is set, and root and debootstrap are there.
[ -n "${MESHMEM_TEST_LONG-}" ] || { echo 'skipped: MESHMEM_TEST_LONG is not set'; exit 77; }
command -v debootstrap >/dev/null && [ "$(id -u)" = 0 ] && unshare -m true || {
  echo 'skipped: no debootstrap, or not root'
  exit 77
}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
root=$scratch/root

make_debian() {  # RELEASE
  debootstrap --variant=minbase "$1" "$root" >"$scratch/log" || { cat "$scratch/log"; exit 1; }
}

# Runs what comes on stdin, as a script. The mounts are gone when it has ended.
run_in_debian() {
  cat >"$root/tmp/script.sh"
  unshare -m bash -euc "mount -t proc proc '$root/proc'
    for folder in dev sys; do mount --rbind /\$folder '$root'/\$folder; done
    chroot '$root' bash -euxo pipefail /tmp/script.sh"
}
