#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# same_names.sh SOURCE_FOLDER CMAKE C++_COMPILER: meshmem_device_sources takes files of one name from several folders, also
# from outside the project and where the target is hip. In place of hipcc stands a script that compiles by the C++ compiler.
set -euo pipefail
source=$1 cmake=$2 cxx=$3
. "$(dirname "$0")/scratch.sh"
mkdir -p "$scratch/project/one" "$scratch/project/two" "$scratch/beside"

cat >"$scratch/hipcc" <<END
#!/usr/bin/env bash
words=()
for word; do
  case \$word in
    --offload-arch=*) ;;
    hip) words+=(c++) ;;
    *) words+=("\$word") ;;
  esac
done
exec "$cxx" "\${words[@]}"
END
chmod +x "$scratch/hipcc"

echo 'int one() { return 1; }' >"$scratch/project/one/kernels.hip"
echo 'int two() { return 2; }' >"$scratch/project/two/kernels.hip"
echo 'int beside() { return 4; }' >"$scratch/beside/kernels.hip"
echo 'int one(); int two(); int beside(); int main() { return one() + two() + beside(); }' >"$scratch/project/kernels.hip"
cat >"$scratch/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.16)
project(same_names LANGUAGES CXX)
include("$source/cmake/meshmemDeviceSources.cmake")
add_executable(program)
meshmem_device_sources(program kernels.hip one/kernels.hip two/kernels.hip ../beside/kernels.hip)
END

for target in cpu hip; do
  "$cmake" -G Ninja -S "$scratch/project" -B "$scratch/$target" -DMESHMEM_TARGET=$target -DMESHMEM_HIPCC="$scratch/hipcc" \
    -DMESHMEM_HIP_ARCHITECTURES=gfx90a -DCMAKE_CXX_COMPILER="$cxx" >"$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
  "$cmake" --build "$scratch/$target" >"$scratch/log" || { cat "$scratch/log"; exit 1; }
  status=0
  "$scratch/$target/program" || status=$?
  [ $status = 7 ] || { echo "same_names.sh: $target: the program ends with $status" >&2; exit 1; }
done
