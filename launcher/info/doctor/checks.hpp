// SPDX-License-Identifier: Apache-2.0
//
// The result of a check of `meshmem-info --doctor`, how results are printed, and the families of
// checks. Invariant: only what matters to meshmem is checked, and a check that is not OK names what
// to do.
#ifndef MESHMEM_INFO_DOCTOR_CHECKS_HPP_
#define MESHMEM_INFO_DOCTOR_CHECKS_HPP_

#include <string>
#include <string_view>
#include <vector>

#include "info/doctor/machine.hpp"

namespace meshmem::doctor {

// warn: jobs run, but slower or with less than they could have. bad: jobs do not start, or fail.
enum class Verdict { ok, warn, bad };

struct Check {
  std::string name;
  Verdict verdict;
  std::string says;
  std::string fix;  // a command, or what to set; empty if the verdict is ok
  // In a job: the nodes that have this result. Empty: all of them, or no job.
  std::vector<std::string> nodes{};
};
using Checks = std::vector<Check>;

inline Check ok(std::string name, std::string says) {
  return {std::move(name), Verdict::ok, std::move(says), "", {}};
}
inline Check warn(std::string name, std::string says, std::string fix) {
  return {std::move(name), Verdict::warn, std::move(says), std::move(fix), {}};
}
inline Check bad(std::string name, std::string says, std::string fix) {
  return {std::move(name), Verdict::bad, std::move(says), std::move(fix), {}};
}

std::string_view word_of(Verdict verdict);  // "OK", "WARN", "BAD"
bool has_bad(const Checks& checks);

// A line for each check and one more for each fix. table_of() adds a last line with the counts.
std::string lines_of(const Checks& checks);
std::string table_of(const Checks& checks);
// {"checks": [{"name": ..., "verdict": ..., "says": ..., "fix": ...}, ...], "bad": 0}
// A check of some nodes of a job has "nodes": [...] too.
std::string json_of(const Checks& checks);
// In quotes. Bytes outside ASCII may not be UTF-8 either, so they become question marks.
std::string json_text(std::string_view text);

// The families of checks, each in a file of its name.
Checks check_networks(const Machine& machine);   // interfaces, UCX
Checks check_launchers(const Machine& machine);  // what starts jobs, and PMIx
Checks check_resources(const Machine& machine);  // files, memory and cores of this process
Checks check_gpus(const Machine& machine);       // devices, their permissions, links between them
Checks check_all(const Machine& machine);

// Called by each PE of a job: checks each node, starts the library and tries it between the nodes.
// PE 0 prints one table. Returns the exit status of all PEs: 1 if a check of any node is bad.
int run_as_job(const Machine& machine, bool as_json);

}  // namespace meshmem::doctor

#endif  // MESHMEM_INFO_DOCTOR_CHECKS_HPP_
