// SPDX-License-Identifier: Apache-2.0
//
// Calls that take a slower way than the one that their routine is made for. With SHMEM_DEBUG=1 each
// process prints each kind once, and a trace counts them.
// Invariant: only code that is on the slow way already calls note_slow_way(), so fast paths pay
// nothing. Called by every layer; the counts are read by the library of traces.
#ifndef MESHMEM_BASE_STATUS_SLOW_WAYS_HPP_
#define MESHMEM_BASE_STATUS_SLOW_WAYS_HPP_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

namespace meshmem {

// X(kind, what happens, what helps)
#define MESHMEM_SLOW_WAYS(X)                                                                       \
  X(memory_without_kernels,                                                                        \
    "kernels do not reach both buffers on all PEs, so the host sends the data in messages",        \
    "allocate both in the device heap and not as static data, set "                                \
    "MESHMEM_REGISTER_HOST_HEAP=1 if one is in the host heap, and use devices that reach each "    \
    "other (see meshmem-info)")                                                                    \
  X(type_without_kernels,                                                                          \
    "kernels have no reduction of this type, so the host reduces device memory",                   \
    "use another type than long double or complex, or keep the buffers in the host heap")          \
  X(set_broadcast_by_messages,                                                                     \
    "a broadcast of an active set must not write the root's dest, which a kernel would, so the "   \
    "host sends the data in messages",                                                             \
    "broadcast in a team (shmem_broadcastmem)")                                                    \
  X(collective_through_host,                                                                       \
    "a buffer is in device memory, which other machines reach through pinned memory of the host",  \
    "make fewer and larger calls, or keep data that no kernel uses in the host heap")              \
  X(transfer_through_host,                                                                         \
    "an end of the data is in device memory, which other machines reach through pinned memory of " \
    "the host",                                                                                    \
    "make fewer and larger calls, or keep data that no kernel uses in the host heap")              \
  X(store_by_kernel,                                                                               \
    "the processor cannot store into the device's memory, so a kernel stores this value",          \
    "put several values in one call, put from a kernel, or on an AMD GPU turn on Resizable BAR "   \
    "(meshmem-info --doctor says how)")                                                            \
  X(block_by_block,                                                                                \
    "kernels do not reach the other PE's device, so each block is copied on its own",              \
    "pack the blocks and move them in one call, or use devices that reach each other "             \
    "(meshmem-info shows which do)")                                                               \
  X(looks_by_copies,                                                                               \
    "the variable is in device memory, so the host copies it each time it looks, and a wait "      \
    "looks many times",                                                                            \
    "wait for a variable in the host heap (SHMEMX_MALLOC_HOST), on a stream or in a kernel")       \
  X(signal_behind_copy,                                                                            \
    "kernels do not reach an end of the data, so a copy and then a kernel for the signal go on "   \
    "the stream, where one kernel could do both",                                                  \
    "keep both ends in the device heap, or set MESHMEM_REGISTER_HOST_HEAP=1")                      \
  X(one_block,                                                                                     \
    "older teams have all places for many blocks, so this team's kernels use one block",           \
    "destroy teams that you no longer use before you split this one off")                          \
  X(gathered_in_pe_order,                                                                          \
    "the order is fixed (MESHMEM_DETERMINISTIC=1, shmemx_team_fix_reduce_order), so machines "     \
    "send the data of each PE instead of one sum",                                                 \
    "leave the order free, since over the same machines results are the same in every run anyway") \
  X(algorithm_in_pe_order,                                                                         \
    "the order is fixed (MESHMEM_DETERMINISTIC=1, shmemx_team_fix_reduce_order), so an algorithm " \
    "that follows it takes the place of the fastest one",                                          \
    "leave the order free, since with the same PEs results are the same in every run anyway")      \
  X(machines_in_turn,                                                                              \
    "PEs of one machine do not follow each other in this team, so every PE gathers all data "      \
    "before it combines them",                                                                     \
    "start neighbouring PEs on one machine, as launchers do by default (without --map-by node)")   \
  X(forced_algorithm,                                                                              \
    "the algorithm that MESHMEM_REDUCE_ALGORITHM names cannot do this reduction, so the library "  \
    "uses another",                                                                                \
    "unset it, or see docs/collectives.md for what each algorithm can do")

enum class SlowWay : unsigned {
#define MESHMEM_SLOW_WAY_NAME(kind, what, help) kind,
  MESHMEM_SLOW_WAYS(MESHMEM_SLOW_WAY_NAME)
#undef MESHMEM_SLOW_WAY_NAME
};

struct SlowWayText {
  std::string_view name, what, help;
};
inline constexpr SlowWayText kSlowWays[] = {
#define MESHMEM_SLOW_WAY_TEXT(kind, what, help) {#kind, what, help},
    MESHMEM_SLOW_WAYS(MESHMEM_SLOW_WAY_TEXT)
#undef MESHMEM_SLOW_WAY_TEXT
};

// How many calls have taken each, since the process began.
using SlowWayCounts = std::array<std::atomic<std::uint64_t>, std::size(kSlowWays)>;
extern constinit SlowWayCounts slow_way_counts;

// `routine`: the API's name, or that of the environment variable whose value cannot be followed.
[[gnu::cold, gnu::noinline]] void note_slow_way(SlowWay kind, const char* routine);

}  // namespace meshmem

#endif  // MESHMEM_BASE_STATUS_SLOW_WAYS_HPP_
