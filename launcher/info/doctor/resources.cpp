// SPDX-License-Identifier: Apache-2.0
//
// Checks what this process may use: files, address space, memory and cores; and its variables. PEs
// share memory files without a name; /dev/shm and semaphores are not used, and not looked at.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "base/error.hpp"
#include "base/machine/machine.hpp"
#include "base/machine/start_obstacles.hpp"
#include "base/settings/environment.hpp"
#include "info/doctor/checks.hpp"

extern char** environ;

namespace meshmem::doctor {
namespace {

// The bytes that a job of one PE takes besides its heap: in a shared file (docs/limits.md), and of
// address space. The latter also has the program, its libraries and the cpu target's device memory.
constexpr std::uint64_t kFileBytes = std::uint64_t{624} << 20;
constexpr std::uint64_t kAddressSpaceBytes = std::uint64_t{1100} << 20;

// The heap of a job of one PE: SHMEM_SYMMETRIC_SIZE or its default.
std::uint64_t heap_bytes(const Machine& machine) {
  Environment environment;
  (void)parse_environment(environment, machine.variable);  // a bad value is a check of its own
  if (environment.symmetric_size != 0) return environment.symmetric_size;
  if (machine.target() != "cpu") return std::uint64_t{256} << 20;
  return machine.memory_info("MemTotal") / 2;
}

Check check_space(const Machine& machine, const char* name, const char* limit_name,
                  std::uint64_t bytes_besides_heap, const char* option) {
  const auto limit = machine.limit(limit_name);
  if (!limit) return ok(name, "no limit");
  const std::uint64_t needed = bytes_besides_heap + heap_bytes(machine);
  const std::string says = fmt::format("{} MiB", *limit >> 20);
  const std::string fix =
      fmt::format("ulimit {} unlimited, or set SHMEM_SYMMETRIC_SIZE to less", option);
  if (*limit < needed)
    return bad(name, fmt::format("{}, and a job of one PE takes {}", says, needed >> 20), fix);
  return warn(name,
              fmt::format("{}, enough for one PE ({}) but not for any number", says, needed >> 20),
              fix);
}

// oshrun and PEs raise the limit to the most that the system grants.
Check check_files(const Machine& machine) {
  constexpr std::uint64_t kForOneJob = 35, kForManyPes = 1024;  // the first: oshrun/children.cpp
  const auto most = machine.limit("Max open files", true);
  if (!most) return ok("open files", "no limit");
  if (*most < kForOneJob)
    return bad("open files", fmt::format("at most {}", *most), "ulimit -Hn 4096 (as root)");
  if (*most < kForManyPes)
    return warn("open files", fmt::format("at most {}; oshrun takes 3 for each PE", *most),
                "ulimit -Hn 4096 (as root)");
  return ok("open files", fmt::format("at most {}", *most));
}

// PMIx and launchers keep files of a session there.
Check check_temporary(const Machine& machine) {
  const char* set = machine.variable("TMPDIR");
  const std::string folder = set ? set : "/tmp", place = machine.at(folder);
  constexpr std::size_t kRoom = 1 << 20;
  std::optional<std::string> why = why_no_room(place, kRoom, "TMPDIR");
  if (::access(place.c_str(), W_OK | X_OK) != 0)
    why = fmt::format("'{}' (TMPDIR): {}", folder, errno_text(errno));
  if (!why) return ok("temporary files", folder);
  return bad("temporary files", *why, "export TMPDIR=FOLDER with one of your own that has room");
}

Check check_variables(const Machine& machine) {
  Environment environment;
  if (const auto error = parse_environment(environment, machine.variable))
    return bad("variables", *error, "meshmem-info --environment lists the values that each takes");
  const auto unknown =
      machine.is_this_one() ? unknown_variables(environ) : std::vector<std::string>();
  if (!unknown.empty())
    return warn("variables", fmt::format("meshmem has no variable {}", unknown.front()),
                fmt::format("unset {}", unknown.front()));
  return ok("variables", "all values are valid");
}

std::string gib(std::uint64_t bytes) {
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1 << 30));
}

Check check_memory(const Machine& machine) {
  constexpr std::uint64_t kLittle = std::uint64_t{512} << 20;
  const std::uint64_t all = machine.memory_info("MemTotal"),
                      free = machine.memory_info("MemAvailable");
  const auto group =
      cgroup_memory_limit([&machine](const std::string& path) { return machine.read(path); });
  const bool is_limited = group && *group < all;
  const std::string says =
      fmt::format("{}, {} available{}", gib(all), gib(free),
                  is_limited ? ", of which the control group grants " + gib(*group) : "");
  if (all == 0) return ok("memory", "the system does not report it");
  if (is_limited && *group < kLittle)
    return warn("memory", says, "raise the container's limit (docker run --memory=, memory.max)");
  if (free < kLittle)
    return warn("memory", says, "end other programs, or set SHMEM_SYMMETRIC_SIZE");
  return ok("memory", says);
}

// The library asks for huge pages by madvise, which the setting "advise" grants, as more do.
Check check_huge_pages(const Machine& machine) {
  const std::string file = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";
  const std::string text = machine.line(file).value_or("");
  const std::size_t open = text.find('['), end = text.find(']');
  if (open == std::string::npos || end == std::string::npos)
    return ok("huge pages", "this kernel has no huge pages for shared memory");
  const std::string chosen = text.substr(open + 1, end - open - 1);
  if (chosen == "never" || chosen == "deny")
    return warn("huge pages",
                fmt::format("{} for shared memory, so heaps have small pages", chosen),
                fmt::format("echo advise > {} (as root)", file));
  return ok("huge pages", fmt::format("{} for shared memory", chosen));
}

Check check_memory_files(const Machine& machine) {
  const int error = machine.memory_file_error();
  if (error == 0) return ok("shared memory", "memory files without a name (memfd) can be made");
  return bad("shared memory", fmt::format("no memory file can be made: {}", errno_text(error)),
             "let the container's seccomp profile allow memfd_create and fcntl(F_ADD_SEALS), or "
             "raise ulimit -f");
}

// "0-3,8" are five.
int count_of(const std::string& ranges) {
  int count = 0;
  std::istringstream parts(ranges);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t dash = part.find('-');
    const int first = std::atoi(part.c_str());
    count += 1 + (dash == std::string::npos ? 0 : std::atoi(part.c_str() + dash + 1) - first);
  }
  return count;
}

Check check_cores(const Machine& machine) {
  const std::string allowed = machine.field("/proc/self/status", "Cpus_allowed_list:").value_or("");
  const int cores = count_of(allowed);
  const double quota =
      cgroup_cpu_quota([&machine](const std::string& path) { return machine.read(path); });
  if (cores == 0) return ok("cores", "the system does not report it");
  const std::string says = fmt::format("{} ({})", cores, allowed);
  if (quota < cores)
    return warn("cores",
                fmt::format("{}, but the control group grants the time of {:.2f}: PEs that take "
                            "more are stopped for a while",
                            says, quota),
                fmt::format("start at most {} PEs here, or raise the container's limit (docker run "
                            "--cpus=, cpu.max)",
                            std::max(1, static_cast<int>(quota))));
  return ok("cores", says);
}

// Clocks in kCheap are read without a system call.
Check check_clock(const Machine& machine) {
  constexpr std::array<std::string_view, 4> kCheap{"tsc", "kvm-clock", "arch_sys_counter",
                                                   "hyperv_clocksource_tsc_page"};
  const auto clock =
      machine.line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  if (!clock) return ok("clock", "the system does not report it");
  for (const std::string_view cheap : kCheap)
    if (*clock == cheap) return ok("clock", *clock);
  return warn("clock",
              fmt::format("{}: each look at the clock is a system call, which makes waits "
                          "and traces slow",
                          *clock),
              "boot with clocksource=tsc tsc=reliable if the processor's counter is sound");
}

}  // namespace

Checks check_resources(const Machine& machine) {
  return {check_space(machine, "address space", "Max address space", kAddressSpaceBytes, "-v"),
          check_space(machine, "file size", "Max file size", kFileBytes, "-f"),
          check_files(machine),
          check_temporary(machine),
          check_variables(machine),
          check_memory(machine),
          check_huge_pages(machine),
          check_memory_files(machine),
          check_cores(machine),
          check_clock(machine)};
}

}  // namespace meshmem::doctor
