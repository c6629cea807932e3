// SPDX-License-Identifier: Apache-2.0
//
// Memory and cores that this process may use, with the limits of cgroups v2 and v1.
// Invariant: a group's limit holds for all groups below it, so the strictest on the way from the
// process's own group up to the root counts. In a container the own group's path may not be
// visible; the walk then starts to find files where they are, at the latest at the root. Called by
// start-up and by the launcher's programs.
#include "base/machine.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <set>
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

// The number behind `name` in lines of a name and a number each.
std::optional<std::uint64_t> find_count(std::string_view lines, std::string_view name) {
  while (!lines.empty()) {
    std::string_view line = take_token(lines, "\n");
    if (take_token(line, " ") == name) return parse_limit(line);
  }
  return std::nullopt;
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

// By stdio: a stream of the C++ library throws where a file opens and cannot be read.
std::optional<std::string> read_whole_file(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (!file) return std::nullopt;
  std::string text;
  char part[4096];
  for (std::size_t got; (got = std::fread(part, 1, sizeof part, file)) > 0;) text.append(part, got);
  const bool failed = std::ferror(file);
  std::fclose(file);
  return failed ? std::nullopt : std::optional(text);
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

// Gives the calling thread the cores back that it had before. Since Linux 6.2 the kernel remembers
// the set that was asked for, but read_affinity() sees only those cores of it that are allowed and
// online now. A thread that asked for just these would get no more when its cpuset grows. So this
// asks for all cores if that gives the same set.
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

std::vector<OomKills> count_oom_kills(const ReadFile& read_file) {
  std::vector<OomKills> kills;
  const auto look_into = [&](const std::string& file) {
    if (const auto count = find_count(read_file(file).value_or(""), "oom_kill"))
      kills.push_back({file, *count});
  };
  for (const auto& [controller, mount] : kMemoryMounts) {
    walk_up(read_file, controller, mount, [&](const std::string& directory) {
      for (const char* name : {"memory.events", "memory.oom_control"}) {
        if (kills.empty()) look_into(directory + name);  // the nearest group alone
      }
    });
  }
  look_into("/proc/vmstat");
  return kills;
}

std::vector<OomKills> count_oom_kills() { return count_oom_kills(read_whole_file); }

std::optional<std::string> describe_rise(const std::vector<OomKills>& before,
                                         const std::vector<OomKills>& now) {
  for (const OomKills& then : before) {
    for (const auto& [file, count] : now) {
      if (file == then.file && count > then.count)
        return fmt::format("oom_kill in {} rose from {} to {}", file, then.count, count);
    }
  }
  return std::nullopt;
}

std::size_t machine_memory_bytes() {
  const auto pages = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES));
  const std::size_t physical = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return std::min(physical, cgroup_memory_limit(read_whole_file).value_or(physical));
}

std::size_t allow_descriptors(std::size_t needed) {
  constexpr std::size_t kUsual = 256;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  if (limit.rlim_cur < needed + kUsual && limit.rlim_cur < limit.rlim_max) {
    const rlimit raised{limit.rlim_max, limit.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  return limit.rlim_cur;
}

std::vector<int> allowed_cpus() {
  const std::optional<CpuSet> allowed = read_affinity();
  return allowed ? members_of(*allowed) : std::vector<int>{0};
}

void go_to_core(int core) { go_to_one_of({core}); }

void go_to_one_of(const std::vector<int>& cores) {
  const std::optional<CpuSet> allowed = read_affinity();
  if (!allowed || members_of(*allowed).size() < 2) return;
  const CpuSet wanted = make_cpu_set(allowed->count);
  if (!wanted.set) return;
  for (const int core : cores) {
    const auto number = static_cast<std::size_t>(core);
    if (CPU_ISSET_S(number, allowed->bytes, allowed->set.get()))
      CPU_SET_S(number, wanted.bytes, wanted.set.get());
  }
  const int choices = CPU_COUNT_S(wanted.bytes, wanted.set.get());
  if (choices == 0 || sched_setaffinity(0, wanted.bytes, wanted.set.get()) != 0) return;
  // Now it is on any of them. Nap so that the scheduler places this thread on an idle core,
  // preferably one whose sibling is idle too.
  const timespec nap{0, 1000};
  if (choices > 1) nanosleep(&nap, nullptr);
  restore_affinity(*allowed);
}

namespace {

// A PE that shares its core, and where it may go.
struct Mover {
  std::size_t pe;
  std::vector<int> free;
};

bool has_fewer(const Mover& a, const Mover& b) { return a.free.size() < b.free.size(); }

// Of the PEs on each core all but the one with the fewest free cores to go to.
std::vector<Mover> movers_of(const std::vector<RunningPe>& pes) {
  cpu_set_t taken;
  CPU_ZERO(&taken);
  for (const RunningPe& pe : pes)
    if (pe.core >= 0) CPU_SET(static_cast<std::size_t>(pe.core), &taken);
  std::map<int, std::vector<Mover>> by_core;
  for (std::size_t i = 0; i < pes.size(); ++i) {
    if (pes[i].core < 0) continue;
    Mover& mover = by_core[pes[i].core].emplace_back(Mover{i, {}});
    for (std::size_t core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, pes[i].allowed) && !CPU_ISSET(core, &taken))
        mover.free.push_back(static_cast<int>(core));
  }
  std::vector<Mover> movers;
  for (auto& [core, sharers] : by_core) {
    std::stable_sort(sharers.begin(), sharers.end(), has_fewer);
    movers.insert(movers.end(), sharers.begin() + 1, sharers.end());
  }
  std::stable_sort(movers.begin(), movers.end(), has_fewer);
  return movers;
}

}  // namespace

// Each takes one, then one more, as long as there are: who has few to choose from comes first.
std::vector<std::vector<int>> part_pes(const std::vector<RunningPe>& pes) {
  std::vector<std::vector<int>> given(pes.size());
  std::vector<Mover> movers = movers_of(pes);
  std::set<int> gone;
  for (bool is_any_left = true; is_any_left;) {
    is_any_left = false;
    for (Mover& mover : movers) {
      std::erase_if(mover.free, [&](int core) { return gone.contains(core); });
      if (mover.free.empty()) continue;
      is_any_left = true;
      given[mover.pe].push_back(mover.free.front());
      gone.insert(mover.free.front());
    }
  }
  return given;
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

  // A PE that has few to choose from chooses first: the others can go where room is left.
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

cpu_set_t part_of_cores(const cpu_set_t& cores, int index, int n) {
  const int n_cores = CPU_COUNT(&cores);
  const bool is_enough = n <= n_cores;
  const int begin = is_enough ? index * n_cores / n : index % std::max(n_cores, 1);
  const int end = is_enough ? (index + 1) * n_cores / n : begin + 1;
  cpu_set_t part;
  CPU_ZERO(&part);
  int passed = 0;
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &cores)) continue;
    if (passed >= begin && passed < end) CPU_SET(core, &part);
    ++passed;
  }
  return part;
}

double cpu_quota() { return cgroup_cpu_quota(read_whole_file); }

}  // namespace meshmem
