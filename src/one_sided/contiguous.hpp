// SPDX-License-Identifier: Apache-2.0
//
// Contiguous puts and gets of bytes between this PE and another, one function for all types.
// Invariant: between host memory there is no lock, no allocation, no system call, and no indirect
// call but memcpy's. The typed routines of api/ jump here.
#ifndef MESHMEM_ONE_SIDED_CONTIGUOUS_HPP_
#define MESHMEM_ONE_SIDED_CONTIGUOUS_HPP_

#include <cstddef>

namespace meshmem {

// `pe` is a world PE, not checked yet.
void put_bytes(const char* routine, void* dest, const void* source, std::size_t bytes, int pe);
void get_bytes(const char* routine, void* dest, const void* source, std::size_t bytes, int pe);
// Between mapped host memory they are complete when they return, which the standard allows.
void put_nbi_bytes(const char* routine, void* dest, const void* source, std::size_t bytes, int pe);
void get_nbi_bytes(const char* routine, void* dest, const void* source, std::size_t bytes, int pe);

}  // namespace meshmem

#endif  // MESHMEM_ONE_SIDED_CONTIGUOUS_HPP_
