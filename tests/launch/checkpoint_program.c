/* SPDX-License-Identifier: Apache-2.0
 *
 * Saves its memory again and again, or restores it, for test_checkpoints.py.
 *
 *   save FOLDER STEPS KIBIBYTES   goes on from the restored step, if there is one: fills and saves
 *                                 STEPS times, and PE 0 prints "saved <step>" after each
 *   restore FOLDER KIBIBYTES      prints "PE <n> has step <step>", or "PE <n> refused"; ends with
 *                                 status 1 if its memory is not that of one step
 *
 * A step fills the heap, a registered buffer where there are devices, and a variable.
 */
#include <shmemx.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

SHMEMX_SAVED static uint64_t step;
#ifdef MORE_SAVED
SHMEMX_SAVED uint64_t more[4] = {1};
#endif
static uint64_t not_saved = 5; /* stays as it is */

static uint64_t word_of(uint64_t of_step, size_t i) {
  return (of_step * 64 + (uint64_t)shmem_my_pe()) * 0x9e3779b97f4a7c15u + i;
}

static void fill(uint64_t* block, size_t n) {
  for (size_t i = 0; i < n; ++i) block[i] = word_of(step, i);
}

static int is_of_step(const uint64_t* block, size_t n) {
  for (size_t i = 0; i < n; ++i)
    if (block[i] != word_of(step, i)) return 0;
  return 1;
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const int saves = strcmp(argv[1], "save") == 0;
  const size_t n = strtoul(argv[argc - 1], NULL, 10) * 128;
  shmem_init();
  uint64_t* block = shmem_malloc(n * sizeof *block);
  uint64_t* device = shmem_malloc_with_hints(n * sizeof *device, SHMEMX_MALLOC_DEVICE);
  uint64_t* got = malloc(n * sizeof *got);
  not_saved = 6;
  int status = 0;
  if (saves) {
    const int failed = shmemx_heap_restore(SHMEM_TEAM_WORLD, argv[2]);
    if (failed && failed != SHMEMX_NO_SAVE) printf("PE %d cannot go on\n", shmem_my_pe());
    if (failed) step = 0;
    for (const uint64_t last = step + strtoul(argv[3], NULL, 10); step < last;) {
      ++step;
      fill(block, n);
      fill(got, n);
      if (device) shmem_putmem(device, got, n * sizeof *got, shmem_my_pe());
      if (shmemx_heap_save(SHMEM_TEAM_WORLD, argv[2]) != 0) {
        printf("PE %d refused\n", shmem_my_pe());
        break;
      }
      if (shmem_my_pe() == 0) printf("saved %llu\n", (unsigned long long)step);
      fflush(stdout);
    }
  } else if (shmemx_heap_restore(SHMEM_TEAM_WORLD, argv[2]) != 0) {
    printf("PE %d refused\n", shmem_my_pe());
    status = step == 0 ? 0 : 1; /* nothing has changed */
  } else {
    printf("PE %d has step %llu\n", shmem_my_pe(), (unsigned long long)step);
    if (device) shmem_getmem(got, device, n * sizeof *got, shmem_my_pe());
    const int is_whole = is_of_step(block, n) && (!device || is_of_step(got, n));
    status = is_whole && not_saved == 6 ? 0 : 1;
  }
  free(got);
  shmem_finalize();
  return status;
}
