# SPDX-License-Identifier: Apache-2.0
# Which networks are built: MESHMEM_UCX=ON asks for UCX and ends without it, OFF does without, AUTO (the default)
# takes it where its headers are. CMake prints the decision, and meshmem-info says it.
set(MESHMEM_UCX AUTO CACHE STRING "Build libmeshmem_ucx.so, for RDMA networks: AUTO, ON or OFF")
set_property(CACHE MESHMEM_UCX PROPERTY STRINGS AUTO ON OFF)
if(NOT MESHMEM_UCX MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "MESHMEM_UCX=${MESHMEM_UCX} is unknown; it is one of AUTO, ON, OFF")
endif()

set(MESHMEM_HAS_UCX FALSE)
if(NOT MESHMEM_UCX STREQUAL "OFF")
  pkg_check_modules(UCX QUIET IMPORTED_TARGET ucx>=1.13)
  if(UCX_FOUND)
    set(MESHMEM_HAS_UCX TRUE)
  elseif(MESHMEM_UCX STREQUAL "ON")
    message(FATAL_ERROR "MESHMEM_UCX=ON needs UCX 1.13 or newer with its headers (in Debian: libucx-dev); "
                        "-DMESHMEM_UCX=OFF builds for jobs over TCP")
  endif()
endif()
if(MESHMEM_HAS_UCX)
  message(STATUS "Machines are connected by TCP, and by UCX, built with ${UCX_VERSION} (MESHMEM_UCX=${MESHMEM_UCX})")
else()
  message(STATUS "Machines are connected by TCP: built without UCX (MESHMEM_UCX=${MESHMEM_UCX})")
endif()
