# SPDX-License-Identifier: Apache-2.0
# Finds HIP for AMD GPUs, as Debian and as ROCm install it: the compiler driver MESHMEM_HIPCC, and the imported target
# meshmem::amdhip with the host API. Both are taken from one place: where hipcc is, unless it is told otherwise.
# (CMake's own language HIP does not accept Debian's layout, and hip-config.cmake asks for packages that are not needed.
# Projects may enable it all the same, and link meshmem::device: tests/compile/hip_language.sh.)
# Included by the project's build and by the installed package.
find_program(MESHMEM_HIPCC hipcc HINTS $ENV{ROCM_PATH}/bin PATHS /opt/rocm/bin DOC "hipcc, for MESHMEM_TARGET=hip")
if(NOT MESHMEM_HIPCC)
  message(FATAL_ERROR "meshmem for AMD GPUs needs hipcc: install ROCm (or Debian's hipcc, libamdhip64-dev and "
                      "rocm-device-libs), and put it into PATH or CMAKE_PREFIX_PATH, or give -DMESHMEM_HIPCC=")
endif()
get_filename_component(meshmem_hip_root ${MESHMEM_HIPCC} REALPATH)
get_filename_component(meshmem_hip_root ${meshmem_hip_root} DIRECTORY)
get_filename_component(meshmem_hip_root ${meshmem_hip_root} DIRECTORY)
# amdclang++ is a link into ROCm's folder of LLVM.
string(REGEX REPLACE "/(lib/)?llvm$" "" meshmem_hip_root ${meshmem_hip_root})
find_path(MESHMEM_HIP_INCLUDE hip/hip_runtime_api.h HINTS ${meshmem_hip_root}/include DOC "Headers of HIP")
find_library(MESHMEM_HIP_LIBRARY amdhip64 HINTS ${meshmem_hip_root}/lib DOC "HIP's runtime library")
if(NOT MESHMEM_HIP_INCLUDE OR NOT MESHMEM_HIP_LIBRARY)
  message(FATAL_ERROR "meshmem for AMD GPUs needs HIP's headers and libamdhip64.so beside ${MESHMEM_HIPCC} "
                      "(in Debian: libamdhip64-dev)")
endif()

if(NOT TARGET meshmem::amdhip)
  add_library(meshmem::amdhip INTERFACE IMPORTED GLOBAL)
  target_include_directories(meshmem::amdhip SYSTEM INTERFACE ${MESHMEM_HIP_INCLUDE})
  target_compile_definitions(meshmem::amdhip INTERFACE __HIP_PLATFORM_AMD__=1)
  target_link_libraries(meshmem::amdhip INTERFACE ${MESHMEM_HIP_LIBRARY})
endif()
