// SPDX-License-Identifier: Apache-2.0
//
// A profiling tool: a library that stands between a program and meshmem. It counts the program's
// calls of each routine and the bytes that they name, and prints one table for all PEs at the end.
// The program need not be compiled anew. Run it:
//   oshc++ -shared -fPIC 08_count_calls.cpp -o libcount_calls.so
//   oshrun -n 4 -x LD_PRELOAD=$PWD/libcount_calls.so ./prog

// Every routine shmem_x has a twin pshmem_x (pshmem.h). The loader finds the shmem_ functions here
// first; each counts, and calls its twin. They are made from the tables that shmem.h is made from,
// so none is forgotten. In the program shmem_pcontrol(0) stops the counting and shmem_pcontrol(1)
// goes on with it.
// Invariant: a call of the program is counted once. The tool itself calls the twins, and meshmem
// calls no shmem_ name.

#include <pshmem.h>
#include <shmemx.h>

#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <type_traits>

namespace {

// ---------------------------------------------------------------- 1. A number for each routine

enum Routine {
#define NUMBER(name, op, E, result, params, args) k_##name,
#define NUMBER_CTX(name, op, E, result, params, args) k_##name, k_ctx_##name,
  MESHMEM_ALL_ROUTINES(NUMBER_CTX, NUMBER)
#undef NUMBER
#undef NUMBER_CTX
      kRoutines
};

constexpr const char* kNames[] = {
#define NAME(name, op, E, result, params, args) "shmem_" #name,
#define NAME_CTX(name, op, E, result, params, args) "shmem_" #name, "shmem_ctx_" #name,
    MESHMEM_ALL_ROUTINES(NAME_CTX, NAME)
#undef NAME
#undef NAME_CTX
};

// ---------------------------------------------------------------- 2. Counting

struct Count {
  std::atomic<uint64_t> calls{0};
  std::atomic<uint64_t> bytes{0};
};
Count counts[kRoutines];
std::atomic<bool> counting{true};
std::atomic<int> users{0};  // initializations without their finalize

void print_table();

template <Routine routine>
void note_call(size_t bytes, int level) {
  if constexpr (routine == k_pcontrol) counting = level > 0;  // meant for the tool, and not counted
  if (routine != k_pcontrol && counting.load(std::memory_order_relaxed)) {
    counts[routine].calls.fetch_add(1, std::memory_order_relaxed);
    counts[routine].bytes.fetch_add(bytes, std::memory_order_relaxed);
  }
  if constexpr (routine == k_init || routine == k_init_thread) ++users;
  if constexpr (routine == k_finalize) {
    if (--users == 0) print_table();
  }
}

// ---------------------------------------------------------------- 3. The table, at the end

// The sum over all PEs is made in the symmetric heap: variables of a preloaded library are not
// symmetric.
void print_table() {
  auto* sums = static_cast<uint64_t*>(
      pshmem_malloc_with_hints(2 * kRoutines * sizeof(uint64_t), SHMEMX_MALLOC_HOST));
  if (!sums) {
    if (pshmem_my_pe() == 0) std::fprintf(stderr, "count_calls: the symmetric heap is full\n");
    return;
  }
  for (size_t i = 0; i < kRoutines; ++i) {
    sums[2 * i] = counts[i].calls;
    sums[2 * i + 1] = counts[i].bytes;
  }
  pshmem_team_sync(SHMEM_TEAM_WORLD);
  pshmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, sums, sums, 2 * kRoutines);
  if (pshmem_my_pe() == 0) {
    std::fprintf(stderr, "%16s %16s  routine (%d PEs)\n", "calls", "bytes", pshmem_n_pes());
    for (size_t i = 0; i < kRoutines; ++i) {
      if (sums[2 * i] == 0) continue;
      std::fprintf(stderr, "%16" PRIu64 " %16" PRIu64 "  %s\n", sums[2 * i], sums[2 * i + 1],
                   kNames[i]);
    }
  }
  pshmem_free(sums);
}

// ---------------------------------------------------------------- 4. How many bytes a call names

// The tables have the same names for the same parameters. A wrapper below reads these names: each
// is its own parameter if it has one of that name, and otherwise the constant here.
struct Nobody {};
[[maybe_unused]] constexpr Nobody pe, team, PE_size;
[[maybe_unused]] constexpr size_t nelems = 1, nreduce = 1, bsize = 1, nblocks = 1;
[[maybe_unused]] constexpr int level = 1;

template <typename E>
constexpr size_t kElementBytes = sizeof(E);
template <>
constexpr size_t kElementBytes<void> = 0;  // a routine without elements

// Elements move between PEs if a PE or a team is named.
template <typename... Types>
constexpr bool kNamesSomebody = !(std::is_same_v<Types, const Nobody> && ...);

}  // namespace

// ---------------------------------------------------------------- 5. A wrapper for each routine

#define WRAP(name, op, E, result, params, args)                                                    \
  extern "C" result shmem_##name params {                                                          \
    constexpr bool moves = kNamesSomebody<decltype(pe), decltype(team), decltype(PE_size)>;        \
    note_call<k_##name>(moves ? nelems * nreduce * bsize * nblocks * kElementBytes<E> : 0, level); \
    return pshmem_##name args;                                                                     \
  }
#define WRAP_CTX(name, op, E, result, params, args) \
  WRAP(name, op, E, result, params, args)           \
  WRAP(ctx_##name, op, E, result, MESHMEM_WITH_CTX params, MESHMEM_PASS_CTX args)
MESHMEM_ALL_ROUTINES(WRAP_CTX, WRAP)
