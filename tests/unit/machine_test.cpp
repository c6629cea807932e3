// SPDX-License-Identifier: Apache-2.0
//
// The limits of cgroups, read from samples of the kernel's files; and that this machine gives
// answers.
#include "base/machine.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <cmath>
#include <map>

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

TEST(Machine, KnowsThisMachine) {
  EXPECT_GT(machine_memory_bytes(), std::size_t{16} << 20);
  EXPECT_FALSE(allowed_cpus().empty());
  EXPECT_GT(cpu_quota(), 0.0);
}

// The scheduler may take it away at once, so one arrival in many attempts has to do.
TEST(Machine, GoesToEachCoreAndStaysFreeToLeave) {
  const std::vector<int> cpus = allowed_cpus();
  for (std::size_t index = 0; index < 2 * cpus.size(); ++index) {
    bool arrived = false;
    for (int attempt = 0; attempt < 1000 && !arrived; ++attempt) {
      go_to_core(index);
      arrived = sched_getcpu() == cpus[index % cpus.size()];
      EXPECT_EQ(allowed_cpus(), cpus);
    }
    EXPECT_TRUE(arrived) << "at core " << cpus[index % cpus.size()];
  }
}

}  // namespace
}  // namespace meshmem
