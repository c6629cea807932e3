#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# inside.sh SOURCE_FOLDER CMAKE C_COMPILER C++_COMPILER: meshmem is a folder of another project, and the libraries go into a
# folder below lib. The project's settings stay its own, and what is installed will find its libraries. Only configures.
set -euo pipefail
source=$1 cmake=$2 cc=$3 cxx=$4
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  echo "inside.sh: $*" >&2
  exit 1
}

cat >"$scratch/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(outer LANGUAGES C CXX)
add_subdirectory("$source" meshmem)
file(WRITE "\${CMAKE_BINARY_DIR}/program.c" "int main(void) { return 0; }")
add_executable(program "\${CMAKE_BINARY_DIR}/program.c")
target_link_libraries(program PRIVATE meshmem::meshmem)
END
"$cmake" -G Ninja -S "$scratch" -B "$scratch/build" -DCMAKE_INSTALL_LIBDIR=lib/some-machine -DMESHMEM_UCX=AUTO \
  -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_BUILD_TYPE= >"$scratch/log" 2>&1 || fail "$(cat "$scratch/log")"
grep -q '^CMAKE_BUILD_TYPE:[A-Z]*=$' "$scratch/build/CMakeCache.txt" ||
  fail "the outer project has $(grep '^CMAKE_BUILD_TYPE' "$scratch/build/CMakeCache.txt")"
! grep -q 'tests/unit' "$scratch/build/build.ninja" || fail 'the tests are built with the outer project'

# The folder of libraries comes first where an installed file looks for them.
checked=0
while read -r file rpath; do
  [ "$file" != '${file}' ] || file=/lib/some-machine/its_versions
  folder=${rpath%%:*}
  found=$(realpath -ms "/${folder/'$ORIGIN'/$(dirname "$file")}")
  [ "$found" = /lib/some-machine ] || fail "$file looks for libraries in $rpath"
  checked=$((checked + 1))
done < <(find "$scratch/build" -name cmake_install.cmake -print0 | xargs -0 cat | tr -s ' \n' ' ' |
         grep -oE 'RPATH_CHANGE FILE "[^"]*" OLD_RPATH "[^"]*" NEW_RPATH "[^"]*"' |
         sed -E 's/.*FILE "([^"]*)" .*NEW_RPATH "([^"]*)"/\1 \2/; s/\$ENV\{DESTDIR\}\$\{CMAKE_INSTALL_PREFIX\}//; s/\\//g')
[ $checked -ge 6 ] || fail "only $checked files look for libraries"
