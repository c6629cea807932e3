// SPDX-License-Identifier: Apache-2.0
//
// Checks the limits of this process, and its variables.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "base/machine/start_obstacles.hpp"
#include "base/settings/environment.hpp"
#include "info/doctor/checks.hpp"

extern char** environ;

namespace meshmem::doctor {
namespace {

// The memory that a job of one PE takes beside its heap: of a shared file (docs/limits.md), and of
// address space, where the program, its libraries and the device memory of the cpu target count
// too.
constexpr std::uint64_t kInTheFile = std::uint64_t{624} << 20;
constexpr std::uint64_t kInTheSpace = std::uint64_t{1100} << 20;

// The heaps of all PEs of the machine are as large as that together by default, else one PE's is.
std::uint64_t heap_bytes(const Machine& machine) {
  Environment environment;
  (void)parse_environment(environment, machine.variable);  // a bad value is a check of its own
  if (environment.symmetric_size != 0) return environment.symmetric_size;
  if (machine.target() != "cpu") return std::uint64_t{256} << 20;
  return machine.memory_info("MemTotal") / 2;
}

Check check_space(const Machine& machine, const char* name, const char* limit_name,
                  std::uint64_t beside_the_heap, const char* option) {
  const auto limit = machine.limit(limit_name);
  if (!limit) return ok(name, "no limit");
  const std::uint64_t needed = beside_the_heap + heap_bytes(machine);
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
  constexpr std::uint64_t kForOneJob = 35, kForManyPes = 1024;  // oshrun counts the first
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
  const std::string folder = set ? set : "/tmp";
  const std::string place = machine.at(folder);
  constexpr std::size_t kRoom = 1 << 20;
  if (!machine.exists(folder))
    return bad("temporary files", fmt::format("'{}' (TMPDIR) is not there", folder),
               fmt::format("mkdir -p '{}', or unset TMPDIR", folder));
  if (::access(place.c_str(), W_OK | X_OK) != 0)
    return bad("temporary files", fmt::format("'{}' (TMPDIR) cannot be written", folder),
               "export TMPDIR=FOLDER with one of your own");
  if (const auto lack = find_lack_of_room(place, kRoom, "TMPDIR"))
    return bad("temporary files", *lack, "export TMPDIR=FOLDER with one that has room");
  return ok("temporary files", folder);
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

}  // namespace

Checks check_limits(const Machine& machine) {
  return {check_space(machine, "address space", "Max address space", kInTheSpace, "-v"),
          check_space(machine, "file size", "Max file size", kInTheFile, "-f"),
          check_files(machine), check_temporary(machine), check_variables(machine)};
}

}  // namespace meshmem::doctor
