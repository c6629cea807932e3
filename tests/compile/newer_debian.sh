#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# newer_debian.sh SOURCE_FOLDER: in a new Debian 13, with its GCC 14, PMIx 5 and UCX 1.18, runs the API's tests at two
# and three PEs, and the demo. Takes half an hour, so only with MESHMEM_TEST_LONG.
set -euo pipefail
source=$1
# shellcheck source=tests/compile/debian_root.sh
. "$source/tests/compile/debian_root.sh"
make_debian trixie
mkdir "$root/src"
tar -C "$source" --exclude=./build --exclude=./.git -c . | tar -C "$root/src" -x
run_in_debian <<'END'
cd /src
./mesh test api -E '\.(1|[4-9]|[0-9]+[0-9])pe$'
./mesh demo
END
echo 'the tests of the API and the demo have run in Debian 13'
