// SPDX-License-Identifier: Apache-2.0
//
// Says what this process may use of the machine: memory and cores, with the limits of containers
// (cgroups).
// Invariant: an unreadable or absent limit is no limit; nothing here fails. Called by start-up
// (default heap size, how to wait) and by the launcher's programs.
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

// The random text that the kernel chose when it booted; empty: not known.
std::string boot_id();

// A hash that is the same in every build: FNV-1a.
std::uint64_t hash_of(std::string_view bytes);

// Cores that the scheduler may put this process on, ascending.
std::vector<int> allowed_cpus();

// "0-3,8" of ascending numbers.
std::string ranges_text(const std::vector<int>& numbers);

// Moves the calling thread to this core, if it may use that core. The thread is not bound: the
// scheduler may move it on. Does nothing on machines with more cores than a cpu_set_t holds.
void go_to_core(int core);

// The same for several cores: the scheduler picks one, an idle one if there is one.
void go_to_one_of(const cpu_set_t& cores);

// Raises the limit of this process's open descriptors to the most that the system grants, if it
// leaves no room for `needed` more than a program's usual 256. Returns the limit.
std::size_t raise_descriptor_limit(std::size_t needed);

// How many cores' worth of time the cgroup grants, such as 1.5; infinity if it sets no limit.
double cpu_quota();

// The text of a file, or nullopt and errno. Below it is a parameter, so that tests need no cgroups.
std::optional<std::string> read_whole_file(const std::string& path);
using ReadFile = std::function<std::optional<std::string>(const std::string& path)>;
std::optional<std::size_t> cgroup_memory_limit(const ReadFile& read_file);
double cgroup_cpu_quota(const ReadFile& read_file);

// How many processes the kernel's out-of-memory killer has killed, and which file says so.
struct OomKills {
  std::string file;
  std::uint64_t count;
};
// In this process's cgroup, and then on the whole machine, as far as the kernel tells.
std::vector<OomKills> count_oom_kills();
std::vector<OomKills> count_oom_kills(const ReadFile& read_file);
// "oom_kill in <file> rose from 0 to 1" for the first count that has risen.
std::optional<std::string> describe_rise(const std::vector<OomKills>& before,
                                         const std::vector<OomKills>& now);

}  // namespace meshmem

#endif  // MESHMEM_BASE_MACHINE_MACHINE_HPP_
