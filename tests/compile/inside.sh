#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# inside.sh SOURCE_FOLDER CMAKE C_COMPILER C++_COMPILER: meshmem is a part of another project, by add_subdirectory and by
# FetchContent, and the libraries go into a folder below lib. The project's settings stay its own, and what is installed will find
# its libraries. With MESHMEM_TEST_LONG a program is built in each project and run; the two sources lie in two folders, and make
# the same libraries, byte by byte. Otherwise it only configures.
set -euo pipefail
source=$1 cmake=$2 cc=$3 cxx=$4
. "$(dirname "$0")/scratch.sh"

# configure WAY COMMANDS: makes the project of another, which takes in meshmem by these commands.
configure() {
  mkdir "$scratch/$1"
  cat >"$scratch/$1/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(outer LANGUAGES C CXX)
$2
add_executable(program "$source/tests/compile/outside/outside.c")
target_link_libraries(program PRIVATE meshmem::meshmem)
END
  "$cmake" -G Ninja -S "$scratch/$1" -B "$scratch/$1/build" -DCMAKE_INSTALL_LIBDIR=lib/some-machine -DMESHMEM_UCX=AUTO \
    -DMESHMEM_COMPILE_FOLDERS=ON -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_BUILD_TYPE= >"$scratch/log" 2>&1 ||
    fail "$1: $(cat "$scratch/log")"
  grep -q '^CMAKE_BUILD_TYPE:[A-Z]*=$' "$scratch/$1/build/CMakeCache.txt" ||
    fail "$1: the outer project has $(grep '^CMAKE_BUILD_TYPE' "$scratch/$1/build/CMakeCache.txt")"
  ! grep -q 'tests/unit' "$scratch/$1/build/build.ninja" || fail "$1: the tests are built with the outer project"
}

configure subdirectory "add_subdirectory(\"$source\" meshmem)"
tar -C "$source" --exclude=./build --exclude=./.git --exclude=./shared -cf "$scratch/meshmem.tar" .
configure fetched "include(FetchContent)
set(FETCHCONTENT_QUIET OFF)
FetchContent_Declare(meshmem URL \"$scratch/meshmem.tar\" DOWNLOAD_EXTRACT_TIMESTAMP ON)
FetchContent_MakeAvailable(meshmem)"

# The folder of libraries comes first where an installed file looks for them.
checked=0
while read -r file rpath; do
  [ "$file" != '${file}' ] || file=/lib/some-machine/its_versions
  folder=${rpath%%:*}
  found=$(realpath -ms "/${folder/'$ORIGIN'/$(dirname "$file")}")
  [ "$found" = /lib/some-machine ] || fail "$file looks for libraries in $rpath"
  checked=$((checked + 1))
done < <(find "$scratch/subdirectory/build" -name cmake_install.cmake -print0 | xargs -0 cat | tr -s ' \n' ' ' |
         grep -oE 'RPATH_CHANGE FILE "[^"]*" OLD_RPATH "[^"]*" NEW_RPATH "[^"]*"' |
         sed -E 's/.*FILE "([^"]*)" .*NEW_RPATH "([^"]*)"/\1 \2/; s/\$ENV\{DESTDIR\}\$\{CMAKE_INSTALL_PREFIX\}//; s/\\//g')
[ $checked -ge 6 ] || fail "only $checked files look for libraries"
[ -n "${MESHMEM_TEST_LONG-}" ] || exit 0

export CCACHE_DISABLE=1  # it would give the second project what was compiled for the first
declare -A built
for way in subdirectory fetched; do
  "$cmake" --build "$scratch/$way/build" --target program oshrun meshmem_trace meshmem_races >"$scratch/log" ||
    fail "$way: $(tail -n 50 "$scratch/log")"
  files=$(find "$scratch/$way/build" -type f \( -name 'libmeshmem*.so*' -o -name oshrun \) -printf '%f %p\n' | sort)
  built[$way]=$(cut -d ' ' -f 2 <<<"$files")
  said=$("$(grep '/oshrun$' <<<"${built[$way]}")" -n 2 --timeout 60 "$scratch/$way/build/program") || fail "$way: $said"
  [ "$said" = '2 PEs in C' ] || fail "$way: the program printed '$said'"
done
while read -r one other; do
  cmp "$one" "$other" || fail "$(basename "$one") depends on the folder"
  echo "$(basename "$one") is the same from two folders"
  checked=$((checked + 1))
done < <(paste -d ' ' <(echo "${built[subdirectory]}") <(echo "${built[fetched]}"))
[ $checked -ge 10 ] || fail 'too few files are compared'
