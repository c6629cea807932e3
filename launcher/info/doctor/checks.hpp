// SPDX-License-Identifier: Apache-2.0
//
// The families of checks, each in a file of its name, and the table of them.
// Invariant: only what matters to meshmem is checked. A new family is a row here and a file.
#ifndef MESHMEM_INFO_DOCTOR_CHECKS_HPP_
#define MESHMEM_INFO_DOCTOR_CHECKS_HPP_

#include "info/doctor/check.hpp"
#include "info/doctor/machine.hpp"

namespace meshmem::doctor {

Checks check_pmix(const Machine& machine);       // its library, servers and settings
Checks check_launchers(const Machine& machine);  // who starts jobs
Checks check_networks(const Machine& machine);   // interfaces, UCX
Checks check_limits(const Machine& machine);     // of this process: ulimit, folders, variables
Checks check_memory(const Machine& machine);     // of the machine, and how PEs share it
Checks check_cores(const Machine& machine);      // how many, how fast, which clock
Checks check_gpus(const Machine& machine);       // devices, who may use them, what is in between

// Networks come first: their library is asked by a child, which runtimes of GPUs do not outlive.
inline constexpr Checks (*kFamilies[])(const Machine&) = {
    check_networks, check_pmix,  check_launchers, check_limits,
    check_memory,   check_cores, check_gpus};

inline Checks check_all(const Machine& machine) {
  Checks all;
  for (const auto family : kFamilies)
    for (Check& check : family(machine)) all.push_back(std::move(check));
  return all;
}

}  // namespace meshmem::doctor

#endif  // MESHMEM_INFO_DOCTOR_CHECKS_HPP_
