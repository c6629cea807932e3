// SPDX-License-Identifier: Apache-2.0
//
// Memory and cores that this process may use, with the limits of cgroups v2 and v1.
// Invariant: a group's limit holds for all groups below it, so the strictest one from the process's
// own group up to the root counts. In a container the path of its own group may not be visible.
// Then the walk finds files only further up, at the latest at the root. Called by start-up and by
// the launcher's programs.
#include "base/machine/machine.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <limits>
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

// The number after `name`, in lines of a name and a number each.
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

}  // namespace

// Uses stdio: a stream of the C++ library throws if a file opens but cannot be read.
std::optional<std::string> read_whole_file(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (!file) return std::nullopt;
  std::string text;
  char part[4096];
  for (std::size_t got; (got = std::fread(part, 1, sizeof part, file)) > 0;) text.append(part, got);
  const int error = std::ferror(file) != 0 ? errno : 0;
  std::fclose(file);
  errno = error;
  return error != 0 ? std::nullopt : std::optional(text);
}

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
        if (kills.empty()) look_into(directory + name);  // only the nearest group
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

std::size_t raise_descriptor_limit(std::size_t needed) {
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
  // The kernel refuses a set that is smaller than its own, whose size it does not tell.
  for (std::size_t sets = 1; sets <= 1024; sets *= 2) {
    std::vector<cpu_set_t> allowed(sets);
    const std::size_t bytes = sets * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, allowed.data()) != 0) continue;
    std::vector<int> cpus;
    for (std::size_t cpu = 0; cpu < sets * CPU_SETSIZE; ++cpu)
      if (CPU_ISSET_S(cpu, bytes, allowed.data())) cpus.push_back(static_cast<int>(cpu));
    return cpus;
  }
  return {0};
}

void go_to_core(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(static_cast<std::size_t>(core), &cores);
  go_to_one_of(cores);
}

void go_to_one_of(const cpu_set_t& cores) {
  cpu_set_t allowed, wanted;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < 2) return;
  CPU_AND(&wanted, &allowed, &cores);
  const int choices = CPU_COUNT(&wanted);
  if (choices == 0 || sched_setaffinity(0, sizeof wanted, &wanted) != 0) return;
  // The thread may run on any of them now. Nap so that the scheduler places it on an idle core,
  // preferably one whose sibling is idle too.
  const timespec nap{0, 1000};
  if (choices > 1) nanosleep(&nap, nullptr);
  if (sched_setaffinity(0, sizeof allowed, &allowed) != 0)
    debug("cannot let a thread use the cores again that it could use: {}", errno_text());
}

std::string ranges_text(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t first = 0, last = 0; first < numbers.size(); first = ++last) {
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", numbers[first]);
    if (last != first) text += fmt::format("-{}", numbers[last]);
  }
  return text;
}

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = "";
  gethostname(name, HOST_NAME_MAX);
  return name;
}

std::string boot_id() {
  std::string id = read_whole_file("/proc/sys/kernel/random/boot_id").value_or("");
  return id.substr(0, id.find('\n'));
}

std::uint64_t hash_of(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return hash;
}

double cpu_quota() { return cgroup_cpu_quota(read_whole_file); }

}  // namespace meshmem
