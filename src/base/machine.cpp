// SPDX-License-Identifier: Apache-2.0
//
// Memory and cores that this process may use, with the limits of cgroups v2 and v1.
// Invariant: a group's limit holds for all groups below it, so the strictest on the way from the
// process's own group up to the root counts. In a container the own group's path may not be
// visible; the walk then starts to find files where they are, at the latest at the root. Called by
// start-up and by the launcher's programs.
#include "base/machine.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <string_view>
#include <system_error>

#include "base/error.hpp"

namespace meshmem {
namespace {

constexpr double kNoQuota = std::numeric_limits<double>::infinity();

// The first token of `text`, which is taken off it.
std::string_view take_token(std::string_view& text, std::string_view separators) {
  const std::size_t end = std::min(text.find_first_of(separators), text.size());
  const std::string_view token = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return token;
}

// nullopt for "max" and -1, which both mean no limit.
std::optional<std::uint64_t> parse_limit(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} ? std::optional(value) : std::nullopt;
}

// The process's group in the hierarchy of `controller`, from lines "number:controllers:path" of
// /proc/self/cgroup; version 2 is the line without controllers. "" where there is no such line.
std::string group_path(std::string_view lines, std::string_view controller) {
  while (!lines.empty()) {
    std::string_view line = take_token(lines, "\n");
    take_token(line, ":");
    std::string_view controllers = take_token(line, ":");
    bool found = controllers.empty() && controller.empty();
    while (!controllers.empty()) found |= take_token(controllers, ",") == controller;
    // A process outside of the root of its cgroup namespace is shown with "/..": nothing to walk.
    if (found) return std::string(line.find("/..") == std::string_view::npos ? line : "/");
  }
  return "";
}

// Calls visit(directory) for the group of the process below `mount`, and for all groups above it.
template <typename Visit>
void walk_up(const ReadFile& read_file, std::string_view controller, std::string_view mount,
             Visit visit) {
  std::string path = group_path(read_file("/proc/self/cgroup").value_or(""), controller);
  if (path.empty()) return;
  while (true) {
    while (!path.empty() && path.back() == '/') path.pop_back();
    visit(std::string(mount) + path + "/");
    if (path.empty()) return;
    path.resize(path.find_last_of('/') + 1);
  }
}

struct Mount {
  std::string_view controller;
  std::string_view directory;
};
constexpr Mount kMemoryMounts[] = {
    {"", "/sys/fs/cgroup"}, {"", "/sys/fs/cgroup/unified"}, {"memory", "/sys/fs/cgroup/memory"}};
constexpr Mount kCpuMounts[] = {
    {"", "/sys/fs/cgroup"}, {"", "/sys/fs/cgroup/unified"}, {"cpu", "/sys/fs/cgroup/cpu"}};

double ratio(std::optional<std::uint64_t> quota, std::optional<std::uint64_t> period) {
  if (!quota || !period || *period == 0) return kNoQuota;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

double group_quota(const ReadFile& read_file, const std::string& directory) {
  if (const auto text = read_file(directory + "cpu.max")) {
    std::string_view rest = *text;
    const auto quota = parse_limit(take_token(rest, " \n"));
    return ratio(quota, parse_limit(take_token(rest, " \n")));
  }
  return ratio(parse_limit(read_file(directory + "cpu.cfs_quota_us").value_or("")),
               parse_limit(read_file(directory + "cpu.cfs_period_us").value_or("")));
}

std::optional<std::string> read_whole_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

struct CpuSet {
  std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set;
  std::size_t bytes;
  int count;  // of cores that it has room for
};

CpuSet make_cpu_set(int count) {
  CpuSet made{{CPU_ALLOC(count), [](cpu_set_t* allocated) { CPU_FREE(allocated); }},
              CPU_ALLOC_SIZE(count),
              count};
  if (made.set) CPU_ZERO_S(made.bytes, made.set.get());
  return made;
}

// The cores that the calling thread may use.
std::optional<CpuSet> read_affinity() {
  // The kernel refuses a set that is smaller than its own, whose size it does not tell.
  for (int count = CPU_SETSIZE; count <= 1 << 20; count *= 2) {
    CpuSet found = make_cpu_set(count);
    if (found.set && sched_getaffinity(0, found.bytes, found.set.get()) == 0) return found;
  }
  return std::nullopt;
}

std::vector<int> members_of(const CpuSet& cpus) {
  std::vector<int> members;
  for (int cpu = 0; cpu < cpus.count; ++cpu) {
    if (CPU_ISSET_S(static_cast<std::size_t>(cpu), cpus.bytes, cpus.set.get()))
      members.push_back(cpu);
  }
  return members;
}

// Gives the calling thread back the set that it had. Since Linux 6.2 the kernel keeps the set that
// was asked for, and what read_affinity sees is only the part of it that is allowed and online now:
// asking for just that part would hold the thread back when its cpuset grows. So all cores are asked
// for where that comes to the same.
void restore_affinity(const CpuSet& before) {
  const CpuSet all = make_cpu_set(before.count);
  if (all.set) {
    std::memset(all.set.get(), 0xff, all.bytes);
    if (sched_setaffinity(0, all.bytes, all.set.get()) == 0) {
      const std::optional<CpuSet> now = read_affinity();
      if (now && now->bytes == before.bytes &&
          CPU_EQUAL_S(now->bytes, now->set.get(), before.set.get()))
        return;
    }
  }
  if (sched_setaffinity(0, before.bytes, before.set.get()) != 0)
    debug("cannot let a thread use the cores again that it could use: {}", errno_text());
}

}  // namespace

std::optional<std::size_t> cgroup_memory_limit(const ReadFile& read_file) {
  std::optional<std::size_t> strictest;
  for (const auto& [controller, mount] : kMemoryMounts) {
    walk_up(read_file, controller, mount, [&](const std::string& directory) {
      for (const char* name : {"memory.max", "memory.limit_in_bytes"}) {
        const auto limit = parse_limit(read_file(directory + name).value_or(""));
        if (limit) strictest = std::min<std::size_t>(*limit, strictest.value_or(*limit));
      }
    });
  }
  return strictest;
}

double cgroup_cpu_quota(const ReadFile& read_file) {
  double strictest = kNoQuota;
  for (const auto& [controller, mount] : kCpuMounts) {
    walk_up(read_file, controller, mount, [&](const std::string& directory) {
      strictest = std::min(strictest, group_quota(read_file, directory));
    });
  }
  return strictest;
}

std::size_t machine_memory_bytes() {
  const auto pages = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES));
  const std::size_t physical = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return std::min(physical, cgroup_memory_limit(read_whole_file).value_or(physical));
}

std::vector<int> allowed_cpus() {
  const std::optional<CpuSet> allowed = read_affinity();
  return allowed ? members_of(*allowed) : std::vector<int>{0};
}

void go_to_core(int core) {
  const std::optional<CpuSet> allowed = read_affinity();
  if (!allowed) return;
  const std::vector<int> cpus = members_of(*allowed);
  if (cpus.size() < 2 || !std::binary_search(cpus.begin(), cpus.end(), core)) return;
  const CpuSet one = make_cpu_set(allowed->count);
  if (!one.set) return;
  CPU_SET_S(static_cast<std::size_t>(core), one.bytes, one.set.get());
  if (sched_setaffinity(0, one.bytes, one.set.get()) == 0) restore_affinity(*allowed);
}

std::vector<int> deal_cores(const std::vector<const cpu_set_t*>& allowed) {
  struct Core {
    std::size_t number;
    int pes = 0;
  };
  std::vector<Core> cores;
  cpu_set_t all;
  CPU_ZERO(&all);
  for (const cpu_set_t* cpus : allowed) CPU_OR(&all, &all, cpus);
  for (std::size_t number = 0; number < CPU_SETSIZE; ++number)
    if (CPU_ISSET(number, &all)) cores.push_back({number});

  // Who has few to choose from chooses first: the others can go where room is left.
  std::vector<std::size_t> order(allowed.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<int> choices(allowed.size());
  std::transform(allowed.begin(), allowed.end(), choices.begin(),
                 [](const cpu_set_t* cpus) { return CPU_COUNT(cpus); });
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return choices[a] < choices[b]; });

  std::vector<int> dealt(allowed.size(), -1);
  for (const std::size_t pe : order) {
    Core* best = nullptr;
    for (Core& core : cores)
      if (CPU_ISSET(core.number, allowed[pe]) && (!best || core.pes < best->pes)) best = &core;
    if (!best) continue;
    ++best->pes;
    dealt[pe] = static_cast<int>(best->number);
  }
  return dealt;
}

double cpu_quota() { return cgroup_cpu_quota(read_whole_file); }

}  // namespace meshmem
