// SPDX-License-Identifier: Apache-2.0
//
// Misuse that a compiler has to refuse. must_not_compile.py compiles this file once a case, as C11
// and as C++17, and looks for the message that the line above the case gives as
//     case NAME | in C | in C++   (regular expressions; none: it compiles)
// Each case that is refused differs from a line of the case `control` in the misuse alone.
#include <shmem.h>

static float floats[4], more_floats[4];
static const float constants[4] = {0};
static double doubles[4];
static uint64_t word;
static long longs[4];
struct pixel {
  float x, y;
};
static struct pixel pixels[4];

int main(void) {
  void* untyped = floats;
  (void)untyped, (void)floats, (void)more_floats, (void)constants, (void)doubles, (void)word,
      (void)longs, (void)pixels;

  // case control
#ifdef case_control
  shmem_put(floats, more_floats, 4, 0);
  shmem_put(SHMEM_CTX_DEFAULT, floats, constants, 4, 0);
  shmem_putmem(pixels, untyped, sizeof pixels, 0);
  shmem_atomic_swap(&floats[0], 1.0f, 0);
  shmem_atomic_or(&word, (uint64_t)1, 0);
  shmem_float_put(floats, constants, 4, 0);
  shmem_sum_reduce(SHMEM_TEAM_WORLD, floats, floats, 4);
  shmem_wait_until(&word, SHMEM_CMP_EQ, (uint64_t)1);
  shmem_swap(&floats[0], 1.0f, 0);
  shmem_sync(0, 0, 1, longs);
#endif

  // case struct_has_no_put | has_no_routine_for_this_type | no match.*shmem_put
#ifdef case_struct_has_no_put
  shmem_put(pixels, pixels, 4, 0);
#endif

  // case void_has_no_put | has_no_routine_for_this_type | no match.*shmem_put
#ifdef case_void_has_no_put
  shmem_put(untyped, untyped, 4, 0);
#endif

  // case void_has_no_put_with_context | has_no_routine_for_this_type | no match.*shmem_put
#ifdef case_void_has_no_put_with_context
  shmem_put(SHMEM_CTX_DEFAULT, untyped, untyped, 4, 0);
#endif

  // case team_is_no_context | has_no_routine_for_this_type | no match.*shmem_put
#ifdef case_team_is_no_context
  shmem_put(SHMEM_TEAM_WORLD, floats, more_floats, 4, 0);
#endif

  // case number_is_no_context | has_no_routine_for_this_type | conversion from|no match.*shmem_put
#ifdef case_number_is_no_context
  shmem_put(1, floats, more_floats, 4, 0);
#endif

  // case context_is_no_team | incompatible.pointer | no match.*shmem_sum_reduce
#ifdef case_context_is_no_team
  shmem_sum_reduce(SHMEM_CTX_DEFAULT, floats, floats, 4);
#endif

  // case const_is_no_destination | discards .*qualifier | conversion from|no match.*shmem_put
#ifdef case_const_is_no_destination
  shmem_put(constants, floats, 4, 0);
#endif

  // case types_of_both_ends_differ | incompatible.pointer | no match.*shmem_put
#ifdef case_types_of_both_ends_differ
  shmem_put(doubles, floats, 4, 0);
#endif

  // case typed_put_of_another_type | incompatible.pointer | cannot convert|no match.*float_put
#ifdef case_typed_put_of_another_type
  shmem_float_put(floats, doubles, 4, 0);
#endif

  // case float_has_no_atomic_add | has_no_routine_for_this_type | no match.*shmem_atomic_add
#ifdef case_float_has_no_atomic_add
  shmem_atomic_add(&floats[0], 1.0f, 0);
#endif

  // case float_has_no_bits | has_no_routine_for_this_type | no match.*shmem_and_reduce
#ifdef case_float_has_no_bits
  shmem_and_reduce(SHMEM_TEAM_WORLD, floats, floats, 4);
#endif

  // case pixel_is_no_complex | has_no_routine_for_this_type | no match.*shmem_sum_reduce
#ifdef case_pixel_is_no_complex
  shmem_sum_reduce(SHMEM_TEAM_WORLD, pixels, pixels, 4);
#endif

  // case float_is_not_waited_for | has_no_routine_for_this_type | no match.*shmem_wait_until
#ifdef case_float_is_not_waited_for
  shmem_wait_until(&floats[0], SHMEM_CMP_EQ, 1.0f);
#endif

  // case float_has_no_add | has_no_routine_for_this_type | no match.*shmem_add
#ifdef case_float_has_no_add
  shmem_add(&floats[0], 1.0f, 0);
#endif

  // case bytes_have_no_old_swap | has_no_routine_for_this_type | no match.*shmem_swap
#ifdef case_bytes_have_no_old_swap
  static unsigned char byte;
  shmem_swap(&byte, (unsigned char)1, 0);
#endif

  // case sync_has_one_argument_or_four | no_routine | no match.*shmem_sync
#ifdef case_sync_has_one_argument_or_four
  shmem_sync(0, 0, 1);
#endif

  // case pe_is_missing | too few arguments | no match.*shmem_put
#ifdef case_pe_is_missing
  shmem_put(floats, more_floats, 4);
#endif
  return 0;
}
