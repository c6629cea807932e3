#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# install.sh BUILD_FOLDER CMAKE C_COMPILER C++_COMPILER TARGET
#
# Installs a build into a scratch prefix, moves the prefix, and builds and runs the project outside/ by each way that there is to
# use meshmem: the wrappers, pkg-config, find_package. The launcher is the installed one; LD_LIBRARY_PATH is not set. Programs
# with kernels run where TARGET is cpu, and are built where it is not.
set -euo pipefail
build=$1 cmake=$2 cc=$3 cxx=$4 target=$5
outside=$(dirname "$(readlink -f "$0")")/outside
unset LD_LIBRARY_PATH PKG_CONFIG_PATH MESHMEM_CC MESHMEM_CXX MESHMEM_HIPCXX

. "$(dirname "$0")/scratch.sh"
prefix=$scratch/moved

# run_program WAY PROGRAM OUTPUT: two PEs of it print OUTPUT, with the library of the moved prefix.
soname=libmeshmem.so.0.1
run_program() {
  local way=$1 program=$2 wanted=$3 said
  local loaded  # not in a pipe: a grep that has seen enough ends ldd by a signal
  loaded=$(ldd "$program")
  [[ $loaded == *"$soname => $prefix/"* ]] || fail "$way: $program does not load $prefix's library: $loaded"
  said=$("$prefix/bin/oshrun" -n 2 --timeout 60 "$program") || fail "$way: $program ended with $?: $said"
  [ "$said" = "$wanted" ] || fail "$way: $program printed '$said', not '$wanted'"
  echo "$way: $said"
}

through_wrappers() {
  "$prefix/bin/oshcc" -std=c11 -Wall -Wextra -Werror "$outside/outside.c" -o "$scratch/by_oshcc"
  "$prefix/bin/oshc++" -std=c++17 -Wall -Wextra -Werror "$outside/outside.cpp" -o "$scratch/by_oshcxx"
  run_program oshcc "$scratch/by_oshcc" '2 PEs in C'
  run_program oshc++ "$scratch/by_oshcxx" '2 PEs in C++'
  "$prefix/bin/oshcc" --races -Werror -c "$outside/outside.c" -o "$scratch/races.o"
  "$prefix/bin/oshcc" --races -Werror "$scratch/races.o" -o "$scratch/with_races"
  MESHMEM_CHECK=races run_program 'oshcc --races' "$scratch/with_races" '2 PEs in C'
  mkdir -p "$scratch/a prefix/bin"
  cp "$prefix/bin/oshcc" "$scratch/a prefix/bin"
  ln -s "$prefix"/{include,lib,share} "$scratch/a prefix"
  "$scratch/a prefix/bin/oshcc" --races -Werror "$outside/outside.c" -o "$scratch/by_prefix_with_blank"
}

# run_kernels WAY PROGRAM: the same for outside.hip.
run_kernels() {
  if [ "$target" = cpu ]; then
    run_program "$1" "$2" '2 PEs in HIP'
  else
    [ -x "$2" ] || fail "$1: $2 was not built"
  fi
}

# In one step, and compiling apart from linking.
through_oshhip() {
  "$prefix/bin/oshhip" -O2 -Wall -Wextra -Werror "$outside/outside.hip" -o "$scratch/by_oshhip"
  run_kernels oshhip "$scratch/by_oshhip"
  "$prefix/bin/oshhip" -c "$outside/outside.hip" -o "$scratch/outside_hip.o"
  "$prefix/bin/oshhip" "$scratch/outside_hip.o" -o "$scratch/by_oshhip_object"
  run_kernels 'oshhip with an object' "$scratch/by_oshhip_object"
}

# A link to a wrapper, as administrators make them, and compiling apart from linking.
through_links() {
  ln -s "$prefix/bin/oshcc" "$scratch/linked"
  "$scratch/linked" -Werror -c "$outside/outside.c" -o "$scratch/linked.o"
  "$scratch/linked" "$scratch/linked.o" -o "$scratch/by_link"
  run_program 'a link to oshcc' "$scratch/by_link" '2 PEs in C'
}

wrappers_ask_for_files() {
  local wrapper status
  for wrapper in oshcc oshc++ oshhip; do
    [ -x "$prefix/bin/$wrapper" ] || continue
    status=0
    "$prefix/bin/$wrapper" >"$scratch/log" 2>&1 || status=$?
    [ $status = 2 ] && [ "$(cat "$scratch/log")" = "$wrapper: no input files; try: $wrapper FILE -o PROGRAM" ] ||
      fail "$wrapper without arguments: status $status, $(cat "$scratch/log")"
  done
  status=0
  "$prefix/bin/oshcc" kernel.hip -o kernel >"$scratch/log" 2>&1 || status=$?
  [ $status = 2 ] && [ "$(cat "$scratch/log")" = 'oshcc: kernel.hip has kernels, which oshhip compiles' ] ||
    fail "oshcc with kernels: status $status, $(cat "$scratch/log")"
}

through_pkg_config() {
  export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
  local flags
  flags=$(pkg-config --cflags --libs meshmem)
  [ "$(pkg-config --modversion meshmem)" = 0.1.0 ] || fail 'pkg-config: wrong version'
  # shellcheck disable=SC2086  # several flags
  "$cc" -std=c11 "$outside/outside.c" -o "$scratch/by_pkg_c" $flags
  # shellcheck disable=SC2086
  "$cxx" -std=c++17 "$outside/outside.cpp" -o "$scratch/by_pkg_cpp" $flags
  run_program pkg-config "$scratch/by_pkg_c" '2 PEs in C'
  run_program pkg-config "$scratch/by_pkg_cpp" '2 PEs in C++'
  if [ "$target" = cpu ]; then
    flags=$(pkg-config --cflags --libs meshmem_device)
    # shellcheck disable=SC2086
    "$cxx" -O1 -x c++ "$outside/outside.hip" -o "$scratch/by_pkg_hip" $flags
    run_program 'pkg-config meshmem_device' "$scratch/by_pkg_hip" '2 PEs in HIP'
  fi
}

# The example of Fortran with the installed module, where there is a compiler for it. The library has all routines of
# the module; the others of the standard are named there with the reason.
through_fortran() {
  local module=$prefix/include/shmem.f90 here example flags routines
  here=$(dirname "$outside")
  example=$here/../../examples/fortran/ring.f90
  routines=$(sed -nE 's/^ *(subroutine|function) (\w+)\(.*/\2/p' "$module")
  diff <(sed -nE 's/^! Not here: (\w+), since .+/\1/p' "$module" | sort - <(echo "$routines")) \
    <(grep -v '^#' "$here/symbols_1.6.txt" | cut -d ' ' -f 1 | sort) || fail 'shmem.f90 has other routines (<) than the standard (>)'
  command -v gfortran >/dev/null || return 0
  flags=$(pkg-config --libs meshmem)
  # shellcheck disable=SC2086
  gfortran -std=f2008 -Wall -Werror -J "$scratch" "$module" "$example" -o "$scratch/by_gfortran" $flags
  run_program gfortran "$scratch/by_gfortran" '2 PEs in Fortran'
  {
    printf 'program all_routines\n  use shmem\n  type(c_funptr) :: all(%d)\n' "$(wc -w <<<"$routines")"
    awk '{ print "  all(" NR ") = c_funloc(" $1 ")" }' <<<"$routines"
    printf '  if (.not. c_associated(all(1))) stop 1\nend program\n'
  } >"$scratch/all_routines.f90"
  # shellcheck disable=SC2086
  gfortran -I "$scratch" "$scratch/all_routines.f90" -o "$scratch/all_routines" $flags
}

through_find_package() {
  "$cmake" -S "$outside" -B "$scratch/cmake" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_CXX_COMPILER="$cxx" >"$scratch/log" || fail "find_package: $(cat "$scratch/log")"
  "$cmake" --build "$scratch/cmake" >"$scratch/log" || fail "find_package: $(cat "$scratch/log")"
  run_program find_package "$scratch/cmake/outside_c" '2 PEs in C'
  run_program find_package "$scratch/cmake/outside_cpp" '2 PEs in C++'
  run_program meshmem::nvshmem_names "$scratch/cmake/outside_nvshmem" '2 PEs of NVSHMEM'
  run_program meshmem::rocshmem_names "$scratch/cmake/outside_rocshmem" '2 PEs of rocSHMEM'
  run_kernels meshmem_device_sources "$scratch/cmake/outside_hip"
  if [ "$target" = cpu ]; then
    run_program meshmem::device "$scratch/cmake/outside_kernel" '2 PEs in HIP'
    run_program 'meshmem_device_sources with a launch' "$scratch/cmake/outside_launch" '2 PEs by <<<>>>'
    run_program 'meshmem_device_sources with a source of CUDA' "$scratch/cmake/outside_cuda" '2 PEs in CUDA'
    launches_depend_on_headers
  fi
}

# The build knows the headers of a source that was rewritten, and prepends no launcher twice.
launches_depend_on_headers() {
  local project=$scratch/changing
  cp -r "$outside" "$project"
  "$cmake" -S "$project" -B "$project/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_CXX_COMPILER_LAUNCHER='env;LAUNCHED=1' >"$scratch/log" || fail "launches: $(cat "$scratch/log")"
  "$cmake" --build "$project/build" --target outside_launch >"$scratch/log" || fail "launches: $(cat "$scratch/log")"
  sed -i 's/, value); }/, value + 1); }/' "$project/outside_launch.h"
  "$cmake" --build "$project/build" --target outside_launch -- -v >"$scratch/log" || fail "launches: $(cat "$scratch/log")"
  ! "$prefix/bin/oshrun" -n 1 --timeout 60 "$project/build/outside_launch" || fail 'a header was changed, and the program was not'
  [ "$(grep -c 'bin/meshmem-launches env LAUNCHED=1 .* -c .*outside_launch.cu' "$scratch/log")" = 1 ] ||
    fail "the project's launcher is not kept: $(cat "$scratch/log")"
}

# A project without the language of kernels is told so.
kernels_in_a_project_of_c() {
  mkdir "$scratch/only_c"
  cat >"$scratch/only_c/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.16)
project(only_c LANGUAGES C)
find_package(meshmem REQUIRED)
add_executable(kernels)
meshmem_device_sources(kernels kernels.hip)
target_link_libraries(kernels PRIVATE meshmem::device)
EOF
  "$cmake" -S "$scratch/only_c" -B "$scratch/only_c/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_COMPILER="$cc" >"$scratch/log" 2>&1 && fail 'a project of C alone has kernels'
  [ "$(grep -c 'CMake Error' "$scratch/log")" = 1 ] || fail "a project of C alone: $(cat "$scratch/log")"
  tr -s '\n ' ' ' <"$scratch/log" | grep -q 'the project has to enable C[A-Z]* for kernels' ||
    fail "a project of C alone: $(cat "$scratch/log")"
}

# Version 0.2 in the same prefix, with an absolute folder of libraries, as Nix sets it. It is configured anew, and its
# libraries and programs are those of this build with other names in them.
beside_another_version() {
  local other=$scratch/other library name
  mkdir -p "$other"/{bin,lib/meshmem/0.2}
  sed "s#$build#$other#g" "$build/CMakeCache.txt" >"$other/CMakeCache.txt"
  printf 'set(PROJECT_VERSION 0.2.0)\nset(PROJECT_VERSION_MINOR 2)\n' >"$other/version.cmake"
  "$cmake" -S "$source" -B "$other" -DCMAKE_PROJECT_meshmem_INCLUDE="$other/version.cmake" -DMESHMEM_BUILD_TESTS=OFF \
    -DMESHMEM_BUILD_EXAMPLES=OFF -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR="$prefix/lib" >"$scratch/log" ||
    fail "another version: $(cat "$scratch/log")"
  cp -r "$build/docs" "$build/fortran" "$other"
  cp "$build"/bin/{oshrun,meshmem-*} "$other/bin"
  cp "$build"/lib/meshmem/0.1/* "$other/lib/meshmem/0.2"
  cp "$build/lib/libmeshmem_loads.a" "$other/lib"
  for library in "$build"/lib/libmeshmem*.so.0.1.0; do
    name=$(basename "$library" .0.1.0)
    cp "$library" "$other/lib/$name.0.2.0"
    ln -s "$name.0.2.0" "$other/lib/$name.0.2"
    ln -s "$name.0.2" "$other/lib/$name"
  done
  sed -i -E 's#(libmeshmem(_accesses|_hip_cpu)?\.so\.|meshmem/)0\.1#\10.2#g' "$other"/bin/* "$other"/lib/meshmem/0.2/* \
    "$other"/lib/*.so.0.2.0
  "$cmake" --install "$other" >"$scratch/log" || fail "another version: $(cat "$scratch/log")"

  has_trace_of 0.1 "$scratch/by_oshcc"
  run_program 'the first version beside another' "$scratch/by_oshcc" '2 PEs in C'
  soname=libmeshmem.so.0.2
  "$prefix/bin/oshcc" "$outside/outside.c" -o "$scratch/other_by_oshcc"
  run_program 'oshcc of another version' "$scratch/other_by_oshcc" '2 PEs in C'
  has_trace_of 0.2 "$scratch/other_by_oshcc"
  [ "$(pkg-config --modversion meshmem)" = 0.2.0 ] || fail 'pkg-config: not the version that was installed last'
  # shellcheck disable=SC2046
  "$cc" -std=c11 "$outside/outside.c" -o "$scratch/other_by_pkg_c" $(pkg-config --cflags --libs meshmem)
  run_program 'pkg-config of another version' "$scratch/other_by_pkg_c" '2 PEs in C'
  cp -r "$outside" "$scratch/other_outside"
  sed -i 's/find_package(meshmem 0\.1 /find_package(meshmem 0.2 /' "$scratch/other_outside/CMakeLists.txt"
  "$cmake" -S "$scratch/other_outside" -B "$scratch/other_cmake" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_CXX_COMPILER="$cxx" >"$scratch/log" || fail "find_package: $(cat "$scratch/log")"
  "$cmake" --build "$scratch/other_cmake" --target outside_c >"$scratch/log" || fail "find_package: $(cat "$scratch/log")"
  run_program 'find_package of another version' "$scratch/other_cmake/outside_c" '2 PEs in C'
}

# has_trace_of VERSION PROGRAM: the library loads its companion of the same version.
has_trace_of() {
  LD_DEBUG=files MESHMEM_TRACE=$scratch/trace.json "$prefix/bin/oshrun" -n 1 "$2" >"$scratch/log" 2>&1 ||
    fail "$2 with a trace: $(cat "$scratch/log")"
  [ "$(sed -nE 's#.*calling init: .*/(meshmem/.*/libmeshmem_trace.so)$#\1#p' "$scratch/log")" = \
    "meshmem/$1/libmeshmem_trace.so" ] ||
    fail "$2 loads $(grep libmeshmem_trace.so "$scratch/log")"
}

"$cmake" --install "$build" --prefix "$scratch/first" >"$scratch/log" || fail "$(cat "$scratch/log")"
mv "$scratch/first" "$prefix"
source=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$build/CMakeCache.txt")
! grep -rIl "$scratch/first\|$build" "$prefix" || fail 'these installed files name the place that they came from'
# Nor do libraries and programs as they were linked, so that two builds of the same sources are the same files.
if grep -q '^CMAKE_BUILD_TYPE:[A-Z]*=Release' "$build/CMakeCache.txt"; then
  ! grep -l "$source" "$build"/lib/libmeshmem*.so "$build"/lib/meshmem/0.1/* "$build"/bin/{oshrun,meshmem-info,meshmem-bench} ||
    fail 'these files name the folder that they were built in'
fi
for page in man1/oshrun.1 man1/oshc++.1 man1/meshmem-info.1 man1/meshmem-trace.1 man1/meshmem-bench.1 man3/shmem_put.3 man3/shmem_get.3 \
  man3/shmem_set_lock.3 man3/shmem_long_p.3 man3/shmemx_float_sum_reduce_on_stream.3 man7/shmem.7; do
  [ -f "$prefix/share/man/$page" ] || fail "there is no manual page $page"
done
for file in share/meshmem/{valgrind.supp,tsan.supp,races.specs} share/doc/meshmem/LICENSE lib/meshmem/0.1/libmeshmem_{trace,races,fused}.so; do
  [ -f "$prefix/$file" ] || fail "there is no $file"
done
# Each program has one.
for program in "$prefix"/bin/*; do
  [ -f "$prefix/share/man/man1/${program##*/}.1" ] || fail "there is no manual page of ${program##*/}"
done
# The library of traces is found from the moved prefix.
joined=$("$prefix/bin/meshmem-trace" join "$scratch/none" 2>&1) && fail "meshmem-trace joins nothing: $joined"
grep -q 'there are no parts' <<<"$joined" || fail "meshmem-trace: $joined"
# The network's library comes along where it was built, and is found from the moved prefix.
if [ -f "$build/lib/meshmem/0.1/libmeshmem_ucx.so" ]; then
  networks=$(MESHMEM_NETWORK=ucx "$prefix/bin/meshmem-info")
  grep -q '^  UCX  *[0-9]' <<<"$networks" || fail "meshmem-info finds no network: $networks"
fi
# So is the library, which the doctor's job loads.
doctor=$("$prefix/bin/oshrun" -n 1 "$prefix/bin/meshmem-info" --doctor) || true  # the machine may be ill
grep -q '^OK *start ' <<<"$doctor" || fail "the doctor's job does not start: $doctor"
wrappers_ask_for_files
through_wrappers
through_oshhip
through_links
through_pkg_config
through_fortran
through_find_package
kernels_in_a_project_of_c
if [ "$target" = cpu ]; then
  "$prefix/bin/oshrun" -n 2 --timeout 60 "$prefix/bin/meshmem-bench" --max-bytes 16 --runs 1 --check >"$scratch/log" 2>&1 ||
    fail "meshmem-bench: $(cat "$scratch/log")"
fi
beside_another_version
