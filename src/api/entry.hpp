// SPDX-License-Identifier: Apache-2.0
//
// How an entry point is defined: the pair of names (pshmem_x, and shmem_x as its weak alias, so
// that a tool can take the place of the latter). Invariant: the library itself calls neither name.
// Included by the files of api/ only.
#ifndef MESHMEM_API_ENTRY_HPP_
#define MESHMEM_API_ENTRY_HPP_

#include "core/call.hpp"
#include "pshmem.h"
#include "pshmemx.h"

// The arguments of a row of the tables, without their brackets.
#define MESHMEM_UNWRAP(...) __VA_ARGS__

// Defines one routine. The body follows as { ... }. NAMED: with all of its name, as in shmem_put.
#define MESHMEM_VISIBLE __attribute__((visibility("default")))
#define MESHMEM_ENTRY(result, name, params) MESHMEM_NAMED_ENTRY(result, shmem_##name, params)
#define MESHMEM_EXTENSION_ENTRY(result, name, params) \
  MESHMEM_NAMED_ENTRY(result, shmemx_##name, params)
#define MESHMEM_NAMED_ENTRY(result, name, params)                                        \
  extern "C" MESHMEM_VISIBLE result name params __attribute__((weak, alias("p" #name))); \
  extern "C" MESHMEM_VISIBLE result p##name params

#endif  // MESHMEM_API_ENTRY_HPP_
