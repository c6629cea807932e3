# SPDX-License-Identifier: Apache-2.0
# For CMAKE_PROJECT_meshmem_INCLUDE: the host's side is not optimized, kernels by hipcc or nvcc are. The host's side is
# nearly the same for all targets, and optimized where the tests are built for this one.
add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-O0>")
