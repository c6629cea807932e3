#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# packages.sh SOURCE_FOLDER [FOLDER_OF_PACKAGES]: makes the Debian packages, or takes those of the folder, installs them into a
# new Debian, and compiles and runs programs there. Takes a quarter of an hour, so only with MESHMEM_TEST_LONG.
set -euo pipefail
source=$1
# shellcheck source=tests/compile/debian_root.sh
. "$source/tests/compile/debian_root.sh"
if [ $# -lt 2 ]; then
  "$source/mesh" package
  set -- "$source" "$source/build/package/packages"
fi
for field in libmeshmem0.1:same libmeshmem-dev:no meshmem-tools:foreign meshmem-doc:foreign; do
  found=$(dpkg-deb -f "$2/${field%:*}"_*.deb Multi-Arch)
  [ "$found" = "${field#*:}" ] || { echo "${field%:*} has Multi-Arch: $found"; exit 1; }
done
make_debian bookworm
cp "$2"/*.deb "$source"/tests/compile/outside/outside.{c,hip} "$root/tmp"
run_in_debian <<'END'
cd /tmp
export DEBIAN_FRONTEND=noninteractive
apt-get -qq -y --no-install-recommends install lintian >/dev/null
complaints=$(lintian --allow-root ./*.deb)
[ -z "$complaints" ]
apt-get -qq -y --no-install-recommends install ./libmeshmem*.deb ./meshmem-tools*.deb g++ pkgconf >/dev/null
oshcc outside.c -o by_oshcc
oshhip -O1 outside.hip -o by_oshhip
cc outside.c -o by_pkg_config $(pkg-config --cflags --libs meshmem)
for program in by_oshcc by_pkg_config; do [ "$(oshrun -n 2 ./$program)" = '2 PEs in C' ]; done
[ "$(oshrun -n 2 ./by_oshhip)" = '2 PEs in HIP' ]
MESHMEM_TRACE=/tmp/trace.json oshrun -n 2 ./by_oshcc
meshmem-trace summary trace.json >/dev/null
MESHMEM_NETWORK=ucx meshmem-info | grep -q '^  UCX  *[0-9]'
apt-get -qq -y purge libmeshmem0.1 >/dev/null
! ls -d /usr/lib/*/*meshmem* /usr/bin/osh* /usr/include/shmem* 2>/dev/null
END
echo 'the packages are installed, used and removed'
