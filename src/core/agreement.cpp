// SPDX-License-Identifier: Apache-2.0
//
// Makes the name of the build. Compares the settings of a node's PEs, which are in the directory of
// the arena, and then the settings of the nodes.
// Invariant: all compare each entry with the first one, so all find the same PE that differs. That
// one prints the line and ends the job, and the others wait for the end.
#include "core/agreement.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <utility>

#include "base/error.hpp"
#include "base/hooks/memory_checker.hpp"
#include "base/machine/machine.hpp"
#include "base/machine/shared_file.hpp"
#include "bootstrap/job.hpp"
#include "core/active_sets.hpp"
#include "core/team_area.hpp"
#include "device/state.hpp"
#include "gpu/device_target.hpp"
#include "memory/allocator.hpp"
#include "memory/arena.hpp"
#include "transport/network/format.hpp"
#include "transport/wire_library.hpp"

namespace meshmem {

extern const char kSources[];  // cmake/source_hash.cmake writes it

namespace {

// FNV-1a.
constexpr std::uint64_t hash_of(std::initializer_list<std::size_t> numbers) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::size_t number : numbers) hash = (hash ^ number) * 0x100000001b3;
  return hash;
}

// Tells builds of the same sources apart whose target, options or compiler lay structures out
// differently.
constexpr std::uint64_t kLayout = hash_of(
    {sizeof(ArenaHeader), offsetof(ArenaHeader, loss), sizeof(DirectoryEntry),
     offsetof(DirectoryEntry, settings), offsetof(DirectoryEntry, device), sizeof(WireAddress),
     sizeof(JobStatus), sizeof(PeStatus), sizeof(TeamArea), kTeamAreas, kStageBytes,
     sizeof(ActiveSetList), sizeof(Settings), sizeof(network::Record), sizeof(network::Head),
     sizeof(device::SyncLayout), sizeof(device::State), sizeof(device::ProxyCommand)});

// The file that this code is in: libmeshmem.so, or a program that has it inside.
std::string own_file() {
  Dl_info about{};
  return dladdr(reinterpret_cast<const void*>(&build_name), &about) != 0 ? about.dli_fname : "?";
}

constexpr std::size_t kHeapOfGpus = std::size_t{256} << 20;
constexpr std::size_t kHeapUnderValgrind = std::size_t{64} << 20;

constexpr off_t kMostBytesOfTable = 1 << 20;

// Returns what is wrong with the file, or an empty text. Called before the file is opened, since
// open would wait for the writer of a pipe.
std::string fault_of_file(const std::string& path) {
  struct stat about {};
  if (stat(path.c_str(), &about) != 0) return errno_text();
  if (S_ISDIR(about.st_mode)) return "a folder";
  if (!S_ISREG(about.st_mode)) return "not a regular file";
  if (about.st_size == 0) return "empty";
  return about.st_size > kMostBytesOfTable ? "more than 1 MiB" : "";
}

// The variables of Settings::shared, in the order of their values.
constexpr std::array kSharedNames = {"MESHMEM_REDUCE_ALGORITHM",
                                     "MESHMEM_REDUCE_RING_MIN_BYTES",
                                     "MESHMEM_COPY_MIN_BYTES",
                                     "MESHMEM_CPU_WIDE_KERNELS",
                                     "MESHMEM_DETERMINISTIC",
                                     "MESHMEM_REDUCE_BLOCKS",
                                     "MESHMEM_CHECK",
                                     "MESHMEM_DEVICE_FIRST_EPOCH"};

std::array<std::uint64_t, kSharedNames.size()> shared_values_of(const Environment& environment) {
  return {std::hash<std::string>()(name_of(environment.reduce_algorithm)),
          environment.reduce_ring_min_bytes.value_or(SIZE_MAX),
          environment.copy_min_bytes.value_or(SIZE_MAX),
          environment.cpu_wide_kernels,
          environment.deterministic,
          environment.reduce_blocks.value_or(UINT_MAX),
          static_cast<std::uint64_t>(environment.check),
          environment.device_first_epoch};
}

// Ends the job: the PE that differs (`is_me`) prints the line, the others wait. `difference`: the
// line without "; give all PEs the same".
void end_by_different_pe(bool is_me, const std::string& difference) {
  if (is_me) print_line(difference + "; give all PEs the same");
  if (is_me) abort_job(1, "error");
  for (;;) pause();  // the one that differs ends the job
}

}  // namespace

const std::string& build_name() {
  static const std::string name = fmt::format("{}-{:08x}", kSources, kLayout >> 32);
  return name;
}

bool is_build_name(std::string_view text) {
  return text.find('-') != std::string_view::npos && text.size() <= kMostBuildBytes &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '.' || c == '-';
         });
}

std::string other_build_line(int pe, std::string_view theirs) {
  return fmt::format(
      "this PE runs build {} of meshmem ({}) and PE {} runs {}; start the same on all PEs: `ldd "
      "PROGRAM` and LD_LIBRARY_PATH say which library a PE takes",
      build_name(), own_file(), pe,
      is_build_name(theirs) ? fmt::format("build {}", theirs) : "another version");
}

std::optional<std::string> read_tuning_file(const std::string& path, std::string& text) {
  std::string fault = fault_of_file(path);
  if (fault.empty()) {
    auto read = read_whole_file(path);
    if (read && !read->empty()) {
      text = *std::move(read);
      return std::nullopt;
    }
    fault = read ? "empty" : errno_text();
  }
  return fmt::format(
      "MESHMEM_TUNING={}: no table can be read there ({}); give the path of a file that "
      "meshmem-bench --tune has written, or unset the variable",
      path, fault);
}

std::optional<std::string> difference_of(const Settings& settings, const Settings& first,
                                         const std::string& where) {
  const bool heap_matters = settings.heap_size_is_set != 0 || first.heap_size_is_set != 0;
  if (heap_matters && settings.heap_bytes != first.heap_bytes)
    return fmt::format("SHMEM_SYMMETRIC_SIZE makes the heap {} bytes here but {} bytes in {}",
                       settings.heap_bytes, first.heap_bytes, where);
  if (settings.tuning != first.tuning)
    return fmt::format("MESHMEM_TUNING names another table here than in {}", where);
  for (std::size_t i = 0; i < kSharedNames.size(); ++i)
    if (settings.shared[i] != first.shared[i])
      return fmt::format("{} has another value here than in {}", kSharedNames[i], where);
  if (settings.wire != first.wire)
    return fmt::format("MESHMEM_NETWORK is {} here but {} in {}",
                       name_of(static_cast<WireKind>(settings.wire)),
                       name_of(static_cast<WireKind>(first.wire)), where);
  return std::nullopt;
}

std::size_t heap_bytes(const Environment& environment, int n_pes) {
  if (environment.symmetric_size > 0) return round_up(environment.symmetric_size, kMinAlignment);
  // The driver of a GPU pins the host heaps so that kernels reach them, so there they are small.
  if (!kDevicesAreProcessors) return kHeapOfGpus;
  // Half of the machine's memory, in equal shares. A heap may be this large, since it takes only
  // address space until it is used.
  std::size_t share = machine_memory_bytes() / 2 / static_cast<std::size_t>(n_pes);
  // When Valgrind looks for leaks it reads all mapped memory, and each page that it reads takes
  // memory.
  if (memory_checker() == MemoryChecker::valgrind) share = std::min(share, kHeapUnderValgrind);
  return std::max(share / kRegionAlignment, std::size_t{1}) * kRegionAlignment;
}

void tell_settings(DirectoryEntry& mine, const ArenaLayout& layout, const Environment& environment,
                   const std::string& tuning) {
  const bool asks = environment.symmetric_size > 0;
  mine.settings = {.heap_bytes = asks ? heap_bytes(environment, 1) : layout.heap_bytes,
                   .heap_size_is_set = asks ? 1u : 0u,
                   .tuning = tuning.empty() ? 0 : std::hash<std::string>()(tuning),
                   .shared = shared_values_of(environment)};
  mine.is_checked = memory_checker() != MemoryChecker::none;
}

void require_same_settings(const DirectoryEntry* directory, int n_pes, int me) {
  const std::string where = fmt::format("PE {}", directory[0].pe);
  for (int i = 0; i < n_pes; ++i) {
    const auto difference = difference_of(directory[i].settings, directory[0].settings, where);
    if (difference) end_by_different_pe(i == me, *difference);
  }
}

void require_same_settings(const Settings& of_node, const Settings& first, const std::string& where,
                           bool is_me) {
  if (const auto difference = difference_of(of_node, first, where))
    end_by_different_pe(is_me, *difference);
}

}  // namespace meshmem
