// SPDX-License-Identifier: Apache-2.0
//
// The variables that oshrun sets for the programs it starts, and those that mean nothing.
// Invariant: a name of ours that is in neither table is a slip of the pen. Called by start-up, by
// meshmem-info, and to make docs/environment.md.
#include <algorithm>

#include "base/environment.hpp"

namespace meshmem {

const std::vector<LaunchVariable>& launch_variables() {
  static const std::vector<LaunchVariable> variables = {
      {"MESHMEM_OUTPUT_TTY",
       "1 when the output of oshrun goes to a terminal, so that a program whose own output is a "
       "pipe to oshrun may still draw a progress bar."},
      {"MESHMEM_ERROR_TTY", "The same of the errors of oshrun."},
      {"MESHMEM_OSHRUN_PES",
       "The number of PEs that oshrun started. shmem_init ends the job if the PMIx server that it "
       "reaches, such as that of another launcher in between, says another number."},
      {"MESHMEM_OSHRUN_FAKE_NODES",
       "For tests of the library itself: oshrun tells the PEs apart as if they were on this many "
       "machines. They share this one's memory, but reach each other's as if it were far away."},
      {"MESHMEM_OSHRUN_STATUS",
       "Names memory of oshrun's, where the PEs write what they wait for and oshrun reads it. "
       "Without it, as under other launchers, they write it to memory of their own."},
      {"MESHMEM_OSHRUN_RECORD",
       "Where PE 0 tells the oshrun that started a job over several machines that the job has "
       "begun "
       "and that it has ended well. Other launchers may report success after they lost a machine."},
  };
  return variables;
}

std::vector<std::string> unknown_variables(const char* const* entries) {
  const auto variables = environment_variables();
  const auto& launched = launch_variables();
  const auto has = [](const auto& rows, std::string_view name) {
    return std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return row.name == name; });
  };
  std::vector<std::string> unknown;
  for (; entries != nullptr && *entries != nullptr; ++entries) {
    const std::string_view entry = *entries;
    const std::string_view name = entry.substr(0, entry.find('='));
    if (!name.starts_with("MESHMEM_") || has(variables, name) || has(launched, name)) continue;
    unknown.emplace_back(name);
  }
  return unknown;
}

}  // namespace meshmem
