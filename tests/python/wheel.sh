#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# wheel.sh SOURCE_FOLDER BUILD_FOLDER PYTHON
#
# Makes a wheel, installs it into a new Debian that has Python and NumPy but no compiler and none of
# the library's packages, and runs programs there. Takes two minutes, so only with MESHMEM_TEST_LONG.
set -euo pipefail
# shellcheck source=tests/compile/debian_root.sh
. "$1/tests/compile/debian_root.sh"
"$3" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || {
  echo "skipped: $3 is not of Debian 12's version, 3.11"
  exit 77
}
wheel=$("$3" -B "$1/python/make_wheel.py" "$2") || { status=$?; echo "$wheel"; exit $status; }
make_debian bookworm
cp "$wheel" "$1"/python/examples/{histogram,heat}.py "$root/tmp"
run_in_debian <<'END'
cd /tmp
apt-get -qq -y --no-install-recommends install python3-venv python3-numpy >/dev/null
python3 -m venv --system-site-packages /venv
PATH=/venv/bin:$PATH
SECONDS=0
pip install --quiet --no-index ./meshmem_shmem-*.whl
[ $SECONDS -lt 60 ]
licences=$(echo /venv/lib/python3.11/site-packages/meshmem_shmem-*.dist-info/licenses)
for name in LICENSE LGPL-2.1 LGPL-3 GPL-3 nanobind.txt robin-map.txt libcli11-dev.txt libmunge2.txt sources.txt; do
  [ -s "$licences/$name" ]
done
grep -q '^License-Expression: Apache-2.0 AND .*LGPL-3.0-or-later' "$licences/../METADATA"
! grep -zaqE '^/usr/lib/[a-z0-9_-]+/(hwloc|pmix2)$' /venv/lib/python3.11/site-packages/meshmem_shmem.libs/* || exit 1
[ -z "$(command -v c++ cc ld)" ]
[ -z "$(find / -xdev \( -name 'libpmix*.so*' -o -name 'libfmt*.so*' \) ! -path '*/meshmem_shmem.libs/*')" ]
oshrun -n 4 python3 heat.py | grep 'mean temperature'
python3 -m meshmem.run -n 2 histogram.py
oshrun --fake-nodes 2 -n 4 python3 heat.py | grep 'mean temperature'
MESHMEM_CHECK=1 oshrun -n 2 python3 heat.py
MESHMEM_TRACE=/tmp/trace.json oshrun -n 2 python3 heat.py
PATH=/nowhere /venv/bin/meshmem-trace summary trace.json >/dev/null
meshmem-info | grep -q 'OpenSHMEM 1.6'
oshrun -n 2 meshmem-bench --help >/dev/null
END
echo 'the wheel works in a Debian that has only Python and NumPy'
