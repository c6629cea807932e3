// SPDX-License-Identifier: Apache-2.0
//
// Cores: how many this process may use, how much of their time, how fast they run, and whether
// reading the clock is cheap.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "base/machine/machine.hpp"
#include "info/doctor/checks.hpp"

namespace meshmem::doctor {
namespace {

// "0-3,8" are five.
int count_of(const std::string& ranges) {
  int count = 0;
  std::istringstream parts(ranges);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t dash = part.find('-');
    const int first = std::atoi(part.c_str());
    count += 1 + (dash == std::string::npos ? 0 : std::atoi(part.c_str() + dash + 1) - first);
  }
  return count;
}

Check check_number(const Machine& machine) {
  const std::string allowed = machine.own_status("Cpus_allowed_list").value_or("");
  const int cores = count_of(allowed);
  const double quota =
      cgroup_cpu_quota([&machine](const std::string& path) { return machine.read(path); });
  if (cores == 0) return ok("cores", "the system does not report it");
  const std::string says = fmt::format("{} ({})", cores, allowed);
  if (quota < cores)
    return warn("cores",
                fmt::format("{}, but the control group grants the time of {:.2f}: PEs that take "
                            "more are stopped for a while",
                            says, quota),
                fmt::format("start at most {} PEs here, or raise the container's limit (docker run "
                            "--cpus=, cpu.max)",
                            std::max(1, static_cast<int>(quota))));
  return ok("cores", says);
}

// These are read without a system call.
Check check_clock(const Machine& machine) {
  constexpr std::array<std::string_view, 4> kCheap{"tsc", "kvm-clock", "arch_sys_counter",
                                                   "hyperv_clocksource_tsc_page"};
  const auto clock =
      machine.line("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  if (!clock) return ok("clock", "the system does not report it");
  for (const std::string_view cheap : kCheap)
    if (*clock == cheap) return ok("clock", *clock);
  return warn("clock",
              fmt::format("{}: each look at the clock is a system call, which makes waits "
                          "and traces slow",
                          *clock),
              "boot with clocksource=tsc tsc=reliable if the processor's counter is sound");
}

// intel_pstate and amd-pstate-epp raise the clock under load also when it says powersave.
Check check_speed(const Machine& machine) {
  const std::string folder = "/sys/devices/system/cpu/cpu0/cpufreq/";
  const auto governor = machine.line(folder + "scaling_governor");
  if (!governor) return ok("core speed", "left to the hardware");
  const std::string driver = machine.line(folder + "scaling_driver").value_or("?");
  const std::string says = fmt::format("governor {} of {}", *governor, driver);
  const bool is_slow =
      *governor == "powersave" && driver != "intel_pstate" && !driver.starts_with("amd-pstate-epp");
  if (is_slow)
    return warn("core speed", says + ": cores keep their lowest clock",
                "cpupower frequency-set -g performance (as root)");
  return ok("core speed", says);
}

}  // namespace

Checks check_cores(const Machine& machine) {
  return {check_number(machine), check_clock(machine), check_speed(machine)};
}

}  // namespace meshmem::doctor
