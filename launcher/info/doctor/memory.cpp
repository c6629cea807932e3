// SPDX-License-Identifier: Apache-2.0
//
// Checks memory: how much there is, with which pages, and whether PEs can share it. They use a
// memory file without a name; /dev/shm and semaphores are not used, and not looked at.
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/machine/machine.hpp"
#include "info/doctor/checks.hpp"

namespace meshmem::doctor {
namespace {

std::string gib(std::uint64_t bytes) {
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1 << 30));
}

Check check_amount(const Machine& machine) {
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

// The library asks for huge pages by madvise, which "advise" and more grant.
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

}  // namespace

Checks check_memory(const Machine& machine) {
  return {check_amount(machine), check_huge_pages(machine), check_memory_files(machine)};
}

}  // namespace meshmem::doctor
