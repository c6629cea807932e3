/* SPDX-License-Identifier: Apache-2.0
 *
 * As races_program, of mistakes that the program makes by its own loads and stores; built by
 * `oshcc --races`.
 *   cost   prints what accesses cost, in ns; for people, not for a test
 */
#include <shmem.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct halo {
  long cells[20];
};

static int me, n, right;
static long x[8], y[8], dest[8], flag;
static volatile long volatile_flag;
static _Atomic long flag_of_c, lock_of_c;
static uint64_t signal1;
static struct halo halo, other_halo;
static const long values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
static long sink, copies[8];
static char text[8], other_text[8] = "text\n";
static long* heap;

static void barrier_if_right(void) {
  if (right) shmem_barrier_all();
}

static void load_before_quiet(void) {
  if (me == 0) shmem_long_get_nbi(x, y, 8, 1);
  if (right) shmem_quiet();
  if (me == 0) sink = x[3];
}
static void store_before_quiet(void) {
  if (me == 0) shmem_long_put_nbi(dest, heap, 8, 1);
  if (right) shmem_quiet();
  if (me == 0) heap[7] = 5;
}
static void copy_before_quiet(void) {
  if (me == 0) shmem_long_get_nbi(x, y, 8, 1);
  if (right) shmem_quiet();
  if (me == 0) memmove(copies, x, sizeof x);
  sink = copies[3];
}
#define PRINTED(function, call)                              \
  static void function##_before_quiet(void) {                \
    if (me == 0) shmem_char_get_nbi(text, other_text, 8, 1); \
    if (right) shmem_quiet();                                \
    if (me == 0 && (call) < 0) abort();                      \
    shmem_quiet();                                           \
  }
PRINTED(puts, puts(text))
PRINTED(fputs, fputs(text, stdout))
PRINTED(fwrite, (long)fwrite(text, 1, 8, stdout))
PRINTED(write, write(1, text, 8))

static void struct_before_quiet(void) {
  if (me == 0) shmem_getmem_nbi(&halo, &other_halo, sizeof halo, 1);
  if (right) shmem_quiet();
  const struct halo copy = halo;
  sink = copy.cells[9];
}
static void own_dest_before_quiet(void) {
  long own[8];
  if (me == 0) shmem_long_get_nbi(own, y, 8, 1);
  if (right) shmem_quiet();
  if (me == 0) sink = own[3];
  shmem_quiet();
}
static void own_source_before_quiet(void) {
  long* own = calloc(8, sizeof *own);
  if (me == 0) shmem_long_put_nbi(x, own, 8, 1);
  if (right) shmem_quiet();
  if (me == 0) own[7] = 5;
  shmem_quiet();
  free(own);
}
static void fetch_before_quiet(void) {
  long own = 0;
  if (me == 0) shmem_long_atomic_fetch_inc_nbi(&own, y, 1);
  if (right) shmem_quiet();
  sink = own;
  shmem_quiet();
}
/* No mistake: memory that puts have read may be read, and what lies beside it may be written. */
static void beside_sources(void) {
  long own[8] = {0};
  for (int i = 1; i < 7; i += 2) shmem_long_put_nbi(x + i, own + i, 1, (me + 1) % n);
  for (int i = 0; i < 8; i += 2) own[i] = i;
  for (int i = 0; i < 8; ++i) sink += own[i];
  shmem_quiet();
  for (int i = 0; i < 8; ++i) own[i] = i;
}
static void store_and_put(void) {
  if (me == 1) x[2] = 7;
  barrier_if_right();
  if (me == 0) shmem_long_put(x, values, 8, 1);
}
static void load_and_put(void) {
  if (me == 0) shmem_long_put(heap, values, 8, 1);
  barrier_if_right();
  if (me == 1) sink = heap[5];
}
static void bytes_of_a_cell(void) {
  if (me == 1) ((char*)x)[2] = 7;
  if (me == 0) shmem_char_p((char*)x + 2 + right, 7, 1);
}
static void store_through_pointer(void) {
  if (me == 0) *(long*)shmem_ptr(x + 1, 1) = 7;
  barrier_if_right();
  if (me == 1) sink = shmem_long_g(x + 1, 1);
}
static void load_through_pointer(void) {
  if (me == 1) heap[1] = 7;
  barrier_if_right();
  if (me == 0) sink = *(long*)shmem_ptr(heap + 1, 1);
}
static void load_before_signal(void) {
  if (me == 0) shmem_long_put_signal(x, values, 8, &signal1, 1, SHMEM_SIGNAL_SET, 1);
  if (me != 1) return;
  if (!right) sink = x[0];
  shmem_signal_wait_until(&signal1, SHMEM_CMP_EQ, 1);
  if (right) sink = x[0];
}
static void source_of_reduction(void) {
  if (me == 0) *(long*)shmem_ptr(x + 4, 1) = 7;
  barrier_if_right();
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest, x, 8);
}
static void dest_of_reduction(void) {
  shmem_long_sum_reduce(SHMEM_TEAM_WORLD, dest, x, 8);
  if (right) shmem_sync_all();
  if (me == 0) *(long*)shmem_ptr(dest, 1) = 7;
}
static void atomic_flag_without_fence(void) {
  if (me == 0) {
    shmem_long_put(x, values, 8, 1);
    if (right) shmem_fence();
    shmem_long_p((long*)&flag_of_c, 1, 1);
  } else if (me == 1) {
    while (atomic_load_explicit(&flag_of_c, memory_order_acquire) == 0) {
    }
    sink = x[0];
  }
}
static void volatile_flag_without_fence(void) {
  if (me == 0) {
    shmem_long_put(x, values, 8, 1);
    if (right) shmem_fence();
    shmem_long_p((long*)&volatile_flag, 1, 1);
  } else if (me == 1) {
    while (volatile_flag == 0) {
    }
    sink = x[0];
  }
}
static void atomic_store_before_data(void) {
  if (me == 0) {
    long* theirs = shmem_ptr(x, 1);
    if (right) theirs[3] = 7;
    atomic_store((_Atomic long*)shmem_ptr(&flag_of_c, 1), 1);
    if (!right) theirs[3] = 7;
  } else if (me == 1) {
    shmem_long_wait_until((long*)&flag_of_c, SHMEM_CMP_EQ, 1);
    sink = x[3];
  }
}
static void lock_of_one(void) {
  _Atomic long* lock = shmem_ptr(&lock_of_c, 0);
  long* counter = shmem_ptr(heap, 0);
  const int locks = me == 0 || right;
  for (long free = 0; locks && !atomic_compare_exchange_weak(lock, &free, 1);) free = 0;
  if (me < 2) *counter = me;
  if (locks) atomic_store(lock, 0);
}
static void atomic_and_put(void) {
  if (me == 1) atomic_fetch_add(&flag_of_c, 1);
  barrier_if_right();
  if (me == 0) shmem_long_put((long*)&flag_of_c, values, 1, 1);
}
/* Memory is handed over by a plain store: accesses before are known, and those behind it have the
 * same number. In the mistake there are some in the last round, until the other PE has stored and
 * for a while. By then the check knows all places of the program. */
#define BARRIER_OF_COMPILER __asm__ volatile("" ::: "memory")
static void use(const long* at) { __asm__ volatile("" : : "r"(*at) : "memory"); }
static void compute(void) {
  for (int i = 0; i < 10000000; ++i) BARRIER_OF_COMPILER;
}
static void use_until(const long* at, long value) {
  const int is_wrong = !right && value == 3;
  for (int left = 1000; is_wrong && left > 0; left -= *at == value) BARRIER_OF_COMPILER;
  if (!is_wrong) compute();
}
static void load_after_handing_over(void) {
  long* theirs = shmem_ptr(&flag, 1);
  for (long round = 1; round <= 3; ++round) {
    if (me == 0) {
      for (int i = 0; i < 2; ++i) use(x);
      *theirs = round;
      use_until(x, round);
    } else if (me == 1) {
      shmem_long_wait_until(&flag, SHMEM_CMP_GE, round);
      shmem_long_p(x, round, 0);
    }
    shmem_barrier_all();
  }
}
static void store_after_handing_over(void) {
  long* theirs = shmem_ptr(&flag, 1);
  for (long round = 1; round <= 3; ++round) {
    if (me == 0) {
      for (long i = 0; i < 10000000; ++i) {
        if (i < 2 || (!right && round == 3)) *y = i;
        BARRIER_OF_COMPILER;
        if (i == 1) *theirs = round;
      }
    } else if (me == 1) {
      shmem_long_wait_until(&flag, SHMEM_CMP_GE, round);
      shmem_long_p(y, round, 0);
    }
    shmem_barrier_all();
  }
}
/* PE 1 hands memory of PE 0 over, and goes on to load it. */
static void load_of_others_after_handing_over(void) {
  long* theirs = shmem_ptr(&flag, 0);
  const long* data = shmem_ptr(heap, 0);
  for (long round = 1; round <= 3; ++round) {
    if (me == 1) {
      for (int i = 0; i < 2; ++i) use(data);
      *theirs = round;
      use_until(data, round);
    } else if (me == 0) {
      shmem_long_wait_until(&flag, SHMEM_CMP_GE, round);
      heap[1] = round;
      heap[0] = round;
    }
    shmem_barrier_all();
  }
}
/* PEs that use halves of 8 bytes, and in the mistake the same half. */
static void halves_of_a_cell(void) {
  int* halves = (int*)x;
  if (me == 0)
    for (int i = 0; i < 2; ++i) {
      halves[0] = i;
      BARRIER_OF_COMPILER;
    }
  if (me == 1) shmem_int_p(halves + right, 7, 0);
}
/* Behind the first access after a call the next ones are noted by the program itself. */
static void many_stores_and_put(void) {
  if (me == 1)
    for (long i = 0; i < 8; ++i) {
      heap[i] = i;
      BARRIER_OF_COMPILER;
    }
  barrier_if_right();
  if (me == 0) shmem_long_p(heap + 5, 1, 1);
}
static void many_loads_and_put(void) {
  barrier_if_right();
  if (me == 0) shmem_long_put(heap, values, 8, 1);
  barrier_if_right();
  if (me == 1)
    for (long i = 0; i < 8; ++i) use(heap + i);
}
/* No mistake: what PE 1 has put is used again and again, and then PE 1 puts it anew. */
static void use_what_was_put(void) {
  for (long round = 1; round <= 4; ++round) {
    if (me == 1) shmem_long_put(heap, values, 8, 0);
    shmem_barrier_all();
    if (me == 0)
      for (int i = 0; i < 32; ++i) {
        if (heap[i % 8] != values[i % 8] + i / 8) abort();
        heap[i % 8] = values[i % 8] + i / 8 + 1;
      }
    shmem_barrier_all();
  }
}
/* No mistakes: PE 0 hands what it has stored over by a plain store, and goes on in the same phase.
 * PE 1 reads some of it, and writes parts of the rest. */
static void read_after_handing_over(void) {
  long* theirs = shmem_ptr(&flag, 1);
  const long* data = shmem_ptr(y, 0);
  for (long round = 1; round <= 3; ++round) {
    if (me == 0) {
      for (long i = 0; i < 8; ++i) {
        y[i] = round;
        BARRIER_OF_COMPILER;
      }
      *theirs = round;
      compute();
    } else if (me == 1) {
      shmem_long_wait_until(&flag, SHMEM_CMP_GE, round);
      if (shmem_long_g(&y[2], 0) != round) abort();
      use(&data[3]);
      if (shmem_long_atomic_fetch(&y[4], 0) != round) abort();
      shmem_long_get(copies, y, 8, 0);
    }
    shmem_barrier_all();
  }
}
static void write_part_after_handing_over(void) {
  long* theirs = shmem_ptr(&flag, 1);
  for (long round = 1; round <= 3; ++round) {
    if (me == 0) {
      for (int i = 0; i < 16; ++i) {
        ((int*)y)[i] = i;
        BARRIER_OF_COMPILER;
      }
      *theirs = round;
      compute();
    } else if (me == 1) {
      shmem_long_wait_until(&flag, SHMEM_CMP_GE, round);
      shmem_char_p((char*)y + 21, 1, 0);
      shmem_char_put((char*)y + 25, (const char*)values, 18, 0);
    }
    shmem_barrier_all();
  }
}
/* No mistake: PEs whose atomics meet. */
static void atomics_alone(void) {
  _Atomic long* counter = shmem_ptr(&flag_of_c, 0);
  atomic_fetch_add(counter, 1);
  (void)atomic_load(counter);
  (void)shmem_long_atomic_fetch_add((long*)&flag_of_c, 1, 0);
  shmem_long_wait_until((long*)&lock_of_c, SHMEM_CMP_EQ, 0);
}

/* No mistake: the atomics of all widths do what they should. */
__extension__ typedef unsigned __int128 wide;
static void expect(int is_right, const char* what) {
  if (is_right) return;
  fprintf(stderr, "wrong: %s\n", what);
  abort();
}
#define ATOMICS(type)                                                                         \
  static void atomics_of_##type(void) {                                                       \
    static type at;                                                                           \
    const type big = (type)((type)0x81 << (8 * sizeof at - 8)), zero = 0;                     \
    type other = 5;                                                                           \
    __atomic_store_n(&at, big, __ATOMIC_RELEASE);                                             \
    expect(__atomic_load_n(&at, __ATOMIC_ACQUIRE) == big, "load " #type);                     \
    expect(__atomic_exchange_n(&at, 7, __ATOMIC_RELAXED) == big, "exchange " #type);          \
    expect(!__atomic_compare_exchange_n(&at, &other, 9, 0, 5, 5) && other == 7, "no " #type); \
    expect(__atomic_compare_exchange_n(&at, &other, big, 0, 5, 5), "compare " #type);         \
    expect(__atomic_fetch_add(&at, big, 5) == big, "add " #type);                             \
    expect(__atomic_fetch_sub(&at, 1, 5) == (type)(big + big), "sub " #type);                 \
    expect(__atomic_fetch_or(&at, 12, 5) == (type)(big + big - 1), "or " #type);              \
    __atomic_store_n(&at, 12, __ATOMIC_SEQ_CST);                                              \
    expect(__atomic_fetch_and(&at, 10, 5) == 12, "and " #type);                               \
    expect(__atomic_fetch_xor(&at, 3, 5) == 8, "xor " #type);                                 \
    expect(__atomic_fetch_nand(&at, 3, 5) == 11, "nand " #type);                              \
    expect(at == (type) ~(zero + 3), "nand's result " #type);                                 \
  }
ATOMICS(uint8_t)
ATOMICS(uint16_t)
ATOMICS(uint32_t)
ATOMICS(uint64_t)
#if !defined __clang__ || defined __GCC_HAVE_SYNC_COMPARE_AND_SWAP_16 /* else by a library */
ATOMICS(wide)
#else
static void atomics_of_wide(void) {}
#endif
static void results_of_atomics(void) {
  atomics_of_uint8_t();
  atomics_of_uint16_t();
  atomics_of_uint32_t();
  atomics_of_uint64_t();
  atomics_of_wide();
}
/* No mistake: in rounds, each PE's flag says which of its neighbour's data are there. */
static void rounds(void) {
  const int next = (me + 1) % n, before = (me + n - 1) % n;
  for (long round = 1; round <= 20; ++round) {
    for (int i = 0; i < 8; ++i) y[i] = round * 100 + me;
    shmem_long_put_signal(x, y, 8, &signal1, (uint64_t)round, SHMEM_SIGNAL_SET, next);
    shmem_signal_wait_until(&signal1, SHMEM_CMP_GE, (uint64_t)round);
    for (int i = 0; i < 8; ++i) sink += x[i];
    if (x[7] != round * 100 + before) abort();
    shmem_long_atomic_set(&flag, round, before);
    shmem_long_wait_until(&flag, SHMEM_CMP_GE, round);
  }
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
static void print_cost(const char* what, double begin, double accesses) {
  if (me == 0) printf("%s: %.1f ns\n", what, (seconds() - begin) / accesses * 1e9);
}
static void cost(void) {
  enum { kLongs = 1 << 17, kRounds = 10 };
  long* symmetric = shmem_calloc(kLongs, sizeof *symmetric);
  long* own = calloc(kLongs, sizeof *own);
  for (int i = 0; i < 2; ++i) {
    long* from = i ? symmetric : own;
    for (int round = 0; round < 2; ++round) {
      shmem_barrier_all();
      const double begin = seconds();
      long sum = 0;
      for (long j = 0; j < kLongs; ++j) sum += from[j];
      sink = sum;
      print_cost(i ? "loads of symmetric memory" : "loads of own memory", begin, kLongs);
    }
    shmem_barrier_all();
    const double begin = seconds();
    for (int round = 0; round < kRounds; ++round)
      for (long j = 0; j < 1000; ++j) from[j] = round;
    print_cost(i ? "the same stores again, symmetric" : "the same stores again, own", begin,
               kRounds * 1000);
  }
  free(own);
}

static const struct {
  const char* name;
  void (*run)(void);
} cases[] = {
#define CASE(name) {#name, name},
    CASE(load_before_quiet) CASE(store_before_quiet) CASE(copy_before_quiet) CASE(puts_before_quiet)
        CASE(fputs_before_quiet) CASE(fwrite_before_quiet) CASE(write_before_quiet)
            CASE(struct_before_quiet) CASE(own_dest_before_quiet) CASE(own_source_before_quiet)
                CASE(fetch_before_quiet) CASE(beside_sources) CASE(store_and_put) CASE(load_and_put)
                    CASE(bytes_of_a_cell) CASE(store_through_pointer) CASE(load_through_pointer)
                        CASE(load_before_signal) CASE(source_of_reduction) CASE(dest_of_reduction)
                            CASE(atomic_flag_without_fence) CASE(volatile_flag_without_fence) CASE(
                                atomic_store_before_data) CASE(lock_of_one) CASE(atomic_and_put)
                                CASE(load_after_handing_over) CASE(store_after_handing_over)
                                    CASE(load_of_others_after_handing_over) CASE(halves_of_a_cell)
                                        CASE(many_stores_and_put) CASE(many_loads_and_put)
                                            CASE(use_what_was_put) CASE(read_after_handing_over)
                                                CASE(write_part_after_handing_over)
                                                    CASE(atomics_alone) CASE(results_of_atomics)
                                                        CASE(rounds) CASE(cost)
#undef CASE
};

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  right = argc > 2 && strcmp(argv[2], "right") == 0;
  shmem_init();
  me = shmem_my_pe();
  n = shmem_n_pes();
  heap = shmem_calloc(8, sizeof *heap);
  shmem_barrier_all();
  int found = 0;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    if (strcmp(cases[i].name, argv[1]) != 0 && strcmp("all", argv[1]) != 0) continue;
    if (strcmp("all", argv[1]) == 0 && cases[i].run == cost) continue;
    found = 1;
    cases[i].run();
    shmem_barrier_all();
    flag = volatile_flag = 0;
    flag_of_c = 0;
    signal1 = 0;
    shmem_barrier_all();
  }
  shmem_finalize();
  return found ? 0 : 2;
}
