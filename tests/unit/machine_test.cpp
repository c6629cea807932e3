// SPDX-License-Identifier: Apache-2.0
//
// The limits of cgroups, read from samples of the kernel's files; that this machine gives
// answers, and how cores are dealt to PEs.
#include "base/machine/machine.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <thread>

#include "child.hpp"

namespace meshmem {
namespace {

ReadFile files(std::map<std::string, std::string> contents) {
  return [contents](const std::string& path) -> std::optional<std::string> {
    const auto found = contents.find(path);
    return found == contents.end() ? std::nullopt : std::optional(found->second);
  };
}

constexpr char kSelf[] = "/proc/self/cgroup";

TEST(Machine, TakesTheStrictestMemoryLimitOnTheWayUp) {
  const auto read = files({{kSelf, "0::/user.slice/job.scope\n"},
                           {"/sys/fs/cgroup/user.slice/job.scope/memory.max", "max\n"},
                           {"/sys/fs/cgroup/user.slice/memory.max", "8589934592\n"},
                           {"/sys/fs/cgroup/memory.max", "17179869184\n"},
                           {"/sys/fs/cgroup/other/memory.max", "1\n"}});
  EXPECT_EQ(cgroup_memory_limit(read), 8589934592u);
}

TEST(Machine, FindsTheLimitAtTheRootOfAContainer) {
  const auto hidden_path =
      files({{kSelf, "0::/docker/0123\n"}, {"/sys/fs/cgroup/memory.max", "64\n"}});
  EXPECT_EQ(cgroup_memory_limit(hidden_path), 64u);
  const auto root = files({{kSelf, "0::/\n"}, {"/sys/fs/cgroup/memory.max", "65\n"}});
  EXPECT_EQ(cgroup_memory_limit(root), 65u);
  const auto outside = files({{kSelf, "0::/../../x\n"}, {"/sys/fs/cgroup/memory.max", "66\n"}});
  EXPECT_EQ(cgroup_memory_limit(outside), 66u);
}

TEST(Machine, ReadsVersionOneLimits) {
  const auto read = files(
      {{kSelf,
        "12:memory:/batch/7\n5:cpu,cpuacct:/batch/7\n1:name=systemd:/init.scope\n0::/batch\n"},
       {"/sys/fs/cgroup/memory/batch/7/memory.limit_in_bytes", "9223372036854771712\n"},
       {"/sys/fs/cgroup/memory/batch/memory.limit_in_bytes", "1073741824\n"},
       {"/sys/fs/cgroup/cpu/batch/7/cpu.cfs_quota_us", "150000\n"},
       {"/sys/fs/cgroup/cpu/batch/7/cpu.cfs_period_us", "100000\n"},
       {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"},
       {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}});
  EXPECT_EQ(cgroup_memory_limit(read), 1073741824u);
  EXPECT_EQ(cgroup_cpu_quota(read), 1.5);
}

TEST(Machine, ReadsVersionTwoCpuQuotas) {
  const auto read = files({{kSelf, "0::/a/b\n"},
                           {"/sys/fs/cgroup/a/b/cpu.max", "max 100000\n"},
                           {"/sys/fs/cgroup/a/cpu.max", "250000 100000\n"}});
  EXPECT_EQ(cgroup_cpu_quota(read), 2.5);
}

TEST(Machine, TakesNonsenseAndNothingForNoLimit) {
  EXPECT_EQ(cgroup_memory_limit(files({})), std::nullopt);
  EXPECT_TRUE(std::isinf(cgroup_cpu_quota(files({}))));
  for (const char* self : {"", "\n", ":", "::", "0:", "0::", "0::/", "no colons\n0::\n"}) {
    const auto read = files(
        {{kSelf, self}, {"/sys/fs/cgroup/memory.max", "lots"}, {"/sys/fs/cgroup/cpu.max", "5 0"}});
    EXPECT_EQ(cgroup_memory_limit(read), std::nullopt) << self;
    EXPECT_TRUE(std::isinf(cgroup_cpu_quota(read))) << self;
  }
}

constexpr char kVmstat[] = "nr_free_pages 77\noom_kill 3\nunevictable_pgs_culled 0\n";

TEST(Machine, CountsOomKillsOfTheNearestGroupAndOfAll) {
  const auto second = files({{kSelf, "0::/a/b\n"},
                             {"/sys/fs/cgroup/a/b/memory.events", "low 0\noom 2\noom_kill 1\n"},
                             {"/sys/fs/cgroup/a/memory.events", "oom_kill 9\n"},
                             {"/proc/vmstat", kVmstat}});
  const auto of_second = count_oom_kills(second);
  ASSERT_EQ(of_second.size(), 2u);
  EXPECT_EQ(of_second[0].file, "/sys/fs/cgroup/a/b/memory.events");
  EXPECT_EQ(of_second[0].count, 1u);
  EXPECT_EQ(of_second[1].count, 3u);
  const auto first = files({{kSelf, "4:memory:/a\n0::/\n"},
                            {"/sys/fs/cgroup/memory/a/memory.oom_control",
                             "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n"}});
  const auto of_first = count_oom_kills(first);
  ASSERT_EQ(of_first.size(), 1u);
  EXPECT_EQ(of_first[0].count, 5u);
  EXPECT_TRUE(count_oom_kills(files({})).empty());
  EXPECT_TRUE(count_oom_kills(files({{kSelf, "0::/a\n"}, {"/proc/vmstat", "oom_kill x"}})).empty());
}

TEST(Machine, TellsWhichCountOfOomKillsRose) {
  const std::vector<OomKills> before = {{"group", 1}, {"machine", 3}};
  EXPECT_EQ(describe_rise(before, before), std::nullopt);
  EXPECT_EQ(describe_rise(before, {{"group", 2}, {"machine", 4}}),
            "oom_kill in group rose from 1 to 2");
  EXPECT_EQ(describe_rise(before, {{"group", 1}, {"machine", 4}}),
            "oom_kill in machine rose from 3 to 4");
  EXPECT_EQ(describe_rise({}, {{"group", 2}}), std::nullopt);
}

TEST(Machine, HasMemoryCoresAndAQuota) {
  EXPECT_GT(machine_memory_bytes(), std::size_t{16} << 20);
  EXPECT_FALSE(allowed_cpus().empty());
  EXPECT_GT(cpu_quota(), 0.0);
}

TEST(Machine, AllowsManyDescriptorsWhereTheyAreNeeded) {
  EXPECT_EQ(status_of_child([] {
              rlimit limit{};
              getrlimit(RLIMIT_NOFILE, &limit);
              limit.rlim_max = std::min<rlim_t>(limit.rlim_max, 900);
              limit.rlim_cur = 300;
              if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
              if (raise_descriptor_limit(44) != 300) return 2;
              if (raise_descriptor_limit(45) != limit.rlim_max) return 3;
              getrlimit(RLIMIT_NOFILE, &limit);
              return limit.rlim_cur == limit.rlim_max ? 0 : 4;
            }),
            0);
}

// The scheduler may move the thread away at once, so one arrival in many attempts is enough.
TEST(Machine, GoesToEachCoreAndStaysFreeToLeave) {
  const std::vector<int> cpus = allowed_cpus();
  for (const int cpu : cpus) {
    bool arrived = false;
    for (int attempt = 0; attempt < 1000 && !arrived; ++attempt) {
      go_to_core(cpu);
      arrived = sched_getcpu() == cpu;
      EXPECT_EQ(allowed_cpus(), cpus);
    }
    EXPECT_TRUE(arrived) << "at core " << cpu;
  }
}

cpu_set_t set_of(std::initializer_list<int> cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(static_cast<std::size_t>(cpu), &set);
  return set;
}

// In a thread of its own, since no test may change what the others may use.
TEST(Machine, LeavesAThreadTheCoresThatItWasBoundTo) {
  std::vector<int> cpus = allowed_cpus();
  if (cpus.size() < 2 || cpus.back() >= CPU_SETSIZE) GTEST_SKIP();
  std::thread([&] {
    const int forbidden = cpus.back();
    cpus.pop_back();
    cpu_set_t set = set_of({});
    for (const int cpu : cpus) CPU_SET(static_cast<std::size_t>(cpu), &set);
    ASSERT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
    for (const int cpu : {cpus.front(), cpus.back(), forbidden}) {
      go_to_core(cpu);
      EXPECT_EQ(allowed_cpus(), cpus);
    }
  }).join();
}

// Other programs may run here, so it is enough that once in many moves the thread is still where it
// was put.
TEST(Machine, GoesToOneOfSomeCoresAndStaysFree) {
  const std::vector<int> cpus = allowed_cpus();
  if (cpus.size() < 2) GTEST_SKIP();
  cpu_set_t there = set_of({});
  for (auto cpu = cpus.begin() + 1; cpu != cpus.end(); ++cpu)
    CPU_SET(static_cast<std::size_t>(*cpu), &there);
  bool arrived = false;
  for (int attempt = 0; attempt < 1000 && !arrived; ++attempt) {
    go_to_core(cpus.front());
    go_to_one_of(there);
    arrived = sched_getcpu() != cpus.front();
  }
  EXPECT_TRUE(arrived);
  EXPECT_EQ(allowed_cpus(), cpus);
}

}  // namespace
}  // namespace meshmem
