/* SPDX-License-Identifier: Apache-2.0
 *
 * A profiling tool defines a routine itself, and calls the library's by its pshmem_ name. Calls by
 * the generic and by the typed name both reach the tool's; no other example puts chars. */
#include <pshmem.h>
#include <shmem.h>

#include "examples.h"

static int calls;
static size_t elems;

void shmem_schar_put(signed char* dest, const signed char* source, size_t nelems, int pe) {
  ++calls;
  elems += nelems;
  pshmem_schar_put(dest, source, nelems, pe);
}

static int count_puts(void) {
  static signed char text[6];
  const signed char source[6] = {'m', 'e', 's', 'h', 'm', 'e'};
  const int next = (shmem_my_pe() + 1) % shmem_n_pes();
  calls = 0;
  elems = 0;
  shmem_put(text, source, 4, next);
  shmem_schar_put(text + 4, source + 4, 2, next);
  shmem_barrier_all();
  int wrong = (calls != 2) + (elems != 6);
  for (int i = 0; i < 6; ++i) wrong += text[i] != source[i];
  return wrong;
}

const struct SpecExample profiling_examples[] = {{"count_puts", count_puts}, {0, 0}};
