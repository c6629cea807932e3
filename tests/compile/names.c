// SPDX-License-Identifier: Apache-2.0
//
// Prints the name of every routine that the tables hold, one a line; with any argument those of the
// extensions. symbols.py compares them with the standard's list and with the library's exports.
// This file reads the tables alone, so that no header can add a name.
#include <pshmemx.h>
#include <shmem/deprecated.h>
#include <shmem/ops.h>
#include <shmem/types.h>
#include <stdio.h>

static void print_extensions(void) {
#define PRINT_NAME(name, op, E, result, params, args) puts("shmemx_" #name);
#define PRINT_NAME_ON_STREAM(name, op, E, result, params, args) puts("shmemx_" #name "_on_stream");
  MESHMEM_ALL_EXTENSIONS(PRINT_NAME, PRINT_NAME_ON_STREAM)
#undef PRINT_NAME
#undef PRINT_NAME_ON_STREAM
}

int main(int argc, char** argv) {
  (void)argv;
  if (argc > 1) {
    print_extensions();
    return 0;
  }
#define PRINT_NAME(name, op, E, result, params, args) puts("shmem_" #name);
#define PRINT_NAME_CTX(name, op, E, result, params, args) \
  puts("shmem_" #name);                                   \
  puts("shmem_ctx_" #name);
#define PRINT_WHOLE_NAME(name, op, E, result, params, args) puts(#name);
  MESHMEM_ALL_ROUTINES(PRINT_NAME_CTX, PRINT_NAME)
  MESHMEM_DEPRECATED(PRINT_NAME)
  MESHMEM_DEPRECATED_LONG_WAIT_UNTIL(PRINT_NAME)
  MESHMEM_DEPRECATED_NAMES(PRINT_WHOLE_NAME)
#undef PRINT_NAME
#undef PRINT_NAME_CTX
#undef PRINT_WHOLE_NAME
  puts("shmem_global_exit");  // of no row, since it does not return
  return 0;
}
