// SPDX-License-Identifier: Apache-2.0
//
// Says what this process may use of the machine: memory and cores, containers' limits (cgroups)
// included. Invariant: an unreadable or absent limit is no limit; nothing here fails. Called by
// start-up (default heap size, how to wait) and by the launcher's programs.
#ifndef MESHMEM_BASE_MACHINE_MACHINE_HPP_
#define MESHMEM_BASE_MACHINE_MACHINE_HPP_

#include <sched.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace meshmem {

// The smaller of the physical memory and the cgroup's limit.
std::size_t machine_memory_bytes();

// The name of this machine; empty: not known.
std::string host_name();

// The number that the kernel has drawn at its start; empty: not known.
std::string boot_id();

// The same in every build: FNV-1a.
std::uint64_t hash_of(std::string_view bytes);

// Cores that the scheduler may put this process on, ascending.
std::vector<int> allowed_cpus();

// "0-3,8" of ascending numbers.
std::string ranges_text(const std::vector<int>& numbers);

// Moves the calling thread to this core, if it may use it. It is not bound to it: the scheduler may
// move it on. Does nothing on machines with more cores than a cpu_set_t holds.
void go_to_core(int core);

// The same for several cores, of which the scheduler takes one that is idle, if one is.
void go_to_one_of(const cpu_set_t& cores);

// Raises how many descriptors this process may open to what the system grants at most, if `needed`
// more than a program's usual ones would be too many. Returns how many it may open.
std::size_t allow_descriptors(std::size_t needed);

// How many cores' worth of time the cgroup grants, such as 1.5; infinity if it sets no limit.
double cpu_quota();

// The text of a file, or nullopt and errno. A parameter below, so that the tests need no cgroups.
std::optional<std::string> read_whole_file(const std::string& path);
using ReadFile = std::function<std::optional<std::string>(const std::string& path)>;
std::optional<std::size_t> cgroup_memory_limit(const ReadFile& read_file);
double cgroup_cpu_quota(const ReadFile& read_file);

// How many processes the kernel's out-of-memory killer has killed, and which file says so.
struct OomKills {
  std::string file;
  std::uint64_t count;
};
// In this process's cgroup, and then on the whole machine, as far as these tell.
std::vector<OomKills> count_oom_kills();
std::vector<OomKills> count_oom_kills(const ReadFile& read_file);
// "oom_kill in <file> rose from 0 to 1" for the first count that has risen.
std::optional<std::string> describe_rise(const std::vector<OomKills>& before,
                                         const std::vector<OomKills>& now);

}  // namespace meshmem

#endif  // MESHMEM_BASE_MACHINE_MACHINE_HPP_
