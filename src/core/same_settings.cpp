// SPDX-License-Identifier: Apache-2.0
//
// The PEs' settings side by side, in the directory of the arena.
// Invariant: all compare each entry with the first one, so all find the same PE that differs; that
// one prints the line and ends the job, and the others wait for the end.
#include "core/same_settings.hpp"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <functional>

#include "base/error.hpp"
#include "base/machine.hpp"
#include "base/memory_checker.hpp"
#include "base/shared_file.hpp"
#include "bootstrap/job.hpp"
#include "gpu/device_target.hpp"
#include "memory/allocator.hpp"

namespace meshmem {
namespace {

constexpr std::size_t kHeapOfGpus = std::size_t{256} << 20;
constexpr std::size_t kHeapUnderValgrind = std::size_t{64} << 20;

std::uint64_t hash_of_plans(const Environment& environment) {
  const std::string text =
      fmt::format("{} {} {} {} {} {}", name_of(environment.reduce_algorithm),
                  environment.reduce_ring_min_bytes.value_or(SIZE_MAX), environment.deterministic,
                  environment.reduce_blocks.value_or(UINT_MAX), environment.device_first_epoch,
                  environment.check);
  return std::hash<std::string>()(text);
}

// The line without "; give all PEs the same" says what differs between one PE and PE 0 of the node.
void end_by_the_other(bool is_me, const std::string& difference) {
  if (is_me) print_line(difference + "; give all PEs the same");
  if (is_me) abort_job(1, "error");
  pause();  // the one that differs ends the job
}

void require_same_heap(const DirectoryEntry& entry, const DirectoryEntry& first, bool is_me) {
  const std::size_t wanted = entry.layout.heap_bytes;
  if (wanted == first.layout.heap_bytes) return;
  end_by_the_other(
      is_me, fmt::format("SHMEM_SYMMETRIC_SIZE makes the heap {} bytes here but {} bytes in PE {}",
                         wanted, first.layout.heap_bytes, first.pe));
}

void require_same_plans(const DirectoryEntry& entry, const DirectoryEntry& first, bool is_me) {
  if (entry.tuning != first.tuning)
    end_by_the_other(
        is_me, fmt::format("MESHMEM_TUNING names another table here than in PE {}", first.pe));
  if (entry.plans != first.plans)
    end_by_the_other(is_me,
                     fmt::format("MESHMEM_REDUCE_ALGORITHM, MESHMEM_REDUCE_RING_MIN_BYTES, "
                                 "MESHMEM_REDUCE_BLOCKS, MESHMEM_DETERMINISTIC, MESHMEM_CHECK or "
                                 "MESHMEM_DEVICE_FIRST_EPOCH is another here than in PE {}",
                                 first.pe));
}

}  // namespace

std::size_t heap_bytes(const Environment& environment, int n_pes) {
  if (environment.symmetric_size > 0) return round_up(environment.symmetric_size, kMinAlignment);
  // Kernels reach the host heaps of a GPU target if the driver pins them, so they are small there.
  if (!kDevicesAreProcessors) return kHeapOfGpus;
  // Half of the machine, in equal shares. Address space only, so there is no need to be modest.
  std::size_t share = machine_memory_bytes() / 2 / static_cast<std::size_t>(n_pes);
  // Valgrind looks for lost memory in all that a process maps, which takes the pages it looks at.
  if (memory_checker() == MemoryChecker::valgrind) share = std::min(share, kHeapUnderValgrind);
  return std::max(share / kRegionAlignment, std::size_t{1}) * kRegionAlignment;
}

void tell_settings(DirectoryEntry& mine, const Environment& environment,
                   const std::string& tuning) {
  if (environment.symmetric_size > 0) mine.layout.heap_bytes = heap_bytes(environment, 1);
  mine.tuning = tuning.empty() ? 0 : std::hash<std::string>()(tuning);
  mine.plans = hash_of_plans(environment);
  mine.is_checked = memory_checker() != MemoryChecker::none;
}

void require_same_settings(const DirectoryEntry* directory, int n_pes, int me) {
  for (int i = 0; i < n_pes; ++i) require_same_heap(directory[i], directory[0], i == me);
  for (int i = 0; i < n_pes; ++i) require_same_plans(directory[i], directory[0], i == me);
}

bool run_one_program(const DirectoryEntry* directory, int n_pes) {
  return std::all_of(directory, directory + n_pes, [&](const DirectoryEntry& entry) {
    return entry.program == directory[0].program;
  });
}

bool is_any_checked(const DirectoryEntry* directory, int n_pes) {
  return std::any_of(directory, directory + n_pes,
                     [](const DirectoryEntry& entry) { return entry.is_checked; });
}

}  // namespace meshmem
