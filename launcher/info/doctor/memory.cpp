// SPDX-License-Identifier: Apache-2.0
//
// Checks memory: how much there is, with which pages, and how PEs hand each other theirs. They use
// a memory file without a name, through /proc/<pid>/fd or a socket (base/machine/file_handover).
// /dev/shm and semaphores are not used, and not looked at.
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

// Heaps are shared files, whose pages count when they are touched; all else of a PE counts at once.
Check check_overcommit(const Machine& machine) {
  constexpr std::uint64_t kOfAPe = std::uint64_t{256} << 20;
  if (machine.line("/proc/sys/vm/overcommit_memory").value_or("0") != "2")
    return ok("overcommit", "address space is granted before there is memory for it");
  const std::uint64_t most = machine.memory_info("CommitLimit"),
                      now = machine.memory_info("Committed_AS");
  const std::uint64_t left = most > now ? most - now : 0;
  const std::string says =
      fmt::format("vm.overcommit_memory is 2, and {} are left to grant", gib(left));
  if (left < kOfAPe) return warn("overcommit", says, "sysctl vm.overcommit_memory=0");
  return ok("overcommit", says);
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

Check check_handover(const Machine& machine) {
  const bool has_proc = machine.exists("/proc/self/fd");
  const bool in_container = machine.exists("/.dockerenv") || machine.exists("/run/.containerenv");
  if (!has_proc)
    return warn("PEs' memory", "there is no /proc, so PEs hand each other memory by sockets alone",
                "mount -t proc proc /proc");
  if (!in_container) return ok("PEs' memory", "handed over through /proc/<pid>/fd");
  return ok("PEs' memory",
            "handed over through /proc/<pid>/fd within this container; PEs of "
            "several containers of a machine need --pid=host or one TMPDIR");
}

}  // namespace

Checks check_memory(const Machine& machine) {
  return {check_amount(machine), check_overcommit(machine), check_huge_pages(machine),
          check_memory_files(machine), check_handover(machine)};
}

}  // namespace meshmem::doctor
